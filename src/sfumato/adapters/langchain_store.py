"""LangChain: a protected collection as a `VectorStore`, and so as a retriever.

    store = ProtectedVectorStore(ProtectedStore(open_store("qdrant+https://HOST#notes"), "places"))
    retriever = store.as_retriever(search_kwargs={"k": 4})

The collection gets ids, protected vectors and metadata. Texts are kept nowhere, unless they are kept at home
(`text_store`) or, on purpose, beside the vectors (`keep_text` of the ProtectedStore). Async methods run in
threads, as the base class has it.
"""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sfumato.adapters.langchain import ProtectedEmbeddings
from sfumato.adapters.packages import needs
from sfumato.errors import InputError, ParameterError
from sfumato.stores.protected import ProtectedStore
from sfumato.stores.provenance import without_provenance
from sfumato.stores.rows import Hit, Metadata, Metric

with needs("langchain-core", "langchain"):
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.stores import BaseStore
    from langchain_core.vectorstores import VectorStore
    from langchain_core.vectorstores.utils import maximal_marginal_relevance

_COSINES: dict[Metric, Callable[[float], float]] = {
    "cosine": lambda distance: 1.0 - distance,
    "l2": lambda distance: 1.0 - distance * distance / 2.0,
    "ip": lambda distance: -distance,
}
"""A store's distance between unit vectors as a cosine."""


class ProtectedVectorStore(VectorStore):
    """Documents found by protected vectors.

    Args:
        protected: the collection, with the protector in front of it; its `queries` says what searches are
            made by, its `keep_text` whether the collection gets the texts as well.
        text_store: where texts are kept at home, any of LangChain's stores from id to text, such as its
            `InMemoryStore`; None keeps none, and documents come back without theirs.
    """

    def __init__(self, protected: ProtectedStore, *, text_store: BaseStore[str, Any] | None = None) -> None:
        if not isinstance(protected, ProtectedStore):
            raise ParameterError(f"`protected` must be a ProtectedStore. Found {type(protected).__name__}.")
        if protected.keep_text is not None and text_store is not None:
            raise InputError(
                "Texts must be kept in one place. Found both `text_store` and `keep_text`: drop one."
            )
        self._protected, self._text_store = protected, text_store
        self._turn = threading.RLock()  # LangChain calls from several threads, and not every store bears that

    @property
    def embeddings(self) -> Embeddings:
        """What embeds, and protects."""
        return ProtectedEmbeddings(self._protected.protector, queries=self._protected.queries)

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: Sequence[str | None] | None = None,
        **kwargs: Any,
    ) -> list[str]:
        """Release texts, in the place of those with the same ids; a text without an id gets a random one.

        Metadata is sent as it is: flat, and refused where the text or a concept of the protector is in it.
        """
        own = list(texts)
        if metadatas and len(metadatas) != len(own):
            raise InputError(f"There must be one metadata a text. Found {len(metadatas)} for {len(own)}.")
        if ids and len(ids) != len(own):
            raise InputError(f"There must be one id a text. Found {len(ids)} for {len(own)}.")
        names = [name or str(uuid.uuid4()) for name in ids or [None] * len(own)]
        if own:
            with self._turn:
                self._protected.add(names, own, metadata=metadatas or None)
                if self._text_store is not None:
                    self._text_store.mset(list(zip(names, own, strict=True)))
        return names

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents that are there, in the order of `ids`."""
        with self._turn:
            rows = self._protected.store.get(dict.fromkeys(ids))
            return self._documents(rows.ids, [without_provenance(each) for each in rows.metadata])

    def delete(self, ids: Sequence[str] | None = None, **kwargs: Any) -> bool:
        """Take documents out, all of them without `ids`, and their texts at home."""
        with self._turn:
            if ids is None:
                ids = [name for rows in self._protected.store.batches() for name in rows.ids]
            gone = list(dict.fromkeys(ids))
            self._protected.delete(gone)
            if self._text_store is not None and gone:
                self._text_store.mdelete(gone)
        return True

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        """The documents nearest to a text."""
        return [found for found, _ in self.similarity_search_with_score(query, k, **kwargs)]

    def similarity_search_with_score(
        self, query: str, k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        """The documents nearest to a text with the cosine between protected vectors: the higher, the nearer.

        `filter` has fields of the metadata and the value each must have, or a list of those it may have.
        """
        with self._turn:
            return self._found(self._protected.query_vectors([query]), k, filter)

    def similarity_search_by_vector(
        self, embedding: list[float], k: int = 4, filter: Mapping[str, Any] | None = None, **kwargs: Any
    ) -> list[Document]:
        """The documents nearest to a vector, which is taken for a clean one and released first."""
        with self._turn:
            asked = self._protected.query_vectors(vectors=[embedding])
            return [found for found, _ in self._found(asked, k, filter)]

    def max_marginal_relevance_search(
        self,
        query: str,
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Documents that are near to a text and unlike each other."""
        with self._turn:
            asked = self._protected.query_vectors([query])
            return self._diverse(asked, k, fetch_k, lambda_mult, filter)

    def max_marginal_relevance_search_by_vector(
        self,
        embedding: list[float],
        k: int = 4,
        fetch_k: int = 20,
        lambda_mult: float = 0.5,
        filter: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> list[Document]:
        """Documents that are near to a vector, which is released first, and unlike each other."""
        with self._turn:
            asked = self._protected.query_vectors(vectors=[embedding])
            return self._diverse(asked, k, fetch_k, lambda_mult, filter)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        protected: ProtectedStore | None = None,
        **kwargs: Any,
    ) -> ProtectedVectorStore:
        """Release texts into the collection `protected`, whose protector embeds."""
        if protected is None:
            raise InputError(
                "There must be a collection to release into. Found none: give it as `protected`."
            )
        if embedding is not None:
            raise InputError(
                "The protector embeds, and another encoder's vectors would not fit it. Leave `embedding` "
                "None, or learn a protector for that encoder (FunctionEmbedder)."
            )
        made = cls(protected, **kwargs)
        made.add_texts(texts, metadatas, ids=ids)
        return made

    def close(self) -> None:
        """Close the collection."""
        with self._turn:
            self._protected.close()

    def __repr__(self) -> str:
        """Where it is, and nothing secret: LangChain writes this down."""
        return f"ProtectedVectorStore({self._protected!r})"

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        # Where a score is outside of 0 to 1, LangChain warns and quotes the documents.
        return lambda score: min(1.0, max(0.0, score))

    def _found(self, asked: Any, k: int, chosen: Mapping[str, Any] | None) -> list[tuple[Document, float]]:
        (hits,) = self._protected.nearest(asked, k, _where(chosen))
        cosine = _COSINES[self._protected.store.metric]
        return list(zip(self._hit_documents(hits), [cosine(hit.distance) for hit in hits], strict=True))

    def _diverse(
        self, asked: Any, k: int, fetch_k: int, lambda_mult: float, chosen: Mapping[str, Any] | None
    ) -> list[Document]:
        (hits,) = self._protected.nearest(asked, max(k, fetch_k), _where(chosen))
        if not hits:
            return []
        rows = self._protected.store.get([hit.id for hit in hits])
        vectors = dict(zip(rows.ids, rows.vectors, strict=True))
        there = [hit for hit in hits if hit.id in vectors]  # another process may have deleted one meanwhile
        chosen_rows = maximal_marginal_relevance(
            np.asarray(asked[0], np.float32), [vectors[hit.id] for hit in there], lambda_mult, k
        )
        return self._hit_documents([there[at] for at in chosen_rows])

    def _hit_documents(self, hits: list[Hit]) -> list[Document]:
        return self._documents([hit.id for hit in hits], [hit.metadata for hit in hits])

    def _documents(self, ids: list[str], fields: Sequence[Metadata]) -> list[Document]:
        """Documents with their texts, from wherever those are kept."""
        kept = self._protected.keep_text
        if self._text_store is not None:
            texts = [text or "" for text in self._text_store.mget(ids)]
        else:
            texts = ["" if kept is None else str(each.get(kept, "")) for each in fields]
        rows = zip(ids, texts, fields, strict=True)
        return [
            Document(id=name, page_content=text, metadata={n: v for n, v in each.items() if n != kept})
            for name, text, each in rows
        ]


def _where(chosen: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if chosen is not None and not isinstance(chosen, Mapping):
        raise InputError(
            "`filter` must give a value or a list of values a field: the collection filters. Found "
            "something else."
        )
    return chosen
