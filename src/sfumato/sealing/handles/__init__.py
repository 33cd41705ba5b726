"""Handles: what a store is given of a row so that it can find it, one file each, chosen by name."""

from __future__ import annotations

from sfumato.registry import Entry, Registry
from sfumato.sealing.handles.base import Handle

_HOME = "sfumato.sealing.handles"

HANDLES: Registry[Handle] = Registry(
    "handle",
    [
        Entry(
            "multimap", f"{_HOME}.multimap:MultimapHandle", "nothing that repeats: postings asked for by id"
        ),
        Entry(
            "tags", f"{_HOME}.tags:TagHandle", "shared keyed tags, for stores that filter and are slow by id"
        ),
        Entry("codes", f"{_HOME}.codes:CodeHandle", "a few bits of a vector, for stores that rank"),
        Entry("noise", f"{_HOME}.noise:NoiseHandle", "a released vector, for stores that rank"),
    ],
    group="sfumato.handles",
)

__all__ = ["HANDLES", "Handle"]
