"""A store with a window in it: what it is asked for, as whoever runs the store sees it."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from sfumato.sealing.records import CONTENT_FIELD
from sfumato.stores.base import Store
from sfumato.stores.rows import Hit, Metadata, Rows, Where


@dataclass(frozen=True, slots=True)
class StoreRequest:
    """One request to the store."""

    ids: list[str]
    """What was asked for, in that order; what was found, for a search."""
    contents: dict[str, bytes]
    """The sealed contents that were handed over."""


class WatchedStore:
    """Any store, whose requests may be watched by whoever is alone with it; all else is the store's own."""

    def __init__(self, inner: Store) -> None:
        self._inner = inner
        self._seen: list[StoreRequest] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __len__(self) -> int:
        return len(self._inner)

    @contextmanager
    def watching(self) -> Iterator[list[StoreRequest]]:
        """What the store is asked for until the block ends."""
        seen: list[StoreRequest] = []
        self._seen = seen
        try:
            yield seen
        finally:
            self._seen = None

    def get(self, ids: Iterable[str]) -> Rows:
        """Return rows, noted if somebody watches."""
        asked = list(ids)
        rows = self._inner.get(asked)
        self._note(asked, zip(rows.ids, rows.metadata, strict=True))
        return rows

    def search(self, vectors: Any, k: int = 10, where: Where | None = None) -> list[list[Hit]]:
        """Return the nearest rows, noted if somebody watches."""
        found: list[list[Hit]] = self._inner.search(vectors, k, where)
        for hits in found:
            self._note([hit.id for hit in hits], ((hit.id, hit.metadata) for hit in hits))
        return found

    def _note(self, asked: Sequence[str], found: Iterable[tuple[str, Metadata]]) -> None:
        if self._seen is not None:
            self._seen.append(StoreRequest(list(asked), {name: content_of(each) for name, each in found}))


def content_of(fields: Metadata) -> bytes:
    """What is sealed in a record; empty for what is none."""
    try:
        return base64.b64decode(str(fields.get(CONTENT_FIELD, "")), validate=True)
    except (binascii.Error, ValueError):
        return b""
