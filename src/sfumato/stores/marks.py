"""The mark a protected row carries: which protector released its vector. It says nothing about the text."""

from __future__ import annotations

import hashlib

from sfumato.protector import Protector
from sfumato.stores.rows import Metadata

MARK = "sfumato"
"""The metadata field of the mark."""


def mark_of(protector: Protector) -> str:
    """16 hex digits that name a protector's settings and keys, the same for every row it releases."""
    parts = (protector.settings_digest(), protector.noise_id or "", protector.tenant, protector.collection)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def without_mark(metadata: Metadata) -> Metadata:
    """The fields a user gave."""
    return {name: value for name, value in metadata.items() if name != MARK}
