"""Shared tags (fallback): one record a row, which the store filters by keyed tags of the row's cells.

For stores without a fast `get`. Rows that share a tag are near to each other, and the store sees which do:
that is geometry, and can be read (docs/sealed.md has the figures).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING

from sfumato.sealing.client.contents import RecordPlace
from sfumato.sealing.handles.base import Allowed, CandidateRecords
from sfumato.sealing.handles.celled import CelledHandle
from sfumato.sealing.handles.multimap import routed
from sfumato.sealing.handles.postings import CUT_OFF, take_slots
from sfumato.sealing.handles.single import row_records, seal_rows
from sfumato.sealing.members import Member, SealedSettings
from sfumato.sealing.multimap import PostingPlace
from sfumato.sealing.records import DressedRecord, travelling
from sfumato.sealing.state import CellKey
from sfumato.stores.base import MOST_HITS
from sfumato.types import Vectors

if TYPE_CHECKING:
    from sfumato.sealing.client.writing import NewRows

_WIDEST = "widest"
"""The setting that says how many tags the row with most of them has."""


class TagHandle(CelledHandle):
    """The store answers which rows have one of some tags; the client knows which they must be."""

    name = "tags"
    sees = (
        "how many rows there are, which of them share cells, which is how near they are to each other, and "
        "which cells a query asks for"
    )

    def file(self, new: NewRows, numbers: Sequence[int], salts: Sequence[bytes]) -> list[list[PostingPlace]]:
        """One record a row, with the tags of its cells in the order of their values, which says nothing."""
        client, ids = self._client, self._client.state.ids()
        tags = [tuple(sorted(ids.tag(*cell) for cell in cells)) for cells in new.places]
        sealed = seal_rows(client, new.vectors, numbers, salts)
        client.outbox.put(
            (name, DressedRecord(content, tags=own).to_bytes())
            for (name, content), own in zip(sealed, tags, strict=True)
        )
        self._widen(max(map(len, tags), default=0))
        return take_slots(client, new.places, numbers)

    def _widen(self, count: int) -> None:
        state = self._client.state
        options = state.settings.options
        if count > options.get(_WIDEST, 0):
            state.change(options={**options, _WIDEST: count})

    def records(self, member: Member) -> list[str]:
        """The row's only record; its cells are but listed by the client."""
        return row_records(self._client, member)

    def candidates(self, vector: Vectors, allowed: Allowed) -> CandidateRecords | None:
        """The rows that have a tag of the nearest cells: a request for each field of tags."""
        client, state = self._client, self._client.state
        with state.file.looking():
            settings, codebook = state.settings, state.codebook()
            if codebook is None or not settings.rows:
                return None
            cells = routed(codebook, settings.probes, vector)
            places, cut = self._expected(settings, cells)
        tags = sorted(state.ids(settings).tag(*cell) for cell in cells)
        found: dict[str, bytes] = {}
        size = 0
        for field in range(settings.options.get(_WIDEST, 0)):
            came = client.records.tagged(field, tags, max(1, len(places)))
            size += sum(travelling(len(each)) for each in came.values())
            found |= came
        # What an index lost on its way, or what waits here, is asked for by id.
        counter = client.generation_place()
        wanted = [counter.id, *(each.id for each in places if each.id not in found)]
        rest = client.outbox.fetch(sorted(wanted))
        size += sum(travelling(len(each)) for each in rest.values())
        found |= rest
        contents = [found.get(each.id) for each in places]
        return CandidateRecords(settings, places, contents, found.get(counter.id), size, [CUT_OFF] * cut)

    def _expected(self, settings: SealedSettings, cells: Sequence[CellKey]) -> tuple[list[RecordPlace], bool]:
        """The rows that the cells hold, each once, those of the nearest cells first; and if some are cut."""
        state, ids = self._client.state, self._client.state.ids(settings)
        lists = state.lists(cells)
        every = iter(
            dict.fromkeys(row for cell in cells if cell in lists for row in lists[cell].rows.values())
        )
        numbers = list(islice(every, MOST_HITS))
        salts = state.salts(numbers)
        places = [
            RecordPlace(ids.row(number), number, salt) for number, salt in zip(numbers, salts, strict=True)
        ]
        return sorted(places, key=lambda each: each.id), next(every, None) is not None
