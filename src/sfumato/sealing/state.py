"""What the client of a sealed collection keeps: which rows stand where, and the cells they are filed under.

Every value is sealed with a subkey; names are pseudo-random functions of what they name. What is said of a
row, and the codebook, is sealed under a salt of the shredder besides, so that it goes when the salt does.
Whoever takes the folder without the key learns how many rows and cells there are, in which order rows came,
and the size class of each value.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.accounting.keys import KeyHolder
from sfumato.errors import ArtifactError, InputError
from sfumato.sealing.cells.codebook import Codebook
from sfumato.sealing.client.database import StateFile
from sfumato.sealing.crypto.envelope import Bound, Envelope
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.padding import padded, unpadded
from sfumato.sealing.crypto.prf import Prf
from sfumato.sealing.erasure.shredding import Shredder
from sfumato.sealing.members import Member, SealedSettings
from sfumato.sealing.multimap import PostingList, RecordIds

CellKey = tuple[int, int]
"""Table and cell."""
_LEAST = 250
"""Bytes of the smallest value of a row: rows with short ids and few postings all look alike."""
_NAME_BYTES = 16
_MOST_CHANGED = 100_000
"""Lists of postings that a transaction keeps in memory."""
_TRIES = 8


class ClientState(KeyHolder):
    """The state of one collection; changes belong into `file.changing()`."""

    def __init__(self, file: StateFile, key: SealingKey, tenant: str) -> None:
        self.file, self.tenant, self._key = file, tenant, key
        self.envelope = Envelope(key.derive("state", tenant))
        """What the client's files are sealed with."""
        self._cached: tuple[Any, SealedSettings | None] | None = None
        self._names: tuple[str, Prf] | None = None
        self._ids: tuple[tuple[str, int, int], RecordIds] | None = None
        self._codebook: tuple[tuple[int, int], Codebook] | None = None
        self._changed: dict[CellKey, PostingList] = {}
        self._made: dict[int, bytes] = {}
        file.unsaved.append(self)

    @cached_property
    def shredder(self) -> Shredder:
        """Where the salts of rows are."""
        return Shredder.open(self.file.folder, self._key, self.tenant)

    @property
    def settings(self) -> SealedSettings:
        """The settings as they are now."""
        found = self.found()
        if found is None:
            raise ArtifactError(f"The state in `{self.file.folder}` has no settings. Restore it from a copy.")
        return found

    def found(self) -> SealedSettings | None:
        """The settings, or None in a state that was just made; a key that does not open them is refused."""
        moment = self.file.moment()
        if self._cached is None or self._cached[0] != moment:
            rows = self.file.run("SELECT value FROM facts WHERE name = 'settings'")
            self._cached = (moment, self._read_settings(rows[0][0]) if rows else None)
        return self._cached[1]

    def _read_settings(self, sealed: bytes) -> SealedSettings:
        (plain,) = self.envelope.open_all([sealed], [self._bounds("settings", [("", 0)], "")[0]])
        if plain is None:
            raise InputError(
                f"The key {self._key.fingerprint} does not open the state in `{self.file.folder}` for this "
                "tenant. Give the key and the tenant that the collection was sealed with."
            )
        return SealedSettings(**json.loads(unpadded(plain)))

    def settle(self, settings: SealedSettings) -> None:
        """Write the settings."""
        plain = padded(json.dumps(asdict(settings)).encode().ljust(_LEAST))
        sealed = self.envelope.seal(plain, self._bounds("settings", [("", 0)], "")[0])
        self.file.run("INSERT OR REPLACE INTO facts VALUES ('settings', ?)", (sealed,))
        self._cached = None

    def change(self, **settings: Any) -> SealedSettings:
        """Write the settings with some of them changed."""
        made = replace(self.settings, **settings)
        self.settle(made)
        return made

    def numbers(self, count: int) -> range:
        """Take numbers that no row ever had."""
        first = self.settings.next_number
        self.change(next_number=first + count)
        return range(first, first + count)

    def ids(self, settings: SealedSettings | None = None) -> RecordIds:
        """Where the records of the present epoch stand."""
        now = settings or self.settings
        if self._ids is None or self._ids[0] != (now.collection, now.epoch, now.lane):
            made = RecordIds(self._key, self.tenant, now.collection, epoch=now.epoch, lane=now.lane)
            self._ids = ((now.collection, now.epoch, now.lane), made)
        return self._ids[1]

    def new_salts(self, numbers: Iterable[int]) -> list[bytes]:
        """The salts to seal rows with, on disk before they are used."""
        asked = list(numbers)
        made = self._just_made(asked)
        if made is None:
            made = self.shredder.salts([str(number) for number in asked])
            self._made = dict(zip(asked, made, strict=True))
        return made

    def salts(self, numbers: Iterable[int]) -> list[bytes | None]:
        """The salts of rows; without them nothing of a row opens. None where a row was erased."""
        asked = list(numbers)
        return list(self._just_made(asked) or self.shredder.find([str(number) for number in asked]))

    def _just_made(self, numbers: list[int]) -> list[bytes] | None:
        """Salts that this transaction made last, if all are among them: nobody else can have erased them."""
        made = self._made if self.file.inside else {}
        return [made[each] for each in numbers] if numbers and all(each in made for each in numbers) else None

    def _bounds(
        self, kind: str, names: Iterable[tuple[str, int]], collection: str | None = None
    ) -> list[bytes]:
        chosen = self.settings.collection if collection is None else collection
        shared = Bound(tenant=self.tenant, collection=chosen, record_id="", kind=f"state {kind}")
        pairs = list(names)
        return shared.encoded_all([name for name, _ in pairs], [version for _, version in pairs])

    # Cells

    def lists(self, cells: Iterable[CellKey]) -> dict[CellKey, PostingList]:
        """The postings of cells; one that holds no row is not there."""
        ids, asked = self.ids(), list(cells)
        changed = self._changed
        names = {ids.cell(*each): each for each in asked if each not in changed}
        found = list(self.file.among("SELECT place, value FROM cells WHERE place IN", list(names)))
        opened = self._opened("cell", [(place.hex(), 0, value, None) for place, value in found])
        there = {
            names[place]: PostingList.from_bytes(unpadded(plain))
            for (place, _), plain in zip(found, opened, strict=True)
        }
        return there | {each: changed[each] for each in asked if each in changed}

    def save_lists(self, lists: Mapping[CellKey, PostingList]) -> None:
        """Write the postings of cells, at the end of the transaction: most cells are changed many times."""
        if not self.file.inside:
            with self.file.changing():
                return self.save_lists(lists)
        self._changed.update(lists)
        if len(self._changed) > _MOST_CHANGED:
            self.save()

    def save(self) -> None:
        """Write the lists that were changed."""
        ids, lists = self.ids(), self._changed
        if not lists:
            return
        places = [ids.cell(*each) for each in lists]
        plains = [padded(each.to_bytes()) for each in lists.values()]
        bounds = self._bounds("cell", ((place.hex(), 0) for place in places))
        sealed = self.envelope.seal_all(plains, bounds)
        self.file.run_all(
            "INSERT OR REPLACE INTO cells VALUES (?, ?)", sorted(zip(places, sealed, strict=True))
        )
        self._changed = {}

    def forget(self) -> None:
        """Drop what a transaction kept in memory."""
        self._changed, self._made = {}, {}

    def clear_lists(self) -> None:
        """Drop every cell, before rows are filed anew."""
        self._changed = {}
        self.file.run("DELETE FROM cells")

    # Rows

    def find(self, ids: Iterable[str]) -> dict[str, Member]:
        """The rows that are there, by the ids that the user gave them."""
        found = self.file.among("SELECT number, value FROM members WHERE name IN", self._hidden(ids))
        return {each.id: each for each in self._members(list(found))}

    def members(self, numbers: Iterable[int]) -> dict[int, Member]:
        """The rows that are there, by number."""
        found = self.file.among("SELECT number, value FROM members WHERE number IN", list(numbers))
        return {each.number: each for each in self._members(list(found))}

    def walk(self, size: int) -> Iterator[list[Member]]:
        """Every row, some at a time, in the order they came; not those that come or change meanwhile."""
        last, end = 0, self.settings.next_number
        chosen = "SELECT number, value FROM members WHERE number > ? AND number < ? ORDER BY number LIMIT ?"
        while found := self.file.run(chosen, (last, end, size)):
            yield self._members(found)
            last = found[-1][0]

    def strangers(self, count: int, without: set[int]) -> list[int]:
        """So many other rows drawn at random, or as many as there are."""
        settings = self.settings
        count = min(count, settings.rows - len(without))
        drawn: dict[int, None] = {}
        for _ in range(_TRIES):
            if len(drawn) >= count:
                return list(drawn)[:count]
            words = np.frombuffer(secrets.token_bytes(8 * (32 + 2 * count)), "<u8")
            # In the order they were drawn: whatever comes back first from the file says nothing.
            tried = dict.fromkeys((1 + words % settings.next_number).tolist())
            there = set(self.file.among("SELECT number FROM members WHERE number IN", list(tried)))
            drawn |= {number: None for number in tried if (number,) in there and number not in without}
        # Where most numbers are gone, every row is looked at.
        every = [number for (number,) in self.file.run("SELECT number FROM members") if number not in without]
        return secrets.SystemRandom().sample(every, max(0, min(count, len(every))))

    def save_members(self, members: Sequence[Member]) -> None:
        """Write rows."""
        plains = [
            padded(json.dumps([each.id, each.mark, each.places]).encode().ljust(_LEAST)) for each in members
        ]
        bounds = self._bounds("row", ((str(each.number), each.number) for each in members))
        sealed = self.envelope.seal_all(plains, bounds, self.new_salts(each.number for each in members))
        numbers, names = [each.number for each in members], self._hidden(each.id for each in members)
        values = list(zip(numbers, names, sealed, strict=True))
        self.file.run_all("INSERT OR REPLACE INTO members VALUES (?, ?, ?)", values)

    def drop_members(self, members: Iterable[Member]) -> None:
        """Take rows out."""
        self.file.run_all("DELETE FROM members WHERE number = ?", [(each.number,) for each in members])

    def _members(self, found: list[Any]) -> list[Member]:
        salts = self.salts(number for number, _ in found)
        # A row whose salt is gone was erased, by another client just now or after this copy was made.
        whole = [(*row, salt) for row, salt in zip(found, salts, strict=True) if salt is not None]
        opened = self._opened("row", [(str(number), number, value, salt) for number, value, salt in whole])
        made = []
        for (number, _, _), plain in zip(whole, opened, strict=True):
            name, mark, places = json.loads(unpadded(plain))
            made.append(Member(number, name, mark, tuple((a, b, c) for a, b, c in places)))
        return made

    def _hidden(self, user_ids: Iterable[str]) -> list[bytes]:
        """What users' ids are called here."""
        collection = self.settings.collection
        if self._names is None or self._names[0] != collection:
            self._names = (collection, Prf(self._key.derive("id", self.tenant, collection, "row")))
        prf = self._names[1]
        return [prf(each.encode())[:_NAME_BYTES] for each in user_ids]

    # Codebook

    def codebook(self) -> Codebook | None:
        """The cells, or None while there are none."""
        number = self.settings.codebook
        if not number:
            return None
        if self._codebook is None or self._codebook[0] != (number, self.file.undone):
            ((sealed,),) = self.file.run("SELECT value FROM facts WHERE name = 'codebook'")
            (plain,) = self._opened("codebook", [("", number, sealed, self.salts([number])[0])])
            self._codebook = ((number, self.file.undone), Codebook.from_bytes(plain))
        return self._codebook[1]

    def save_codebook(self, codebook: Codebook) -> None:
        """Write the cells under a salt of their own; the one before goes at the next erasure."""
        (number,) = self.numbers(1)
        (bound,) = self._bounds("codebook", [("", number)])
        sealed = self.envelope.seal(codebook.to_bytes(), bound, self.new_salts([number])[0])
        self.file.run("INSERT OR REPLACE INTO facts VALUES ('codebook', ?)", (sealed,))
        before = self.settings.codebook
        if before:
            self.shred_later([before])
        self.change(codebook=number)

    def cells_left(self) -> set[CellKey]:
        """Cells that still tell of rows which were deleted or replaced."""
        found = self.file.run("SELECT value FROM facts WHERE name = 'left'")
        if not found:
            return set()
        (plain,) = self._opened("left", [("", 0, found[0][0], None)])
        return {(table, cell) for table, cell in json.loads(unpadded(plain))}

    def left_cells(self, cells: set[CellKey]) -> None:
        """Note which cells tell of rows that are gone."""
        (bound,) = self._bounds("left", [("", 0)])
        plain = padded(json.dumps(sorted(cells)).encode().ljust(_LEAST))
        self.file.run("INSERT OR REPLACE INTO facts VALUES ('left', ?)", (self.envelope.seal(plain, bound),))

    # Erasures

    def shred_later(self, numbers: Iterable[int], *, now: bool = False) -> None:
        """Note numbers whose salts are to go, with the next erasure or (`now`) before all else."""
        self.file.run_all("INSERT OR REPLACE INTO erasures VALUES (?, ?)", [(each, now) for each in numbers])

    def to_shred(self) -> list[int]:
        """Numbers whose salts are to go now; those that wait go with them."""
        if not self.file.run("SELECT EXISTS (SELECT 1 FROM erasures WHERE now)")[0][0]:
            return []
        return [number for (number,) in self.file.run("SELECT number FROM erasures ORDER BY number")]

    def shredded(self, numbers: Iterable[int]) -> None:
        """Note that salts are gone."""
        self.file.run_all("DELETE FROM erasures WHERE number = ?", [(each,) for each in numbers])

    def _opened(self, kind: str, values: Sequence[tuple[str, int, bytes, bytes | None]]) -> list[bytes]:
        """Open values of the state, each by its name, version and salt; here a bad one is damage."""
        bounds = self._bounds(kind, ((name, version) for name, version, _, _ in values))
        opened = self.envelope.open_all([each[2] for each in values], bounds, [each[3] for each in values])
        whole = [each for each in opened if each is not None]
        if len(whole) < len(opened):
            raise ArtifactError(
                f"The state in `{self.file.folder}` is damaged: {len(opened) - len(whole)} of its values do "
                "not open. Restore it from a copy."
            )
        return whole
