"""Haystack's document store over a sealed collection; its filters are all done here: metadata is sealed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from sfumato.adapters.packages import needs
from sfumato.adapters.sealed.haystack_documents import (
    Filters,
    by_policy,
    check_filters,
    passes,
    to_document,
    to_rows,
    vectors_of,
)
from sfumato.adapters.sealed.haystack_metadata import ends_of, types_of, values_of, without_prefix
from sfumato.adapters.sealed.reference import SealedReference
from sfumato.adapters.sealed.shared import SealedFront
from sfumato.errors import InputError
from sfumato.sealing.store import SealedStore

with needs("haystack-ai", "haystack"):
    from haystack import Document, default_from_dict, default_to_dict
    from haystack.core.serialization import allow_deserialization_module
    from haystack.document_stores.types import DuplicatePolicy

allow_deserialization_module(__name__)


class SealedDocumentStore:
    """Documents in a store that finds them and can read nothing.

    Args:
        sealed: the collection, or where it is.
        strict: whether a store that lost or changed something is an error; otherwise a warning.

    A document's embedding is what it is found by, and does not come back with it. Documents without one are
    embedded by the collection's encoder: whoever brings embeddings brings those of that encoder.
    """

    def __init__(
        self, sealed: SealedStore | SealedReference | Mapping[str, Any], strict: bool = False
    ) -> None:
        self._reference = SealedReference.from_dict(sealed) if isinstance(sealed, Mapping) else sealed
        opened = self._reference.open() if isinstance(self._reference, SealedReference) else sealed
        self._front = SealedFront(cast(SealedStore, opened), strict)

    def to_dict(self) -> dict[str, Any]:
        """Write down where the collection, its key and its state are."""
        if not isinstance(self._reference, SealedReference):
            raise InputError(
                "A SealedStore that is open cannot be written down. Give a SealedReference in its place."
            )
        written = default_to_dict(self, sealed=self._reference.to_dict(), strict=self._front.strict)
        return cast("dict[str, Any]", written)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SealedDocumentStore:
        """Open it again from what was written down."""
        return cast("SealedDocumentStore", default_from_dict(cls, data))

    def count_documents(self) -> int:
        """How many documents there are; the store is not asked."""
        with self._front.turn() as sealed:
            return len(sealed)

    def filter_documents(self, filters: Filters | None = None) -> list[Document]:
        """The documents that pass a filter, in the order they came; every one is opened."""
        check_filters(filters)
        return [found for row in self._front.rows() if passes(found := to_document(row), filters)]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Seal documents; those that are there already are refused unless the policy says otherwise."""
        if not isinstance(documents, list) or any(not isinstance(each, Document) for each in documents):
            raise InputError("`documents` must be a list of Haystack documents. Found something else.")
        with self._front.turn() as sealed:
            chosen = by_policy(documents, policy, sealed)
            if chosen:
                ids, texts, fields = to_rows(chosen)
                sealed.add(ids, texts, fields, vectors_of(chosen, sealed))
        return len(documents) if policy == DuplicatePolicy.OVERWRITE else len(chosen)

    def delete_documents(self, document_ids: list[str]) -> None:
        """Take documents out; those that are not there are passed over."""
        self._front.delete(document_ids)

    def delete_all_documents(self, recreate_index: bool = False) -> None:
        """Take all documents out; with `recreate_index` erased, so that no older copy opens any more."""
        self._front.clear(erase=recreate_index)

    def delete_by_filter(self, filters: Filters) -> int:
        """Take out the documents that pass a filter, and return how many that were."""
        with self._front.turn():
            return self._front.delete([each.id for each in self.filter_documents(filters)])

    def update_by_filter(self, filters: Filters, meta: dict[str, Any]) -> int:
        """Add to the metadata of the documents that pass a filter, and return how many those are."""
        with self._front.turn() as sealed:
            found = [replace(each, meta=each.meta | meta) for each in self.filter_documents(filters)]
            if found:
                ids, texts, fields = to_rows(found)
                kept = sealed.vectors(ids)
                sealed.update(ids, texts, fields, [kept[name] for name in ids])
        return len(found)

    def count_documents_by_filter(self, filters: Filters) -> int:
        """How many documents pass a filter; every one is opened."""
        return len(self.filter_documents(filters))

    def count_unique_metadata_by_filter(self, filters: Filters, metadata_fields: list[str]) -> dict[str, int]:
        """How many different values fields have in the documents that pass a filter."""
        found = self.filter_documents(filters)
        return {without_prefix(name): len(values_of(found, name)) for name in metadata_fields}

    def get_metadata_fields_info(self) -> dict[str, dict[str, str]]:
        """The names and types of all fields."""
        return types_of(self.filter_documents())

    def get_metadata_field_min_max(self, metadata_field: str) -> dict[str, Any]:
        """The smallest and the largest value of a field; None where there is none, or they do not compare."""
        return ends_of(self.filter_documents(), metadata_field)

    def get_metadata_field_unique_values(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters | None = None,
    ) -> tuple[list[Any], int]:
        """Some of the different values of a field that hold a text, sorted; and how many there are."""
        found = values_of(self.filter_documents(filters), metadata_field)
        chosen = [each for each in found if (search_term or "").lower() in str(each).lower()]
        return chosen[from_ : from_ + size], len(chosen)

    def search(
        self,
        asked: str | list[float],
        filters: Filters | None = None,
        top_k: int = 10,
        scale_score: bool = False,
    ) -> list[Document]:
        """The documents nearest to a text or a vector, with their cosine, or that from 0 to 1, as score."""
        check_filters(filters)
        keep = (lambda hit: passes(to_document(hit), filters)) if filters else None
        hits = self._front.search(asked, top_k, keep=keep)
        return [
            replace(to_document(hit), score=(hit.score + 1) / 2 if scale_score else hit.score) for hit in hits
        ]

    async def count_documents_async(self) -> int:
        """`count_documents`, in a thread."""
        return await asyncio.to_thread(self.count_documents)

    async def filter_documents_async(self, filters: Filters | None = None) -> list[Document]:
        """`filter_documents`, in a thread."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """`write_documents`, in a thread."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self, document_ids: list[str]) -> None:
        """`delete_documents`, in a thread."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self, recreate_index: bool = False) -> None:
        """`delete_all_documents`, in a thread."""
        await asyncio.to_thread(self.delete_all_documents, recreate_index)

    async def delete_by_filter_async(self, filters: Filters) -> int:
        """`delete_by_filter`, in a thread."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(self, filters: Filters, meta: dict[str, Any]) -> int:
        """`update_by_filter`, in a thread."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)

    async def count_documents_by_filter_async(self, filters: Filters) -> int:
        """`count_documents_by_filter`, in a thread."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def count_unique_metadata_by_filter_async(
        self, filters: Filters, metadata_fields: list[str]
    ) -> dict[str, int]:
        """`count_unique_metadata_by_filter`, in a thread."""
        return await asyncio.to_thread(self.count_unique_metadata_by_filter, filters, metadata_fields)

    async def get_metadata_fields_info_async(self) -> dict[str, dict[str, str]]:
        """`get_metadata_fields_info`, in a thread."""
        return await asyncio.to_thread(self.get_metadata_fields_info)

    async def get_metadata_field_min_max_async(self, metadata_field: str) -> dict[str, Any]:
        """`get_metadata_field_min_max`, in a thread."""
        return await asyncio.to_thread(self.get_metadata_field_min_max, metadata_field)

    async def get_metadata_field_unique_values_async(
        self,
        metadata_field: str,
        search_term: str | None = None,
        from_: int = 0,
        size: int = 10,
        filters: Filters | None = None,
    ) -> tuple[list[Any], int]:
        """`get_metadata_field_unique_values`, in a thread."""
        look = self.get_metadata_field_unique_values
        return await asyncio.to_thread(look, metadata_field, search_term, from_, size, filters)

    def close(self) -> None:
        """Send what waits, and let go of the state and the store."""
        self._front.close()

    def __repr__(self) -> str:
        """Where it is, and nothing secret."""
        return f"SealedDocumentStore({self._front!r})"
