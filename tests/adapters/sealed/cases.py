"""One case for each framework: how a sealed collection is made its store, filled and searched."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.sealing.collections import ENCODER


@dataclass(frozen=True)
class Found:
    """What a search gave, whatever the framework calls it."""

    id: str
    text: str
    metadata: dict[str, Any]
    score: float | None = None


@dataclass(frozen=True)
class Case:
    """How one framework is used."""

    make: Callable[..., Any]
    add: Callable[[Any, list[str], list[str], list[dict[str, Any]]], Any]
    find: Callable[..., list[Found]]
    """Called with the store, a query, how many, and a field and its value if there is a filter."""
    find_async: Callable[[Any, str, int], Any]
    get: Callable[[Any, list[str]], list[Found]]
    clear: Callable[[Any], Any]
    erase: Callable[[Any, list[str]], Any]
    """Erase these rows, at least."""


# LangChain


def _langchain(sealed, **options):
    from sfumato.adapters.sealed.langchain import SealedVectorStore

    return SealedVectorStore(sealed, **options)


def _langchain_find(store, query, k, field=None, value=None):
    chosen = None if field is None else {field: value}
    hits = store.similarity_search_with_score(query, k, filter=chosen)
    return [Found(each.id, each.page_content, each.metadata, score) for each, score in hits]


async def _langchain_find_async(store, query, k):
    hits = await store.asimilarity_search_with_score(query, k)
    return [Found(each.id, each.page_content, each.metadata, score) for each, score in hits]


def _langchain_get(store, ids):
    return [Found(each.id, each.page_content, each.metadata) for each in store.get_by_ids(ids)]


# LlamaIndex


def _llama_index(sealed, **options):
    from sfumato.adapters.sealed.llama_index import SealedNodeVectorStore

    return SealedNodeVectorStore(sealed, **options)


def nodes(ids, texts, metadata, encoder=ENCODER):
    from llama_index.core.schema import TextNode

    return [
        TextNode(id_=name, text=text, metadata=fields, embedding=vector.tolist())
        for name, text, fields, vector in zip(ids, texts, metadata, encoder.embed(texts), strict=True)
    ]


def _node_query(query, k, field=None, value=None):
    from llama_index.core.vector_stores.types import MetadataFilter, MetadataFilters, VectorStoreQuery

    chosen = None if field is None else MetadataFilters(filters=[MetadataFilter(key=field, value=value)])
    return VectorStoreQuery(query_str=query, similarity_top_k=k, filters=chosen)


def _of_nodes(result):
    return [
        Found(each.node_id, each.text, each.metadata, score)
        for each, score in zip(result.nodes, result.similarities, strict=True)
    ]


async def _llama_index_find_async(store, query, k):
    return _of_nodes(await store.aquery(_node_query(query, k)))


# Haystack


def _haystack(sealed, **options):
    from sfumato.adapters.sealed.haystack import SealedDocumentStore

    return SealedDocumentStore(sealed, **options)


def _haystack_add(store, ids, texts, metadata):
    from haystack import Document
    from haystack.document_stores.types import DuplicatePolicy

    rows = zip(ids, texts, metadata, strict=True)
    documents = [Document(id=name, content=text, meta=fields) for name, text, fields in rows]
    return store.write_documents(documents, DuplicatePolicy.OVERWRITE)


def _of_documents(documents):
    return [Found(each.id, each.content, each.meta, each.score) for each in documents]


def _haystack_find(store, query, k, field=None, value=None):
    from sfumato.adapters.sealed.haystack import SealedTextRetriever

    chosen = None if field is None else {"field": f"meta.{field}", "operator": "==", "value": value}
    return _of_documents(SealedTextRetriever(store).run(query, chosen, k)["documents"])


async def _haystack_find_async(store, query, k):
    from sfumato.adapters.sealed.haystack import SealedTextRetriever

    return _of_documents((await SealedTextRetriever(store, top_k=k).run_async(query))["documents"])


def _haystack_get(store, ids):
    chosen = {"field": "id", "operator": "in", "value": ids}
    return _of_documents(store.filter_documents(chosen))


CASES = {
    "langchain": Case(
        _langchain,
        lambda store, ids, texts, metadata: store.add_texts(texts, metadata, ids=ids),
        _langchain_find,
        _langchain_find_async,
        _langchain_get,
        lambda store: store.delete(),
        lambda store, ids: store.delete(ids, erase=True),
    ),
    "llama-index": Case(
        _llama_index,
        lambda store, ids, texts, metadata: store.add(nodes(ids, texts, metadata)),
        lambda store, *asked: _of_nodes(store.query(_node_query(*asked))),
        _llama_index_find_async,
        lambda store, ids: [Found(each.node_id, each.text, each.metadata) for each in store.get_nodes(ids)],
        lambda store: store.clear(),
        lambda store, ids: store.delete_nodes(ids, erase=True),
    ),
    "haystack": Case(
        _haystack,
        _haystack_add,
        _haystack_find,
        _haystack_find_async,
        _haystack_get,
        lambda store: store.delete_all_documents(),
        lambda store, ids: store.delete_all_documents(recreate_index=True),
    ),
}
