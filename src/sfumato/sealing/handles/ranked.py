"""What handles share that let the store rank: a vector that says less than the row's own, ranked again here.

The store is asked for so many rows by a vector of its own space; the client opens all of them and ranks by
the exact vectors. A store that ranks can leave a row out unseen, as long as it hands over as many as were
asked for: what it does hand over is checked, and deleted or foreign rows are left out. No other record is as
near as any row, so where rows are missing an approximate index lost its way, and every record is looked at,
once a query.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import unit
from sfumato.sealing.cells.filing import Place
from sfumato.sealing.cells.measuring import QUERIES, Oversampling, drawn
from sfumato.sealing.cells.ranking import fewest_ranked
from sfumato.sealing.client.cells import FEW_ROWS, LearnedCells, Learning
from sfumato.sealing.client.contents import RecordPlace
from sfumato.sealing.handles.base import Allowed, CandidateRecords, Handle
from sfumato.sealing.handles.single import row_records, seal_rows
from sfumato.sealing.members import Member, SealedSettings
from sfumato.sealing.multimap import PostingPlace
from sfumato.sealing.records import LAYOUT, NEWEST_LAYOUT, DressedRecord, travelling
from sfumato.stores.base import MOST_HITS, StoreError
from sfumato.types import Vectors

if TYPE_CHECKING:
    from sfumato.sealing.client.writing import NewRows

_TOO_FEW = "the store gave {} of {} candidates that it was asked for"


class RankedHandle(Handle):
    """One record a row, with a vector that the store ranks."""

    @classmethod
    def options(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Where records stand."""
        return {LAYOUT: NEWEST_LAYOUT}

    def renewed(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The same, and where records stand now."""
        return {**options, LAYOUT: NEWEST_LAYOUT}

    @abstractmethod
    def shown(self, texts: Sequence[str], vectors: Vectors) -> Vectors:
        """`[n, h]` what the store sees of rows, at unit length."""

    @abstractmethod
    def asked(self, vectors: Vectors) -> Vectors:
        """`[n, h]` what the store sees of queries, at unit length."""

    def learn(self, texts: Sequence[str], vectors: Vectors) -> LearnedCells:
        """How many candidates a query asks for: measured on these rows, or all of them where they are few."""
        settings = self._client.state.settings
        places: list[set[Place]] = [set() for _ in texts]
        if settings.asked_probes:
            return LearnedCells(None, places, settings.asked_probes)
        if len(texts) <= FEW_ROWS:
            return LearnedCells(None, places, FEW_ROWS)
        found = self._measured(texts, vectors)
        return LearnedCells(None, places, found.probes, found)

    def _measured(self, texts: Sequence[str], vectors: Vectors) -> Oversampling:
        """The fewest candidates that keep what was asked, with searches for sentences of the rows."""
        client, settings = self._client, self._client.state.settings
        chosen = np.sort(generator().choice(len(texts), min(QUERIES, len(texts)), replace=False))
        rows = Learning.of(settings).filed(client, [texts[row] for row in chosen], vectors[chosen])
        drawn_from, own = drawn(rows, len(chosen))
        queries = rows.vectors[drawn_from]
        return fewest_ranked(
            vectors, self.shown(texts, vectors), queries, self.asked(queries), settings.keep,
            own=chosen[own], alone=drawn_from < len(chosen),
            record_bytes=client.posting_bytes(vectors.shape[1]), most=MOST_HITS,
        )  # fmt: skip

    def places(self, texts: Sequence[str], vectors: Vectors) -> list[set[Place]]:
        """There are no cells."""
        return [set() for _ in texts]

    def file(self, new: NewRows, numbers: Sequence[int], salts: Sequence[bytes]) -> list[list[PostingPlace]]:
        """One record a row, with the vector that the store ranks."""
        shown = self.shown([row.text for row in new.rows], new.vectors)
        self._client.outbox.put(
            (name, DressedRecord(content, vector).to_bytes())
            for (name, content), vector in zip(
                seal_rows(self._client, new.vectors, numbers, salts), shown, strict=True
            )
        )
        return [[] for _ in numbers]

    def records(self, member: Member) -> list[str]:
        """The row's only record."""
        return row_records(self._client, member)

    def candidates(self, vector: Vectors, allowed: Allowed) -> CandidateRecords | None:
        """The rows that the store ranks first, and those that wait here and would be among them."""
        client, state = self._client, self._client.state
        settings = state.settings
        if not settings.probes or not settings.rows:
            return None
        count = candidate_count(settings)
        asked = self.asked(vector[None])[0]
        waiting = client.outbox.ranked()
        found, size, faults = self._ranked(settings, asked, count, settings.rows - len(waiting))
        near = sorted(waiting, key=lambda name: -float(waiting[name].vector @ asked))[:count]
        found |= {name: waiting[name].content for name in near}
        counter = client.generation_place()
        counted = client.outbox.fetch([counter.id])
        size += _size(counted)
        places, contents = self._known(settings, found)
        if len(places) < count and not faults:
            faults.append(_TOO_FEW.format(len(places), count))
        return CandidateRecords(settings, places, contents, counted.get(counter.id), size, faults)

    def _ranked(
        self, settings: SealedSettings, asked: Vectors, count: int, there: int
    ) -> tuple[dict[str, bytes], int, list[str]]:
        """What a store with `there` rows or more ranks first, the bytes that came, and what is amiss."""
        records, wanted = self._client.records, min(count, there)
        # What is yet to be deleted there takes up places.
        most = min(count + self._client.outbox.deleting, MOST_HITS)
        found = records.search(asked, most)
        size, faults = _size(found), []
        if len(self._numbers(settings, found)) < wanted and not records.store.exact:
            try:
                found = records.search(asked, most, every=True)
                size += _size(found)
            except StoreError as error:
                faults.append(f"the store's index lost rows, and not every record was looked at: {error}")
        given = len(self._numbers(settings, found))
        if given < wanted:
            faults.append(_TOO_FEW.format(given, wanted))
        return found, size, faults

    def _known(
        self, settings: SealedSettings, found: dict[str, bytes]
    ) -> tuple[list[RecordPlace], list[bytes | None]]:
        """Those of the records that are rows of the collection now, with what opens them."""
        named = list(self._numbers(settings, found).items())
        salts = self._client.state.salts(number for _, number in named)
        places = [RecordPlace(*each, salt) for each, salt in zip(named, salts, strict=True)]
        return places, [found[name] for name, _ in named]

    def _numbers(self, settings: SealedSettings, found: Iterable[str]) -> dict[str, int]:
        """The numbers of those of the records that are rows of the collection now."""
        state, ids = self._client.state, self._client.state.ids(settings)
        numbers = {name: number for name in found if (number := ids.number(name)) is not None}
        chosen = "SELECT number FROM members WHERE number IN"
        there = {number for (number,) in state.file.among(chosen, list(numbers.values()))}
        return {name: number for name, number in numbers.items() if number in there}


def _size(records: Mapping[str, bytes]) -> int:
    """Bytes of records as they travel."""
    return sum(travelling(len(each)) for each in records.values())


def candidate_count(settings: SealedSettings) -> int:
    """How many candidates a query asks for: what was measured, grown with the collection."""
    grown = math.ceil(settings.probes * max(1.0, settings.rows / max(settings.learned, 1)))
    return min(grown, settings.rows, MOST_HITS)


def at_unit_length(vectors: Vectors) -> Vectors:
    """The vectors at length 1; a row of zeros, which no store takes, points somewhere."""
    made = unit(vectors).copy()
    made[~made.any(axis=1), 0] = 1.0
    return made
