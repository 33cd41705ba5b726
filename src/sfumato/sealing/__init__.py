"""Sealed search: a store that finds, and can read nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.sealing.envelope import Bound, Envelope
    from sfumato.sealing.keys import SealingKey
    from sfumato.sealing.shredding import ErasureRecord, Shredder

__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "envelope": "Bound Envelope",
        "keys": "SealingKey",
        "shredding": "ErasureRecord Shredder",
    },
)

__all__ = ["Bound", "Envelope", "ErasureRecord", "SealingKey", "Shredder"]
