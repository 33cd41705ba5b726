"""Searching a sealed collection: the same number of cells and of rounds whatever is asked and found.

First round: the postings of a fixed number of cells, all opened before anything is decided, ranked by exact
cosine. Second round: the texts of the best, among those of rows drawn at random, always 32 or a multiple that
depends on `k` alone. What is bad or missing is left out, named, and the result marked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.sealing.client.contents import RecordPlace, SealedHit, SealedResult, SealedRow, read_text
from sfumato.sealing.client.session import POSTING, TEXT, SealedClient
from sfumato.sealing.crypto.packing import unpack
from sfumato.sealing.records import travelling
from sfumato.sealing.state import SealedSettings
from sfumato.stores.rows import Scalar, matches
from sfumato.types import Vectors

TEXTS_A_ROUND = 32
FILTERED_TEXTS = 256
"""Texts that a search with a filter looks at: the best ones, since metadata is sealed with the text."""
MOST_CANDIDATES = 20_000
"""Postings that one search fetches, at most; cells that are further away are cut off."""
_TRIES = 4


@dataclass(slots=True)
class _Found:
    """What a search has so far."""

    faults: list[str]
    bytes: int = 0
    candidates: int = 0


class RowSearch:
    """Finds the rows nearest to a vector."""

    def __init__(self, client: SealedClient) -> None:
        self._client = client

    def search(self, vector: Vectors, k: int, allowed: Mapping[str, list[Scalar]]) -> SealedResult:
        """The k nearest rows that pass a filter; looked for again if the collection changed meanwhile."""
        for _ in range(_TRIES - 1):
            before = self._client.state.file.moment()
            result = self._once(vector, k, allowed)
            if result.complete or self._client.state.file.moment() == before:
                return result
        return self._once(vector, k, allowed)

    def _once(self, vector: Vectors, k: int, allowed: Mapping[str, list[Scalar]]) -> SealedResult:
        state = self._client.state
        with state.file.looking():
            settings, codebook = state.settings, state.codebook()
            if codebook is None or not settings.rows:
                return SealedResult([], True)
            places, cut = self._places(codebook, settings, vector)
        found = _Found(["the nearest cells hold too many rows: those further away were cut off"] * cut)
        scores = self._ranked(places, settings, vector, found)
        wanted = max(k, FILTERED_TEXTS) if allowed else k
        best = dict(islice(scores.items(), wanted))
        rows, fetched = self._texts(list(best), wanted, settings, found)
        hits = [
            SealedHit(row.id, best[number], row.text, row.metadata)
            for number, row in rows.items()
            if matches(row.metadata, allowed)
        ]
        return SealedResult(
            hits[:k], not found.faults, tuple(found.faults), found.candidates, fetched, found.bytes
        )

    def _places(
        self, codebook: Codebook, settings: SealedSettings, vector: Vectors
    ) -> tuple[list[RecordPlace], bool]:
        """Where the postings of the nearest cells stand, in the order of ids; and if some are cut off."""
        state, ids = self._client.state, self._client.state.ids(settings)
        routed = codebook.route(vector[None], settings.probes)[0]
        # The nearest cells of every table first, so that what is cut off is furthest away.
        cells = [(table, int(cell)) for near in routed.T for table, cell in enumerate(near)]
        lists = state.lists(cells)
        every = _postings(cells, {cell: each.rows for cell, each in lists.items()})
        taken = list(islice(every, MOST_CANDIDATES))
        salts = state.salts(number for _, _, number in taken)
        places = [
            RecordPlace(ids.posting(*cell, slot), number, salt)
            for (cell, slot, number), salt in zip(taken, salts, strict=True)
        ]
        return sorted(places, key=lambda each: each.id), next(every, None) is not None

    def _ranked(
        self, places: list[RecordPlace], settings: SealedSettings, vector: Vectors, found: _Found
    ) -> dict[int, float]:
        """The cosine of every row that was fetched, the nearest first."""
        client = self._client
        counter = client.generation_place()
        records = client.outbox.fetch(sorted([counter.id, *(each.id for each in places)]))
        contents = [records.get(each.id) for each in places]
        opened = client.sealer(settings.epoch).open(POSTING, places, contents)
        self._check_generation(client.generation(records.get(counter.id)), settings, found)
        _note(places, contents, opened, "posting", found)
        found.candidates = len(places)
        found.bytes += sum(travelling(len(each)) for each in records.values())
        good = [row for row, each in enumerate(opened) if each is not None]
        if not good:
            return {}
        vectors = unpack([opened[row] or b"" for row in good], settings.dim, settings.precision)
        cosines = unit(vectors) @ unit(vector[None])[0]
        numbers = np.array([places[row].number for row in good])
        order = np.lexsort((numbers, -cosines))
        ranked: dict[int, float] = {}
        for at in order:
            ranked.setdefault(int(numbers[at]), float(cosines[at]))
        return ranked

    def _texts(
        self, best: list[int], wanted: int, settings: SealedSettings, found: _Found
    ) -> tuple[dict[int, SealedRow], int]:
        """The rows with these numbers, asked for among others; and how many were asked for."""
        client = self._client
        count = TEXTS_A_ROUND * -(-wanted // TEXTS_A_ROUND)
        numbers = [*best, *client.state.strangers(count - len(best), set(best))]
        places = sorted(client.text_places(numbers), key=lambda each: each.id)
        records: dict[str, bytes] = {}
        for start in range(0, len(places), TEXTS_A_ROUND):
            records |= client.outbox.fetch([each.id for each in places[start : start + TEXTS_A_ROUND]])
        contents = [records.get(each.id) for each in places]
        opened = client.sealer(settings.epoch).open(TEXT, places, contents)
        _note(places, contents, opened, "text", found)
        found.bytes += sum(travelling(len(each)) for each in records.values())
        rows = {place.number: read_text(plain) for place, plain in zip(places, opened, strict=True)}
        return {number: row for number in best if (row := rows[number]) is not None}, len(places)

    def _check_generation(self, stored: int | None, settings: SealedSettings, found: _Found) -> None:
        if stored is None:
            found.faults.append("the store's count of changes is missing or does not open")
        elif stored < settings.generation:
            found.faults.append(
                f"the store is an older copy: {settings.generation - stored} changes are missing in it"
            )
        elif stored > settings.generation:
            found.faults.append(
                f"the state is an older copy: it does not know of {stored - settings.generation} changes"
            )


def _postings(
    cells: list[tuple[int, int]], rows: Mapping[tuple[int, int], Mapping[int, int]]
) -> Iterator[tuple[tuple[int, int], int, int]]:
    for cell in cells:
        for slot, number in rows.get(cell, {}).items():
            yield cell, slot, number


def _note(
    places: list[RecordPlace],
    contents: list[bytes | None],
    opened: list[bytes | None],
    what: str,
    found: _Found,
) -> None:
    """Name what is missing or refused, once all of it was opened."""
    for place, content, plain in zip(places, contents, opened, strict=True):
        if plain is None:
            said = "is missing" if content is None else "was changed: it does not open"
            found.faults.append(f"a {what} of row {place.number} {said}")
