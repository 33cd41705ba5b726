"""Provenance of a protected row: which protector released its vector. It says nothing about the text."""

from __future__ import annotations

import hashlib

from sfumato.protector import Protector
from sfumato.stores.rows import Metadata

PROVENANCE = "sfumato"
"""The metadata field that holds it."""


def provenance_of(protector: Protector) -> str:
    """16 hex digits that name a protector's settings and keys, the same for every row it releases."""
    parts = (protector.settings_digest(), protector.noise_id or "", protector.tenant, protector.collection)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def without_provenance(metadata: Metadata) -> Metadata:
    """The fields a user gave."""
    return {name: value for name, value in metadata.items() if name != PROVENANCE}
