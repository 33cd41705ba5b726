"""What a thief of the store has, and a simulator that makes as much from sizes of records alone."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import Embedder
from sfumato.sealing import SealedStore, SealingKey
from sfumato.sealing.client.writing import record_ids
from sfumato.sealing.crypto.envelope import FORMAT
from sfumato.sealing.records import Records
from sfumato.stores.base import Store
from sfumato_research.sealed.corpus import SealedCorpus

NOBODY, PROBES = -1, 8
_ID = 16


@dataclass(frozen=True, slots=True, eq=False)
class StoreView:
    """Records in the order a store hands them out; beside them the truth, which no attack is given."""

    ids: list[str]
    contents: list[bytes]
    rows: NDArray[np.intp]
    """`[n]` the row each record is of; -1 for those of none."""
    is_text: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def text_places(self) -> NDArray[np.intp]:
        """`[rows]` where the text of each row stands."""
        places = np.flatnonzero(self.is_text)
        out = np.full(int(self.rows.max()) + 1, NOBODY, np.intp)
        out[self.rows[places]] = places
        return out

    def sizes(self) -> NDArray[np.intp]:
        """`[n]` bytes of each record."""
        return np.array([len(each) for each in self.contents], np.intp)

    def bytes_at(self, starts: int, stops: int) -> NDArray[np.uint8]:
        """`[n, stops - starts]` the same bytes of every record."""
        joined = b"".join(each[starts:stops].ljust(stops - starts, b"\0") for each in self.contents)
        return np.frombuffer(joined, np.uint8).reshape(len(self), -1)

    def id_bytes(self) -> NDArray[np.uint8]:
        """`[n, 16]` the bytes of every id."""
        joined = b"".join(bytes.fromhex(each.replace("-", "")) for each in self.ids)
        return np.frombuffer(joined, np.uint8).reshape(-1, _ID)


def sealed_store(store: Store, folder: Path, embedder: Embedder, *, tables: int = 1) -> SealedStore:
    """A new sealed collection with a key of its own."""
    key = SealingKey.open(folder.with_suffix(".key"))
    return SealedStore(store, key=key, folder=folder, embedder=embedder, tables=tables, probes=PROBES)


def seal_rows(store: SealedStore, corpus: SealedCorpus, rows: Iterable[int], calls: int = 1) -> None:
    """Add rows in their order, in so many calls."""
    for part in np.array_split(np.fromiter(rows, np.intp), calls):
        store.add([str(row) for row in part], [corpus.texts[row] for row in part])


def seen(store: SealedStore) -> StoreView:
    """What the store holds, with the truth out of the client's state."""
    client = store._client
    owners: dict[str, tuple[int, bool]] = {}
    for members in client.state.walk(1000):
        for member in members:
            *postings, text = record_ids(client, [member])
            owners |= {each: (int(member.id), False) for each in postings}
            owners[text] = (int(member.id), True)
    return viewed(list(Records(store.store).scan()), owners)


def viewed(records: Sequence[tuple[str, bytes]], owners: dict[str, tuple[int, bool]]) -> StoreView:
    """Records with the truth about each."""
    known = [owners.get(name, (NOBODY, False)) for name, _ in records]
    return StoreView(
        [name for name, _ in records],
        [content for _, content in records],
        np.array([row for row, _ in known], np.intp),
        np.array([text for _, text in known], np.bool_),
    )


def simulated_records(sizes: Iterable[int]) -> list[tuple[str, bytes]]:
    """Records of these sizes, made of nothing else, in the order of their ids."""
    made = []
    for size in sizes:
        digits = secrets.token_hex(_ID)
        name = f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
        made.append((name, bytes([FORMAT]) + secrets.token_bytes(size - 1)))
    return made


def simulated(view: StoreView) -> StoreView:
    """What the simulator makes; a record of each size is said to be of a row that has one of that size."""
    made = simulated_records(view.sizes())
    order = sorted(range(len(made)), key=lambda at: made[at][0])
    return StoreView(
        [made[at][0] for at in order],
        [made[at][1] for at in order],
        view.rows[order],
        view.is_text[order],
    )
