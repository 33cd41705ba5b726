"""What stores that live in this process share: a table of ids and metadata beside their vectors."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from sfumato.stores.base import Store
from sfumato.stores.kinds.table import RowTable
from sfumato.stores.rows import Hit, Metric, Rows
from sfumato.types import Vectors


class LocalStore(Store):
    """Rows by their place in a table; a kind of store says which vectors stand at some places."""

    durable = False

    def __init__(self, address: str, metric: Metric | None) -> None:
        super().__init__(address, metric)
        self._table = RowTable()
        self._changed = False

    @abstractmethod
    def _stored(self, places: Any) -> Vectors: ...

    def _hits(self, places: Any, found: Any) -> list[Hit]:
        return [
            Hit(self._table.ids[at], float(distance), dict(self._table.metadata[at]))
            for at, distance in zip(places, found, strict=True)
        ]

    def _at(self, places: list[int]) -> Rows:
        fields = [dict(self._table.metadata[at]) for at in places]
        return Rows([self._table.ids[at] for at in places], self._stored(places), fields)

    def _get(self, ids: list[str]) -> Rows:
        return self._at(self._table.places(ids))

    def _delete(self, ids: list[str]) -> None:
        self._table.kill(ids)
        self._changed = True

    def _batches(self, size: int) -> Iterator[Rows]:
        places = self._table.alive().tolist()
        for start in range(0, len(places), size):
            yield self._at(places[start : start + size])

    def _count(self) -> int:
        return len(self._table)
