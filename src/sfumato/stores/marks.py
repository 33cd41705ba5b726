"""The mark a protected row carries: which protector released its vector. It says nothing about the text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from sfumato.protector import Protector
from sfumato.stores.rows import Metadata, Vectors

MARK = "sfumato"
"""The metadata field of the mark."""


def mark_of(protector: Protector) -> str:
    """16 hex digits that name a protector's settings and key, the same for every row it releases."""
    key = "" if protector.secret is None else protector.secret.key_id
    parts = (protector.settings_digest(), key, protector.tenant, protector.collection)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def without_mark(metadata: Metadata) -> Metadata:
    """The fields a user gave."""
    return {name: value for name, value in metadata.items() if name != MARK}


def row_names(ids: Sequence[str], vectors: Vectors) -> list[str]:
    """What sticky noise is keyed by where there is no text: the id and the vector together.

    By the id alone, two versions of a row would get the same noise, and their difference would be bare.
    """
    return [
        f"{name} {hashlib.sha256(vector.astype('<f4').tobytes()).hexdigest()}"
        for name, vector in zip(ids, vectors, strict=True)
    ]
