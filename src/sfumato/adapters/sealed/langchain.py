"""LangChain: a sealed collection as a `VectorStore`, and a retriever over it.

    store = SealedVectorStore(sf.SealedStore(open_store("qdrant:db#notes"), key="notes.key", folder="state"))
    retriever = SealedRetriever(store=store, k=4)  # or store.as_retriever()

Texts, metadata and vectors are sealed before they leave the process. Async methods run in threads, as the
base class has it.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.adapters.packages import needs
from sfumato.adapters.sealed.rows import REST, from_fields, is_field, to_fields
from sfumato.adapters.sealed.shared import SealedFront
from sfumato.errors import InputError
from sfumato.sealing.client.contents import SealedHit, SealedRow
from sfumato.sealing.store import SealedStore
from sfumato.stores.rows import Scalar, matches

with needs("langchain-core", "langchain"):
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance

Filter = Mapping[str, Any] | Callable[[Document], bool]
"""Fields and the value each must have, or a list of those it may have; or what says yes to a document."""


class SealedVectorStore(VectorStore):
    """Documents in a store that finds them and can read nothing.

    Args:
        sealed: the collection.
        embedding: what embeds documents and queries, for a collection without an encoder of its own.
        strict: whether a store that lost or changed something is an error; otherwise a warning.
    """

    def __init__(
        self, sealed: SealedStore, embedding: Embeddings | None = None, *, strict: bool = False
    ) -> None:
        self._front = SealedFront(sealed, strict)
        if embedding is not None and sealed.settings.encoder:
            raise InputError(
                f"The collection has an encoder of its own, {sealed.settings.encoder!r:.80}. Leave "
                "`embedding` out, or seal a new collection without one."
            )
        self._embedding = embedding

    @property
    def embeddings(self) -> Embeddings | None:
        """What was given to embed with; None where the collection embeds."""
        return self._embedding

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Seal texts, in the place of those with the same ids; a text without an id gets a random one."""
        own = list(texts)
        if metadatas and len(metadatas) != len(own):
            raise InputError(f"There must be one metadata a text. Found {len(metadatas)} for {len(own)}.")
        if ids and len(ids) != len(own):
            raise InputError(f"There must be one id a text. Found {len(ids)} for {len(own)}.")
        names = [name or str(uuid.uuid4()) for name in ids or [None] * len(own)]
        fields = [to_fields(each, row) for row, each in enumerate(metadatas or [{} for _ in own])]
        if own:
            vectors = None if self._embedding is None else self._embedding.embed_documents(own)
            with self._front.turn() as sealed:
                sealed.add(names, own, fields, vectors)
        return names

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents that are there, in the order of `ids`."""
        with self._front.turn() as sealed:
            return [_document(row) for row in sealed.get(dict.fromkeys(ids))]

    def delete(self, ids: Sequence[str] | None = None, *, erase: bool = False, **kwargs: Any) -> bool:
        """Take documents out, all of them without `ids`; with `erase` no older copy opens them any more."""
        if ids is None:
            self._front.clear(erase)
        else:
            self._front.delete(ids, erase)
        return True

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The documents nearest to a text."""
        return [found for found, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The documents nearest to a text with their cosine: the higher, the nearer."""
        return _scored(self._found(self._asked(query), k, filter))

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Filter | None = None, **kwargs: Any
    ) -> list[Document]:
        """The documents nearest to a vector."""
        return [found for found, _ in _scored(self._found(embedding, k, filter))]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Documents that are near to a text and unlike each other."""
        return self.max_marginal_relevance_search_by_vector(
            self._embedded([query])[0], k, fetch_k, lambda_mult, filter
        )

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Filter | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Documents that are near to a vector and unlike each other.

        They are embedded again here: asking the store for their vectors would show it which candidates won.
        """
        hits = self._found(embedding, max(k, fetch_k), filter)
        if not hits:
            return []
        texts = [hit.text for hit in hits]
        vectors = self._embedded(texts) if self._embedding is None else self._embedding.embed_documents(texts)
        asked = np.asarray(embedding, np.float32)
        chosen = maximal_marginal_relevance(asked, list(vectors), lambda_mult, k)
        return [_document(hits[at]) for at in chosen]

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        sealed: SealedStore | None = None,
        **kwargs: Any,
    ) -> SealedVectorStore:
        """Seal texts into the collection `sealed`."""
        if sealed is None:
            raise InputError("There must be a collection to seal into. Found none: give it as `sealed`.")
        made = cls(sealed, embedding, **kwargs)
        made.add_texts(texts, metadatas, ids=ids)
        return made

    def close(self) -> None:
        """Send what waits, and let go of the state and the store."""
        self._front.close()

    def __repr__(self) -> str:
        """Where it is, and nothing secret: LangChain writes this down."""
        return f"SealedVectorStore({self._front!r})"

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # Where a score is outside of 0 to 1, LangChain warns and quotes the documents.
        return lambda score: min(1.0, max(0.0, score))

    def _asked(self, query: str) -> str | list[float]:
        return query if self._embedding is None else self._embedding.embed_query(query)

    def _embedded(self, queries: list[str]) -> Any:
        if self._embedding is not None:
            return [self._embedding.embed_query(each) for each in queries]
        with self._front.turn() as sealed:
            return sealed.embed(queries)

    def _found(self, asked: str | Sequence[float], k: int, chosen: Filter | None) -> list[SealedHit]:
        if chosen is None:
            return self._front.search(asked, k)
        if callable(chosen):
            return self._front.search(asked, k, keep=lambda hit: chosen(_document(hit)))
        allowed = _allowed(chosen)
        if all(is_field(name, value) for name, values in allowed.items() for value in values):
            return self._front.search(asked, k, where=allowed)
        return self._front.search(asked, k, keep=lambda hit: matches(from_fields(hit.metadata)[0], allowed))


class SealedRetriever(BaseRetriever):
    """The documents nearest to a query."""

    store: SealedVectorStore
    k: int = 4
    filter: Any = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None, filter: Filter | None = None
    ) -> list[Document]:
        chosen = self.filter if filter is None else filter
        return self.store.similarity_search(query, self.k if k is None else k, filter=chosen)


def _document(row: SealedRow | SealedHit) -> Document:
    return Document(id=row.id, page_content=row.text, metadata=from_fields(row.metadata)[0])


def _scored(hits: list[SealedHit]) -> list[tuple[Document, float]]:
    return [(_document(hit), hit.score) for hit in hits]


def _allowed(chosen: Mapping[str, Any]) -> dict[str, list[Scalar]]:
    """What a filter allows: for each field a list of values."""
    allowed: dict[str, list[Scalar]] = {}
    for name, value in chosen.items():
        values = list(value) if isinstance(value, list | tuple) else [value]
        if name == REST or not values or not all(isinstance(each, str | int | float) for each in values):
            raise InputError(
                "`filter` must give a value or a list of values a field, or be a function of a document. "
                "Found something else."
            )
        allowed[name] = values
    return allowed
