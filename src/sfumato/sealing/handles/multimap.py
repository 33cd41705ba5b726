"""The encrypted multimap (default): a query asks for the postings of its cells by ids that repeat nowhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from sfumato.sealing.cells.codebook import Codebook
from sfumato.sealing.client.contents import RecordPlace
from sfumato.sealing.client.session import POSTING, SealedClient
from sfumato.sealing.client.writing import NewRows
from sfumato.sealing.crypto.packing import pack
from sfumato.sealing.handles.base import Allowed, CandidateRecords
from sfumato.sealing.handles.celled import CelledHandle
from sfumato.sealing.multimap import PostingList, PostingPlace
from sfumato.sealing.records import travelling
from sfumato.sealing.state import CellKey, Member, SealedSettings
from sfumato.types import Vectors

MOST_CANDIDATES = 20_000
"""Postings that one search fetches, at most; cells that are further away are cut off."""
CUT_OFF = "the nearest cells hold too many rows: those further away were cut off"


class MultimapHandle(CelledHandle):
    """Each row in each of its cells is a record of its own, at an address used once."""

    name = "multimap"
    sees = (
        "records of a few sizes under ids that repeat nowhere, when they come and go, and which of them a "
        "query asks for"
    )

    def file(self, new: NewRows, numbers: Sequence[int], salts: Sequence[bytes]) -> list[list[PostingPlace]]:
        """One posting for each cell of a row."""
        return file_postings(self._client, new.vectors, new.places, numbers, salts)

    def records(self, member: Member) -> list[str]:
        """Every posting; each of them holds the vector."""
        ids = self._client.state.ids()
        return [ids.posting(*place) for place in member.places]

    def candidates(self, vector: Vectors, allowed: Allowed) -> CandidateRecords | None:
        """The postings of the nearest cells."""
        state = self._client.state
        with state.file.looking():
            settings, codebook = state.settings, state.codebook()
            if codebook is None or not settings.rows:
                return None
            cells = routed(codebook, settings.probes, vector)
            places, cut = posting_places(self._client, settings, cells)
        return fetched(self._client, settings, places, [CUT_OFF] * cut)


def routed(codebook: Codebook, probes: int, vector: Vectors) -> list[CellKey]:
    """The cells nearest to a vector, those of every table first that are nearest."""
    near = codebook.route(vector[None], probes)[0]
    return [(table, int(cell)) for line in near.T for table, cell in enumerate(line)]


def posting_places(
    client: SealedClient, settings: SealedSettings, cells: Sequence[CellKey], most: int = MOST_CANDIDATES
) -> tuple[list[RecordPlace], bool]:
    """Where the postings of cells stand, in the order of ids; and if some are cut off."""
    state, ids = client.state, client.state.ids(settings)
    lists = state.lists(cells)
    every = _postings(cells, {cell: each.rows for cell, each in lists.items()})
    taken = list(islice(every, most))
    salts = state.salts(number for _, _, number in taken)
    places = [
        RecordPlace(ids.posting(*cell, slot), number, salt)
        for (cell, slot, number), salt in zip(taken, salts, strict=True)
    ]
    return sorted(places, key=lambda each: each.id), next(every, None) is not None


def fetched(
    client: SealedClient, settings: SealedSettings, places: list[RecordPlace], faults: list[str]
) -> CandidateRecords:
    """Records asked for by id, with the store's count of changes among them."""
    counter = client.generation_place()
    records = client.outbox.fetch(sorted([counter.id, *(each.id for each in places)]))
    contents = [records.get(each.id) for each in places]
    size = sum(travelling(len(each)) for each in records.values())
    return CandidateRecords(settings, places, contents, records.get(counter.id), size, faults)


def file_postings(
    client: SealedClient,
    vectors: Vectors,
    places: Sequence[set[CellKey]],
    numbers: Sequence[int],
    salts: Sequence[bytes],
) -> list[list[PostingPlace]]:
    """Put rows into cells, a posting in each; and the places each of them took."""
    state, settings = client.state, client.state.settings
    ids = state.ids()
    packed = pack(vectors, settings.precision)
    postings: list[RecordPlace] = []
    plains: list[bytes] = []
    taken = take_slots(client, places, numbers)
    for row, number in enumerate(numbers):
        for place in taken[row]:
            postings.append(RecordPlace(ids.posting(*place), number, salts[row]))
            plains.append(packed[row])
    sealed = client.sealer(settings.epoch).seal(POSTING, postings, plains)
    client.outbox.put(zip([each.id for each in postings], sealed, strict=True))
    return taken


def take_slots(
    client: SealedClient, places: Sequence[set[CellKey]], numbers: Sequence[int]
) -> list[list[PostingPlace]]:
    """Enter rows into the client's own lists of cells; and the places each of them took."""
    lists = client.state.lists({place for each in places for place in each})
    taken: list[list[PostingPlace]] = []
    for own, number in zip(places, numbers, strict=True):
        taken.append(
            [(*cell, lists.setdefault(cell, PostingList()).append(number)) for cell in sorted(own)]
        )
    client.state.save_lists(lists)
    return taken


def _postings(
    cells: Sequence[CellKey], rows: Mapping[CellKey, Mapping[int, int]]
) -> Iterator[tuple[CellKey, int, int]]:
    for cell in cells:
        for slot, number in rows.get(cell, {}).items():
            yield cell, slot, number
