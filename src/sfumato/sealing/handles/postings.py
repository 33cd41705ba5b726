"""Postings: records of rows in cells, entered into the client's lists, written, and fetched by id."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from sfumato.sealing.client.contents import RecordPlace
from sfumato.sealing.client.session import POSTING, SealedClient
from sfumato.sealing.crypto.packing import pack
from sfumato.sealing.handles.base import CandidateRecords
from sfumato.sealing.members import SealedSettings
from sfumato.sealing.multimap import PostingList, PostingPlace
from sfumato.sealing.records import travelling
from sfumato.sealing.state import CellKey
from sfumato.types import Vectors

MOST_CANDIDATES = 20_000
"""Postings that one search fetches, at most; cells that are further away are cut off."""
CUT_OFF = "the nearest cells hold too many rows: those further away were cut off"


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
    client: SealedClient,
    settings: SealedSettings,
    places: list[RecordPlace],
    faults: list[str],
    *,
    filtered: bool = False,
) -> CandidateRecords:
    """Records asked for by id, with the store's count of changes among them."""
    counter = client.generation_place()
    records = client.outbox.fetch(sorted([counter.id, *(each.id for each in places)]))
    contents = [records.get(each.id) for each in places]
    size = sum(travelling(len(each)) for each in records.values())
    return CandidateRecords(settings, places, contents, records.get(counter.id), size, faults, filtered)


def file_postings(
    client: SealedClient,
    vectors: Vectors,
    places: Sequence[set[CellKey]],
    numbers: Sequence[int],
    salts: Sequence[bytes],
    most: int | None = None,
) -> list[list[PostingPlace]]:
    """Put rows into cells, a posting in each; and the places each of them took."""
    state, settings = client.state, client.state.settings
    ids = state.ids()
    packed = pack(vectors, settings.precision)
    postings: list[RecordPlace] = []
    plains: list[bytes] = []
    taken = take_slots(client, places, numbers, most)
    for row, number in enumerate(numbers):
        for place in taken[row]:
            postings.append(RecordPlace(ids.posting(*place), number, salts[row]))
            plains.append(packed[row])
    sealed = client.sealer(settings.epoch).seal(POSTING, postings, plains)
    client.outbox.put(zip([each.id for each in postings], sealed, strict=True))
    return taken


def take_slots(
    client: SealedClient, places: Sequence[set[CellKey]], numbers: Sequence[int], most: int | None = None
) -> list[list[PostingPlace]]:
    """Enter rows into the client's own lists of cells, as long as those hold fewer than `most`."""
    lists = client.state.lists({place for each in places for place in each})
    taken: list[list[PostingPlace]] = []
    for own, number in zip(places, numbers, strict=True):
        held = [(cell, lists.setdefault(cell, PostingList())) for cell in sorted(own)]
        taken.append(
            [(*cell, each.append(number)) for cell, each in held if most is None or len(each) < most]
        )
    client.state.save_lists(lists)
    return taken


def _postings(
    cells: Sequence[CellKey], rows: Mapping[CellKey, Mapping[int, int]]
) -> Iterator[tuple[CellKey, int, int]]:
    for cell in cells:
        for slot, number in rows.get(cell, {}).items():
            yield cell, slot, number
