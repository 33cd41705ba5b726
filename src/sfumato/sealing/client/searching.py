"""Searching a sealed collection: the same number of cells and of rounds whatever is asked and found.

First round: what the handle finds, such as the postings of a fixed number of cells, all opened before
anything is decided, ranked by exact cosine. Second round: the texts of the best, among those of rows drawn at
random, always 32 or a multiple that depends on `k` alone. What is bad or missing is left out, named, and the
result marked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from sfumato.errors import InputError
from sfumato.sealing.cells.codebook import unit
from sfumato.sealing.client.contents import RecordPlace, SealedHit, SealedResult, SealedRow, read_text
from sfumato.sealing.client.session import POSTING, TEXT, SealedClient
from sfumato.sealing.crypto.packing import unpack
from sfumato.sealing.handles.base import CandidateRecords
from sfumato.sealing.handles.postings import fetched, posting_places
from sfumato.sealing.labels import MOST_ROWS_A_NAME
from sfumato.sealing.members import SealedSettings
from sfumato.sealing.records import travelling
from sfumato.stores.rows import Scalar, matches
from sfumato.types import Vectors

TEXTS_A_ROUND = 32
FILTERED_TEXTS = 256
"""Texts that a search with a filter looks at: the best ones, since metadata is sealed with the text."""
_TRIES = 4
_FULL = f"only the first {MOST_ROWS_A_NAME} rows that hold one value are filed under it"


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
        return self.among(lambda: self._client.handle.candidates(vector, allowed), vector, k, allowed)

    def named(
        self, name: str, vector: Vectors | None, k: int, allowed: Mapping[str, list[Scalar]]
    ) -> SealedResult:
        """Rows in which a value was found, those nearest to a vector first."""
        client = self._client
        if client.names is None:
            raise InputError("The collection was made without `names`, so no value can be searched for.")
        cell = client.names.cell(name)

        def filed() -> CandidateRecords:
            with client.state.file.looking():
                settings = client.state.settings
                places, _ = posting_places(client, settings, [cell])
            full = [_FULL] if len(places) >= MOST_ROWS_A_NAME else []
            return fetched(client, settings, places, full)

        return self.among(filed, vector, k, allowed)

    def among(
        self,
        candidates: Callable[[], CandidateRecords | None],
        vector: Vectors | None,
        k: int,
        allowed: Mapping[str, list[Scalar]],
    ) -> SealedResult:
        """The k rows of some candidates that are nearest to a vector, if there is one, and pass a filter."""
        for _ in range(_TRIES - 1):
            before = self._client.state.file.moment()
            result = self._once(candidates(), vector, k, allowed)
            if result.complete or self._client.state.file.moment() == before:
                return result
        return self._once(candidates(), vector, k, allowed)

    def _once(
        self,
        came: CandidateRecords | None,
        vector: Vectors | None,
        k: int,
        allowed: Mapping[str, list[Scalar]],
    ) -> SealedResult:
        if came is None:
            return SealedResult([], True)
        found = _Found(list(came.faults))
        scores = self._ranked(came, vector, found)
        wanted = max(k, FILTERED_TEXTS) if allowed and not came.filtered else k
        best = dict(islice(scores.items(), wanted))
        rows, asked = self._texts(list(best), wanted, came.settings, found)
        hits = [
            SealedHit(row.id, best[number], row.text, row.metadata)
            for number, row in rows.items()
            if matches(row.metadata, allowed)
        ]
        return SealedResult(
            hits[:k], not found.faults, tuple(found.faults), found.candidates, asked, found.bytes
        )

    def _ranked(self, came: CandidateRecords, vector: Vectors | None, found: _Found) -> dict[int, float]:
        """The cosine of every row that was fetched, the nearest first; 0 where nothing is looked for."""
        client, settings, places = self._client, came.settings, came.places
        opened = client.sealer(settings.epoch).open(POSTING, places, came.contents)
        self._check_generation(client.generation(came.counter), settings, found)
        _note(places, came.contents, opened, "posting", found)
        found.candidates = len(places)
        found.bytes += came.bytes
        good = [row for row, each in enumerate(opened) if each is not None]
        if not good:
            return {}
        numbers = np.array([places[row].number for row in good])
        cosines = np.zeros(len(good), np.float32)
        if vector is not None:
            vectors = unpack([opened[row] or b"" for row in good], settings.dim, settings.precision)
            cosines = unit(vectors) @ unit(vector[None])[0]
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
