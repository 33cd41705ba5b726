"""Readers of a sealed collection: they search the rows of all writers whose bundles they have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sfumato.embedders.base import Embedder
from sfumato.errors import InputError
from sfumato.files import PathLike
from sfumato.numbers import whole_number
from sfumato.sealing.client.bundles import open_bundle
from sfumato.sealing.client.contents import SealedResult, SealedRow
from sfumato.sealing.client.lanes import Lane, search_lanes, search_name_in
from sfumato.sealing.client.searching import RowSearch
from sfumato.sealing.client.session import SealedClient, require_encoder
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.signing import checked_writers
from sfumato.sealing.records import Records
from sfumato.stores.base import Closable, Store
from sfumato.stores.rows import Where, checked_ids


def open_lanes(
    store: Store,
    key: SealingKey,
    bundles: Iterable[PathLike],
    *,
    tenant: str = "",
    embedder: Embedder | None = None,
    writers: Iterable[str] | None = None,
    without: tuple[str, int] | None = None,
) -> list[Lane]:
    """Open bundles of one collection; `without` is the collection and the lane of one's own."""
    trusted = None if writers is None else checked_writers(list(writers))
    lanes: list[Lane] = []
    collection = None if without is None else without[0]
    known = set() if without is None else {without[1]}
    try:
        for folder in map(Path, bundles):
            state = open_bundle(folder, key, tenant, trusted)
            client = SealedClient(state, Records(store), key, embedder)
            lanes.append(Lane(f"the bundle `{folder.name}`", client, RowSearch(client)))
            now = state.settings
            if embedder is not None:
                require_encoder(now, embedder)
            if collection not in (None, now.collection) or now.lane in known:
                raise InputError(
                    f"The bundle `{folder}` is of another collection, or of a lane that is there already. "
                    "Give one bundle of every other writer."
                )
            collection = now.collection
            known.add(now.lane)
    except BaseException:
        for each in lanes:
            each.client.state.file.close()
        raise
    return lanes


class SealedReader(Closable):
    """A sealed collection to search and read; `SealedStore.reader` opens one."""

    def __init__(self, store: Store, lanes: list[Lane]) -> None:
        if not lanes:
            raise InputError("A reader needs the bundle of at least one writer. Found none.")
        self.store, self._lanes = store, lanes

    def search(
        self,
        texts: str | Sequence[str] | None = None,
        k: int = 10,
        where: Where | None = None,
        *,
        vectors: Any = None,
    ) -> Any:
        """The k nearest rows of a text, or of each of many; the nearest first."""
        found: list[SealedResult] = search_lanes(self._lanes, texts, k, where, vectors)
        return found[0] if isinstance(texts, str) else found

    def search_name(self, name: str, k: int = 10, where: Where | None = None) -> SealedResult:
        """Rows that hold a value (of `names`), whoever wrote them; those most about it first."""
        return search_name_in(self._lanes, name, k, where)

    def get(self, ids: Iterable[str]) -> list[SealedRow]:
        """The rows that are there, in the order of `ids`, and of every writer that has one under an id."""
        names = checked_ids(ids)
        found = [self._rows_of(lane, names) for lane in self._lanes]
        return [rows[name] for name in names for rows in found if name in rows]

    def _rows_of(self, lane: Lane, names: list[str]) -> dict[str, SealedRow]:
        members = lane.client.state.find(names)
        numbers = [each.number for each in members.values()]
        rows = lane.client.texts(numbers)
        lane.client.refuse_bad((n for n, row in zip(numbers, rows, strict=True) if row is None), "Reading")
        return {row.id: row for row in rows if row is not None}

    def iterate(self, size: int = 256) -> Iterator[list[SealedRow]]:
        """Every row, `size` at a time, writer after writer."""
        size = whole_number(size, "size", 1, 10**5)
        for lane in self._lanes:
            for rows, _ in lane.client.rows(size, "Reading all"):
                yield rows

    def stale(self) -> list[str]:
        """A line for every bundle that is older than the collection: it has to be made anew."""
        found = [(lane.name, lane.stale()) for lane in self._lanes]
        missing = "the store's count of its changes is missing or not its writer's"
        return [
            f"{name} is stale: {f'{behind} changes came after it' if behind > 0 else missing}"
            for name, behind in found
            if behind
        ]

    def __len__(self) -> int:
        return sum(lane.client.state.settings.rows for lane in self._lanes)

    def close(self) -> None:
        """Let go of the bundles and the store."""
        for lane in self._lanes:
            lane.client.state.file.close()
        self.store.close()

    def __repr__(self) -> str:
        """Where it is, and nothing secret."""
        return f"SealedReader({self.store.label}, {len(self._lanes)} lanes)"
