"""Changing a sealed collection: rows in, rows out, each change one transaction of the state, then sent."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.sealing.cells.filing import Place
from sfumato.sealing.client.contents import SealedRow, text_content
from sfumato.sealing.client.session import TEXT, SealedClient
from sfumato.sealing.handles.postings import file_postings
from sfumato.sealing.labels import MOST_ROWS_A_NAME
from sfumato.sealing.members import Member
from sfumato.sealing.state import CellKey
from sfumato.types import Vectors

OnRows = Callable[[int], object]
"""Called with how many rows were just sealed."""
_AT_ONCE = 2048
_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True)


@dataclass(frozen=True, slots=True, eq=False)
class NewRows:
    """Rows to file: what is sealed of each, its vector, its cells, and its digest."""

    rows: Sequence[SealedRow]
    vectors: Vectors
    """`[n, d]`"""
    places: Sequence[set[Place]]
    marks: Sequence[str]

    def part(self, start: int, stop: int) -> NewRows:
        """Some of the rows."""
        cut = slice(start, stop)
        return NewRows(self.rows[cut], self.vectors[cut], self.places[cut], self.marks[cut])


def marks_of(key: bytes, rows: Sequence[SealedRow], vectors: Any) -> list[str]:
    """A keyed digest of each row and of the vector that was given with it, if one was."""
    given = [b""] * len(rows) if vectors is None else [np.asarray(each, "<f4").tobytes() for each in vectors]
    return [
        hmac.digest(key, _mark_text(row) + vector, "sha256")[:16].hex()
        for row, vector in zip(rows, given, strict=True)
    ]


def _mark_text(row: SealedRow) -> bytes:
    text = _JSON.encode([row.id, row.text, row.metadata]).encode()
    return len(text).to_bytes(8, "big") + text


def insert(client: SealedClient, new: NewRows, on_rows: OnRows | None = None) -> None:
    """File new rows; inside a transaction."""
    for start in range(0, len(new.rows), _AT_ONCE):
        part = new.part(start, start + _AT_ONCE)
        numbers = client.state.numbers(len(part.rows))
        file_rows(client, part, list(numbers))
        if on_rows is not None:
            on_rows(len(part.rows))
    client.state.change(rows=client.state.settings.rows + len(new.rows))


def file_rows(client: SealedClient, new: NewRows, numbers: list[int]) -> None:
    """Seal rows under numbers that are theirs, as the handle has them found; inside a transaction."""
    state = client.state
    salts = state.new_salts(numbers)
    taken = client.handle.file(new, numbers, salts)
    if client.names is not None:
        cells = client.names.cells([row.text for row in new.rows])
        named = file_postings(client, new.vectors, cells, numbers, salts, MOST_ROWS_A_NAME)
        taken = [own + found for own, found in zip(taken, named, strict=True)]
    texts = client.text_places(numbers)
    contents = [text_content(row) for row in new.rows]
    sealed = client.sealer(state.settings.epoch).seal(TEXT, texts, contents)
    client.outbox.put(zip([each.id for each in texts], sealed, strict=True))
    rows = zip(numbers, new.rows, new.marks, taken, strict=True)
    state.save_members([Member(number, row.id, mark, tuple(places)) for number, row, mark, places in rows])


def withdraw(client: SealedClient, members: Sequence[Member]) -> None:
    """Take rows out of the state, and have their records deleted; inside a transaction."""
    state = client.state
    for start in range(0, len(members), _AT_ONCE):
        part = members[start : start + _AT_ONCE]
        client.outbox.remove(record_ids(client, part))
        slots: dict[CellKey, list[int]] = {}
        for table, cell, slot in (place for each in part for place in each.places):
            slots.setdefault((table, cell), []).append(slot)
        lists = state.lists(slots)
        for each, gone in slots.items():
            lists[each].remove(gone)
        state.save_lists(lists)
        state.left_cells(state.cells_left() | set(slots))
        state.drop_members(part)
        state.shred_later(each.number for each in part)
    state.change(rows=state.settings.rows - len(members))


def record_ids(client: SealedClient, members: Iterable[Member]) -> list[str]:
    """The ids of all records that rows have in the store."""
    ids, listed = client.state.ids(), list(members)
    found = [name for each in listed for name in client.handle.records(each)]
    return found + [ids.text(each.number) for each in listed]


def require_all(ids: Sequence[str], found: dict[str, Member]) -> None:
    """Refuse ids that are not in the collection, by their row."""
    absent = next((row for row, each in enumerate(ids) if each not in found), None)
    if absent is not None:
        raise InputError(f"Row {absent} of `ids` must be in the collection. It is not: add it first.")
