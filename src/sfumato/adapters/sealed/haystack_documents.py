"""Haystack's documents as sealed rows and back, and what its filters and policies say about them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np

from sfumato.adapters.packages import needs
from sfumato.adapters.sealed.rows import from_fields, to_fields
from sfumato.errors import InputError
from sfumato.sealing.client.contents import SealedHit, SealedRow
from sfumato.sealing.store import SealedStore
from sfumato.stores.rows import Metadata

with needs("haystack-ai", "haystack"):
    from haystack import Document
    from haystack.dataclasses import ByteStream, SparseEmbedding
    from haystack.document_stores.errors import DuplicateDocumentError
    from haystack.document_stores.types import DuplicatePolicy
    from haystack.utils.filters import document_matches_filter

Filters = dict[str, Any]


def to_rows(documents: Sequence[Document]) -> tuple[list[str], list[str], list[Metadata]]:
    """The ids, texts and fields of documents; embeddings are left to be the rows' vectors."""
    ids, texts = [each.id for each in documents], [each.content or "" for each in documents]
    return ids, texts, [_fields(each, row) for row, each in enumerate(documents)]


def _fields(document: Document, row: int) -> Metadata:
    own: dict[str, Any] = {}
    if document.content is None:
        own["no_text"] = True
    if document.score is not None:
        own["score"] = float(document.score)
    if document.blob is not None:
        data = base64.b64encode(document.blob.data).decode()
        own["blob"] = [data, document.blob.meta, document.blob.mime_type]
    if document.sparse_embedding is not None:
        own["sparse_embedding"] = document.sparse_embedding.to_dict()
    return to_fields(document.meta, row, own)


def to_document(row: SealedRow | SealedHit) -> Document:
    """The document that a row was made from, without its embedding."""
    meta, own = from_fields(row.metadata)
    blob = sparse = None
    if "blob" in own:
        data, about, kind = own["blob"]
        blob = ByteStream(base64.b64decode(data), meta=about, mime_type=kind)
    if "sparse_embedding" in own:
        sparse = SparseEmbedding.from_dict(own["sparse_embedding"])
    return Document(
        id=row.id,
        content=None if own.get("no_text") else row.text,
        meta=meta,
        blob=blob,
        score=own.get("score"),
        sparse_embedding=sparse,
    )


def vectors_of(documents: Sequence[Document], sealed: SealedStore) -> Any:
    """What documents are found by: their embeddings, or their texts'; None where all are to be embedded."""
    without = [row for row, each in enumerate(documents) if each.embedding is None]
    for row in without:
        if documents[row].content is None:
            raise InputError(f"Document {row} must have a text or an embedding. Found neither.")
    if len(without) == len(documents):
        return None
    vectors = [each.embedding for each in documents]
    if without:
        made = sealed.embed([documents[row].content or "" for row in without])
        for row, vector in zip(without, np.asarray(made), strict=True):
            vectors[row] = vector.tolist()
    return vectors


def by_policy(documents: Sequence[Document], policy: DuplicatePolicy, sealed: SealedStore) -> list[Document]:
    """The documents to write; the last of those with one id counts if they overwrite, else the first."""
    if policy == DuplicatePolicy.OVERWRITE:
        return list({each.id: each for each in documents}.values())
    known = set(sealed.known(dict.fromkeys(each.id for each in documents)))
    chosen: dict[str, Document] = {}
    for row, each in enumerate(documents):
        if each.id not in known and each.id not in chosen:
            chosen[each.id] = each
        elif policy != DuplicatePolicy.SKIP:
            raise DuplicateDocumentError(
                f"Document {row} has the id of another one. Nothing was written: give a policy of skip or "
                "overwrite, or another id."
            )
    return list(chosen.values())


def check_filters(filters: Filters | None) -> None:
    """Refuse a filter that is none, before any row is looked at."""
    if filters:
        document_matches_filter(filters, Document(content=""))


def passes(document: Document, filters: Filters | None) -> bool:
    """Whether a document passes a filter, as Haystack itself understands it."""
    return not filters or document_matches_filter(filters, document)


def both(first: Filters | None, second: Filters | None) -> Filters | None:
    """A filter that asks for both."""
    if first and second:
        return {"operator": "AND", "conditions": [first, second]}
    return first or second
