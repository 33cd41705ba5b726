"""LlamaIndex: a sealed collection as a vector store, for any index and retriever of LlamaIndex.

    sealed = sf.SealedStore(open_store("qdrant:db#notes"), key="notes.key", folder="state")
    store = SealedNodeVectorStore(sealed)
    index = VectorStoreIndex.from_vector_store(store, embed_model=...)

Nodes go in and come out whole, with their relations. Async methods run in threads.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from typing import Any

from sfumato.accounting.keys import KeyHolder
from sfumato.adapters.packages import needs
from sfumato.adapters.sealed.rows import from_fields, to_fields
from sfumato.adapters.sealed.shared import SealedFront
from sfumato.errors import InputError
from sfumato.sealing.client.contents import SealedHit, SealedRow
from sfumato.sealing.store import SealedStore
from sfumato.stores.rows import Metadata

with needs("llama-index-core", "llama-index"):
    from llama_index.core.bridge.pydantic import PrivateAttr
    from llama_index.core.schema import BaseNode, MetadataMode
    from llama_index.core.vector_stores.types import (
        BasePydanticVectorStore,
        FilterCondition,
        MetadataFilters,
        VectorStoreQuery,
        VectorStoreQueryMode,
        VectorStoreQueryResult,
    )
    from llama_index.core.vector_stores.utils import (
        build_metadata_filter_fn,
        metadata_dict_to_node,
        node_to_metadata_dict,
    )

_CONTENT, _KIND, _SOURCE = "_node_content", "_node_type", "ref_doc_id"


class SealedNodeVectorStore(BasePydanticVectorStore):
    """Nodes in a store that finds them and can read nothing.

    Args:
        sealed: the collection. Vectors are those of the index's `embed_model`: give both the same encoder, or
            the collection none.
        strict: whether a store that lost or changed something is an error; otherwise a warning.
    """

    stores_text: bool = True
    is_embedding_query: bool = True
    _front: SealedFront = PrivateAttr()

    def __init__(self, sealed: SealedStore, *, strict: bool = False) -> None:
        super().__init__(stores_text=True)
        self._front = SealedFront(sealed, strict)

    @classmethod
    def class_name(cls) -> str:
        """The name under which LlamaIndex writes it down."""
        return "SfumatoSealedNodeVectorStore"

    @classmethod
    def from_dict(cls, data: dict[str, Any], **kwargs: Any) -> SealedNodeVectorStore:
        """Refuse: what LlamaIndex writes down says nothing about the collection."""
        raise InputError("What is written down of a sealed collection does not open it. Give a SealedStore.")

    @property
    def client(self) -> Any:
        """Nothing: whoever has the collection has its key."""
        return None

    def add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """Seal nodes, which must have their vectors, in the place of those with the same ids."""
        names = [node.node_id for node in nodes]
        without = next((row for row, node in enumerate(nodes) if node.embedding is None), None)
        if without is not None:
            raise InputError(f"Node {without} must have an embedding. Found none: embed it first.")
        texts = [node.get_content(metadata_mode=MetadataMode.NONE) for node in nodes]
        fields = [_fields(node, row) for row, node in enumerate(nodes)]
        if names:
            with self._front.turn() as sealed:
                sealed.add(names, texts, fields, [node.embedding for node in nodes])
        return names

    def query(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """The nodes nearest to a vector, or to a text where the collection has an encoder."""
        if query.mode != VectorStoreQueryMode.DEFAULT:
            raise InputError(
                "A sealed collection is searched by vectors, in the mode `default`. "
                f"Found `{query.mode.value}`."
            )
        asked = query.query_str if query.query_embedding is None else query.query_embedding
        if asked is None:
            raise InputError("There must be a vector or a text to search by. Found neither.")
        chosen = _chosen(query.filters, query.doc_ids or None)
        if query.node_ids:
            hits = self._among(query.node_ids, asked, chosen)[: query.similarity_top_k]
        else:  # LlamaIndex gives an empty list where it means all of them
            hits = self._front.search(asked, query.similarity_top_k, keep=chosen)
        return VectorStoreQueryResult(
            nodes=[_node(hit) for hit in hits],
            similarities=[hit.score for hit in hits],
            ids=[hit.id for hit in hits],
        )

    def _among(self, ids: Sequence[str], asked: Any, chosen: Callable[[Any], bool] | None) -> list[SealedHit]:
        if isinstance(asked, str):
            with self._front.turn() as sealed:
                (asked,) = sealed.embed([asked])
        return [hit for hit in self._front.among(ids, asked) if chosen is None or chosen(hit)]

    def get_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """Nodes by id, by filter or by both; without either all of them."""
        return [_node(row) for row in self._rows(node_ids, _chosen(filters))]

    def delete(self, ref_doc_id: str, *, erase: bool = False, **delete_kwargs: Any) -> None:
        """Take out the nodes of a document; its id is sealed, so every row is looked at."""
        with self._front.turn():
            self._front.delete([row.id for row in self._rows(None, _chosen(None, [ref_doc_id]))], erase)

    def delete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        *,
        erase: bool = False,
        **delete_kwargs: Any,
    ) -> None:
        """Take out nodes by id, by filter or by both; without either none."""
        if node_ids is not None and not (filters and filters.filters):
            self._front.delete(node_ids, erase)
        elif filters and filters.filters:
            with self._front.turn():
                self._front.delete([row.id for row in self._rows(node_ids, _chosen(filters))], erase)

    def clear(self) -> None:
        """Take out every node."""
        self._front.clear()

    def _rows(self, ids: Sequence[str] | None, chosen: Callable[[SealedRow], bool] | None) -> list[SealedRow]:
        if ids is None:
            found: Any = self._front.rows()
        else:
            with self._front.turn() as sealed:
                found = sealed.get(dict.fromkeys(ids))
        return [row for row in found if chosen is None or chosen(row)]

    async def async_add(self, nodes: Sequence[BaseNode], **kwargs: Any) -> list[str]:
        """`add`, in a thread."""
        return await asyncio.to_thread(self.add, nodes, **kwargs)

    async def aquery(self, query: VectorStoreQuery, **kwargs: Any) -> VectorStoreQueryResult:
        """`query`, in a thread."""
        return await asyncio.to_thread(self.query, query, **kwargs)

    async def aget_nodes(
        self, node_ids: list[str] | None = None, filters: MetadataFilters | None = None
    ) -> list[BaseNode]:
        """`get_nodes`, in a thread."""
        return await asyncio.to_thread(self.get_nodes, node_ids, filters)

    async def adelete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        """`delete`, in a thread."""
        await asyncio.to_thread(self.delete, ref_doc_id, **delete_kwargs)

    async def adelete_nodes(
        self,
        node_ids: list[str] | None = None,
        filters: MetadataFilters | None = None,
        **delete_kwargs: Any,
    ) -> None:
        """`delete_nodes`, in a thread."""
        await asyncio.to_thread(self.delete_nodes, node_ids, filters, **delete_kwargs)

    async def aclear(self) -> None:
        """`clear`, in a thread."""
        await asyncio.to_thread(self.clear)

    def close(self) -> None:
        """Send what waits, and let go of the state and the store."""
        self._front.close()

    def __repr__(self) -> str:
        """Where it is, and nothing secret."""
        return f"SealedNodeVectorStore({self._front!r})"

    __str__ = __repr__
    # LlamaIndex would leave out what cannot be pickled, and make an empty store of the rest.
    __reduce_ex__ = KeyHolder.__reduce_ex__


def _fields(node: BaseNode, row: int) -> Metadata:
    """A node without text, vector and metadata, which are sealed as such."""
    written = node_to_metadata_dict(node, remove_text=True)
    content = json.loads(written[_CONTENT])
    del content["metadata"]
    own = {_CONTENT: content, _KIND: written[_KIND], _SOURCE: node.ref_doc_id}
    return to_fields(node.metadata, row, own)


def _node(row: SealedRow | SealedHit) -> BaseNode:
    metadata, own = from_fields(row.metadata)
    content = json.dumps(own[_CONTENT] | {"metadata": metadata})
    return metadata_dict_to_node({_CONTENT: content, _KIND: own[_KIND]}, text=row.text)


def _chosen(
    filters: MetadataFilters | None, sources: Sequence[str] | None = None
) -> Callable[[Any], bool] | None:
    """What says whether a row passes filters and is of one of some documents; None where all do."""
    if sources is None and not (filters and filters.filters):
        return None

    def passes(row: SealedRow | SealedHit) -> bool:
        metadata, own = from_fields(row.metadata)
        return (sources is None or own[_SOURCE] in sources) and _passes(metadata, filters)

    return passes


def _passes(metadata: dict[str, Any], filters: MetadataFilters | None) -> bool:
    if filters is None or not filters.filters:
        return True
    found = [
        _passes(metadata, each) if isinstance(each, MetadataFilters) else _holds_for(metadata, each)
        for each in filters.filters
    ]
    if filters.condition == FilterCondition.OR:
        return any(found)
    return not any(found) if filters.condition == FilterCondition.NOT else all(found)


def _holds_for(metadata: dict[str, Any], single: Any) -> bool:
    """One condition, as LlamaIndex itself understands it."""
    test = build_metadata_filter_fn(lambda _: metadata, MetadataFilters(filters=[single]))
    try:
        return bool(test(""))
    except TypeError:
        raise InputError(
            f"The filter `{single.operator.value}` does not fit the values of the field {single.key!r:.40}. "
            "Compare numbers with numbers and text with text."
        ) from None
