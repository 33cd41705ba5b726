"""Records on their way to the store: written down with the change that made them, sent after it.

What is in the state is in the store or here, whatever was killed and whenever: a change is one transaction,
and what it left here is sent again until the store has taken it. Records are sent in the order of their ids,
which is no order at all to whoever lacks the key.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sfumato.sealing.client.database import StateFile
from sfumato.sealing.records import DressedRecord, Records

_AT_ONCE = 2000
_BYTES_AT_ONCE = 32 << 20


class Outbox:
    """Records to write and ids to delete; what stands here is newer than what the store holds."""

    def __init__(self, file: StateFile, records: Records) -> None:
        self._file, self._records = file, records

    def put(self, records: Iterable[tuple[str, bytes]]) -> None:
        """Have records written."""
        self._file.run_all("INSERT OR REPLACE INTO outbox VALUES (?, ?)", records)

    def remove(self, ids: Iterable[str]) -> None:
        """Have records deleted."""
        self._file.run_all("INSERT OR REPLACE INTO outbox VALUES (?, NULL)", ((each,) for each in ids))

    def __len__(self) -> int:
        return int(self._file.run("SELECT COUNT(*) FROM outbox")[0][0])

    @property
    def deleting(self) -> int:
        """How many records are yet to be deleted."""
        return int(self._file.run("SELECT COUNT(*) FROM outbox WHERE content IS NULL")[0][0])

    def fetch(self, ids: list[str]) -> dict[str, bytes]:
        """Return records as they are or are about to be, asking the store only for what is not here."""
        here: dict[str, bytes | None] = {}
        if self._file.run("SELECT EXISTS (SELECT 1 FROM outbox)")[0][0]:
            here = dict(self._file.among("SELECT id, content FROM outbox WHERE id IN", ids))
        found = self._records.get(each for each in ids if each not in here)
        waiting = {name: content for name, content in here.items() if content is not None}
        return found | {name: DressedRecord.from_bytes(each).content for name, each in waiting.items()}

    def ranked(self) -> dict[str, DressedRecord]:
        """The records that wait and have a vector which the store is to rank."""
        if not self._file.run("SELECT EXISTS (SELECT 1 FROM outbox)")[0][0]:
            return {}
        found: dict[str, DressedRecord] = {}
        for ids in self._waiting("IS NOT NULL"):
            for name, content in self._file.among("SELECT id, content FROM outbox WHERE id IN", ids):
                record = DressedRecord.from_bytes(content)
                if record.vector is not None:
                    found[name] = record
        return found

    def send(self) -> None:
        """Bring the store up to date: first what is new, then what is gone; only then forget it here."""
        with self._file.alone():
            if not self._file.run("SELECT EXISTS (SELECT 1 FROM outbox)")[0][0]:
                return
            for ids in self._waiting("IS NOT NULL"):
                contents = dict(self._file.among("SELECT id, content FROM outbox WHERE id IN", ids))
                self._records.put(ids, [contents[each] for each in ids])
            for ids in self._waiting("IS NULL"):
                self._records.delete(ids)
            self._records.settle()
            with self._file.changing():
                self._file.run("DELETE FROM outbox")
            self._file.shrink()

    def _waiting(self, kind: str) -> Iterator[list[str]]:
        """Ids in their order, as many at a time as memory bears."""
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
