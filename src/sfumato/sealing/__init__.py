"""Sealed search: a store that finds, and can read nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.sealing.client.contents import SealedHit, SealedResult, SealedRow
    from sfumato.sealing.crypto.envelope import Bound, Envelope
    from sfumato.sealing.crypto.keys import SealingKey
    from sfumato.sealing.erasure.shredding import ErasureRecord, Shredder
    from sfumato.sealing.reading import SealedReader
    from sfumato.sealing.store import SealedStore

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "client.contents": "SealedHit SealedResult SealedRow",
        "crypto.envelope": "Bound Envelope",
        "crypto.keys": "SealingKey",
        "erasure.shredding": "ErasureRecord Shredder",
        "reading": "SealedReader",
        "store": "SealedStore",
    },
)

__all__ = [
    "Bound",
    "Envelope",
    "ErasureRecord",
    "SealedHit",
    "SealedReader",
    "SealedResult",
    "SealedRow",
    "SealedStore",
    "SealingKey",
    "Shredder",
]
