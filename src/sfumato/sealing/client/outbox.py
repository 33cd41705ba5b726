"""Records on their way to the store: written down with the change that made them, sent after it.

What is in the state is in the store or here, whatever was killed and whenever: a change is one transaction,
and what it left here is sent again until the store has taken it. Records are sent in the order of their ids,
which is no order at all to whoever lacks the key.

Few records are values of the state; many are files beside it, which is several times as fast. An id in a file
is never used for a second record, so what the state says of it is newer: that it is to be deleted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArtifactError
from sfumato.sealing.client.database import StateFile
from sfumato.sealing.client.parcels import NAMED, Parcel
from sfumato.sealing.records import DressedRecord, Records
from sfumato.types import Rows

_AT_ONCE = 2000
_BYTES_AT_ONCE = 32 << 20
_TRIES = 5
_FEW = 256
"""Up to so many records of one change are values of the state."""
_PARCEL, _PARCEL_BYTES = 16_384, 32 << 20
"""Records, and bytes, of one file."""


class Outbox:
    """Records to write and ids to delete; what stands here is newer than what the store holds."""

    def __init__(self, file: StateFile, records: Records) -> None:
        self._file, self._records = file, records
        self.vouched: set[str] | None = None
        """None where any record counts that opens. Otherwise a record counts if its digest was written down
        when it was sealed; the ids here are those of records that are vouched for by a signature."""
        self._new: dict[str, bytes] = {}
        self._size = 0
        self._written: list[Parcel] = []
        self._known: dict[str, Parcel] = {}
        file.unsaved.append(self)

    def put(self, records: Iterable[tuple[str, bytes]]) -> None:
        """Have records written."""
        if not self._file.inside:
            with self._file.changing():
                return self.put(records)
        if self.vouched is not None:
            records = list(records)
            digests = [(name, _digest(DressedRecord.from_bytes(each).content)) for name, each in records]
            self._file.run_all("INSERT OR REPLACE INTO digests VALUES (?, ?)", digests)
        for name, content in records:
            self._new[name] = content
            self._size += len(content)
        if len(self._new) >= _PARCEL or self._size >= _PARCEL_BYTES:
            self._pack()

    def note(self, name: str, content: bytes) -> None:
        """Have a record written whose id is used again and again."""
        self._file.run("INSERT OR REPLACE INTO outbox VALUES (?, ?)", (name, content))

    def remove(self, ids: Iterable[str]) -> None:
        """Have records deleted."""
        names = list(ids)
        for each in names:
            self._new.pop(each, None)
        if self.vouched is not None:
            self._file.run_all("DELETE FROM digests WHERE id = ?", ((each,) for each in names))
        self._file.run_all("INSERT OR REPLACE INTO outbox VALUES (?, NULL)", ((each,) for each in names))

    def save(self) -> None:
        """Write what the transaction made, on disk before it ends."""
        if len(self._new) > _FEW:
            self._pack()
        elif self._new:
            self._file.run_all("INSERT OR REPLACE INTO outbox VALUES (?, ?)", self._new.items())
        for parcel in self._written:
            parcel.sync()
        if self._written:
            self._file.sync()
            names = [(each.path.name, len(each)) for each in self._written]
            self._file.run_all("INSERT INTO parcels VALUES (?, ?)", names)

    def forget(self) -> None:
        """Drop what is in memory; files of a transaction that was undone are swept with the next send."""
        self._new, self._size, self._written = {}, 0, []

    def _pack(self) -> None:
        self._written.append(Parcel.write(self._file.folder, self._new))
        self._new, self._size = {}, 0

    def __len__(self) -> int:
        few, many = "SELECT COUNT(*) FROM outbox", "SELECT COALESCE(SUM(records), 0) FROM parcels"
        return sum(int(self._file.run(each)[0][0]) for each in (few, many))

    @property
    def deleting(self) -> int:
        """How many records are yet to be deleted."""
        return int(self._file.run("SELECT COUNT(*) FROM outbox WHERE content IS NULL")[0][0])

    def fetch(self, ids: list[str]) -> dict[str, bytes]:
        """Return records as they are or are about to be, asking the store only for what is not here."""
        here = self._here(ids) if self._waits() else {}
        found = self._records.get(each for each in ids if each not in here)
        waiting = {name: content for name, content in here.items() if content is not None}
        whole = found | {name: DressedRecord.from_bytes(each).content for name, each in waiting.items()}
        return whole if self.vouched is None else self._checked(whole, self.vouched)

    def ranked(self) -> dict[str, DressedRecord]:
        """The records that wait and have a vector which the store is to rank."""
        for _ in range(_TRIES):
            try:
                return self._ranked() if self._waits() else {}
            except FileNotFoundError:
                # Another client has sent it just now.
                continue
        raise self._lost()

    def _ranked(self) -> dict[str, DressedRecord]:
        found: dict[str, DressedRecord] = {}
        for ids, contents in (*self._to_write(), (list(self._new), list(self._new.values()))):
            for name, content in zip(ids, contents, strict=True):
                record = DressedRecord.from_bytes(content)
                if record.vector is not None:
                    found[name] = record
        return found

    def _checked(self, found: dict[str, bytes], vouched: set[str]) -> dict[str, bytes]:
        """Records with what was never sealed here made empty, which opens as little as what was changed."""
        digests = dict(self._file.among("SELECT id, digest FROM digests WHERE id IN", list(found)))
        return {
            name: content if name in vouched or digests.get(name) == _digest(content) else b""
            for name, content in found.items()
        }

    def _here(self, ids: list[str]) -> dict[str, bytes | None]:
        for _ in range(_TRIES):
            # First what is to be deleted: whoever sends meanwhile forgets that last.
            here = dict(self._file.among("SELECT id, content FROM outbox WHERE id IN", ids))
            new = self._new
            packed: dict[str, bytes | None] = {
                each: content for each in ids if (content := new.get(each)) is not None
            }
            try:
                for parcel in self._parcels():
                    packed |= parcel.find(ids)
            except FileNotFoundError:
                # Another client has sent it just now.
                continue
            return packed | here
        raise self._lost()

    def _lost(self) -> ArtifactError:
        return ArtifactError(
            f"Records that wait in `{self._file.folder}` are missing. Restore the state from a copy."
        )

    def _waits(self) -> bool:
        both = "SELECT EXISTS (SELECT 1 FROM outbox) OR EXISTS (SELECT 1 FROM parcels)"
        return bool(self._new or self._written or self._file.run(both)[0][0])

    def _parcels(self) -> list[Parcel]:
        names = [name for (name,) in self._file.run("SELECT name FROM parcels")]
        self._known = {name: self._known.get(name) or Parcel.open(self._file.folder / name) for name in names}
        return [*self._known.values(), *(each for each in self._written if each.path.name not in names)]

    def send(self) -> None:
        """Bring the store up to date: first what is new, then what is gone; only then forget it here."""
        with self._file.alone():
            if self._waits():
                try:
                    for ids, contents in self._to_write():
                        self._records.put(ids, contents)
                except FileNotFoundError:
                    raise self._lost() from None
                for ids in self._waiting("IS NULL"):
                    self._records.delete(ids)
                self._records.settle()
                with self._file.changing():
                    self._file.run("DELETE FROM outbox")
                    self._file.run("DELETE FROM parcels")
                self._known = {}
                self._file.shrink()
            self._sweep()

    def _sweep(self) -> None:
        """Remove files that no state names; whoever is alone with the state may."""
        named = {name for (name,) in self._file.run("SELECT name FROM parcels")}
        for path in self._file.folder.glob("parcel-*"):
            if path.name not in named and NAMED.fullmatch(path.name):
                path.unlink(missing_ok=True)

    def _to_write(self) -> Iterator[tuple[list[str], list[bytes]]]:
        """Records in the order of their ids, as many at a time as memory bears."""
        parcels = self._parcels()
        if not parcels:
            for waiting in self._waiting("IS NOT NULL"):
                yield waiting, self._values(waiting)
            return
        own = self._file.run("SELECT id, LENGTH(content) FROM outbox ORDER BY id")
        # What the state says itself of an id is newer than a file.
        later = _texts([name for name, _ in own])
        few = [(name, size) for name, size in own if size is not None]
        columns = [(each.ids, np.diff(each.ends)) for each in parcels]
        columns.append((_texts([name for name, _ in few]), np.array([size for _, size in few], np.int64)))
        ids = np.concatenate([each for each, _ in columns])
        sizes = np.concatenate([each for _, each in columns])
        source = np.repeat(np.arange(len(columns)), [len(each) for each, _ in columns])
        place = np.concatenate([np.arange(len(each)) for each, _ in columns])
        order = np.argsort(ids, kind="stable")
        order = order[(source[order] == len(parcels)) | ~np.isin(ids[order], later)]
        for rows in _batches(order, sizes):
            names = [each.decode() for each in ids[rows].tolist()]
            contents = [b""] * len(rows)
            for number in np.unique(source[rows]):
                chosen = np.flatnonzero(source[rows] == number)
                if number == len(parcels):
                    found = self._values([names[at] for at in chosen])
                else:
                    found = parcels[number].read(place[rows[chosen]])
                for at, content in zip(chosen, found, strict=True):
                    contents[at] = content
            yield names, contents

    def _values(self, ids: list[str]) -> list[bytes]:
        contents = dict(self._file.among("SELECT id, content FROM outbox WHERE id IN", ids))
        return [contents[each] for each in ids]

    def _waiting(self, kind: str) -> Iterator[list[str]]:
        """Ids that are values of the state, in their order, as many at a time as memory bears."""
        chosen = f"SELECT id, LENGTH(content) FROM outbox WHERE content {kind} AND id > ? ORDER BY id LIMIT ?"
        last = ""
        while part := self._file.run(chosen, (last, _AT_ONCE)):
            ids: list[str] = []
            taken = 0
            for name, size in part:
                taken += size or 0
                if ids and taken > _BYTES_AT_ONCE:
                    break
                ids.append(name)
            yield ids
            last = ids[-1]


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()


def _texts(names: list[str]) -> NDArray[np.bytes_]:
    return np.array([each.encode() for each in names], "S1" if not names else None)


def _batches(order: Rows, sizes: NDArray[np.int64]) -> Iterator[Rows]:
    """Parts of an order, each of so many records and bytes."""
    start = 0
    while start < len(order):
        total = np.cumsum(sizes[order[start : start + _AT_ONCE]])
        stop = start + max(1, int(np.searchsorted(total, _BYTES_AT_ONCE, side="right")))
        yield order[start:stop]
        start = stop
