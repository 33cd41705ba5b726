"""Haystack: a sealed collection as a document store, with retrievers by text and by embedding.

    store = SealedDocumentStore({"url": "qdrant:db#notes", "key": "notes.key", "folder": "state"})
    pipeline.add_component("retriever", SealedTextRetriever(store, top_k=5))

What a pipeline writes down is where the key is, never the key. Importing this module lets Haystack load
pipelines that name these classes.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from sfumato.adapters.packages import needs
from sfumato.adapters.sealed.haystack_documents import both
from sfumato.adapters.sealed.haystack_store import SealedDocumentStore
from sfumato.errors import ParameterError

with needs("haystack-ai", "haystack"):
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.core.serialization import allow_deserialization_module
    from haystack.document_stores.types import FilterPolicy

__all__ = ["SealedDocumentStore", "SealedEmbeddingRetriever", "SealedTextRetriever"]

allow_deserialization_module(__name__)


class _Retriever:
    """What both retrievers share.

    Args:
        document_store: where to look.
        filters: which documents, in Haystack's own words.
        top_k: how many, at most.
        scale_score: whether scores go from 0 to 1; otherwise they are cosines.
        filter_policy: whether filters given to `run` stand in the place of those here, or both must hold.
    """

    def __init__(
        self,
        document_store: SealedDocumentStore,
        filters: dict[str, Any] | None = None,
        top_k: int = 10,
        scale_score: bool = False,
        filter_policy: FilterPolicy = FilterPolicy.REPLACE,
    ) -> None:
        if not isinstance(document_store, SealedDocumentStore):
            found = type(document_store).__name__
            raise ParameterError(f"`document_store` must be a SealedDocumentStore. Found {found}.")
        self.document_store, self.filters, self.top_k = document_store, filters, top_k
        self.scale_score, self.filter_policy = scale_score, filter_policy

    def to_dict(self) -> dict[str, Any]:
        """Write down the settings, and where the collection is."""
        settings = {
            "document_store": self.document_store.to_dict(),
            "filters": self.filters,
            "top_k": self.top_k,
            "scale_score": self.scale_score,
            "filter_policy": self.filter_policy.value,
        }
        return cast("dict[str, Any]", default_to_dict(self, **settings))

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        """Make it again from what was written down."""
        given = dict(data["init_parameters"])
        if "filter_policy" in given:
            given["filter_policy"] = FilterPolicy.from_str(given["filter_policy"])
        return default_from_dict(cls, {**data, "init_parameters": given})

    def _find(
        self,
        asked: str | list[float],
        filters: dict[str, Any] | None,
        top_k: int | None,
        scale_score: bool | None,
    ) -> dict[str, list[Document]]:
        merge = self.filter_policy == FilterPolicy.MERGE
        chosen = both(self.filters, filters) if merge else filters or self.filters
        most = self.top_k if top_k is None else top_k
        scaled = self.scale_score if scale_score is None else scale_score
        return {"documents": self.document_store.search(asked, chosen, most, scaled)}


@component
class SealedEmbeddingRetriever(_Retriever):
    """Finds the documents nearest to a query's embedding."""

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Find documents by an embedding, which must be of the collection's encoder."""
        return self._find(query_embedding, filters, top_k, scale_score)

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
    ) -> dict[str, list[Document]]:
        """`run`, in a thread."""
        return await asyncio.to_thread(self._find, query_embedding, filters, top_k, scale_score)


@component
class SealedTextRetriever(_Retriever):
    """Finds the documents nearest to a query, which the collection's own encoder embeds."""

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
    ) -> dict[str, list[Document]]:
        """Find documents by a text."""
        return self._find(query, filters, top_k, scale_score)

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        scale_score: bool | None = None,
    ) -> dict[str, list[Document]]:
        """`run`, in a thread."""
        return await asyncio.to_thread(self._find, query, filters, top_k, scale_score)
