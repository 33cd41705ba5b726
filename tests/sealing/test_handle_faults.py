"""A store that lies, loses or fails, under every handle: nothing wrong is returned, and it is said."""

from __future__ import annotations

import base64
import shutil

import numpy as np
import pytest

from sfumato.errors import InputError, StoreError
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.handles import HANDLES
from sfumato.stores import Memory
from tests.sealing.collections import contents, metadata, names, notes, sealed

ROWS = 60
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)


@pytest.fixture(params=HANDLES.names())
def handle(request):
    return request.param


@pytest.fixture
def store(handle, tmp_path):
    """A collection small enough that every search looks at all of it."""
    with sealed(tmp_path, handle=handle) as made:
        made.add(IDS, TEXTS, FIELDS)
        yield made


def honest(result):
    """Whatever came back is what was put in."""
    for hit in result.hits:
        assert (hit.text, hit.metadata) == (TEXTS[IDS.index(hit.id)], FIELDS[IDS.index(hit.id)])


def own(store, row):
    """The record that holds a row's vector."""
    return store._client.handle.records(store._client.state.find([IDS[row]])[IDS[row]])[0]


def put(store, name, content):
    """Change a record behind the client's back; its vector and tags stay."""
    rows = store.store.get([name])
    store.store.add([name], rows.vectors, [{**rows.metadata[0], "sealed": content}])


def test_a_changed_record_is_left_out_named_and_the_result_marked(store):
    name = own(store, 7)
    good, number = contents(store.store)[name], store._client.state.find([IDS[7]])[IDS[7]].number
    raw = base64.b64decode(good)
    for bit in range(0, 8 * len(raw), 41):
        flipped = bytearray(raw)
        flipped[bit // 8] ^= 1 << bit % 8
        put(store, name, base64.b64encode(flipped).decode())
        result = store.search(TEXTS[7], 10)
        assert result.faults == (f"a posting of row {number} was changed: it does not open",)
        assert (
            not result.complete and IDS[7] not in [hit.id for hit in result.hits] and len(result.hits) == 10
        )
        honest(result)
    put(store, name, good)
    assert store.search(TEXTS[7], 1).complete


def test_an_omitted_record_shows(store):
    store.store.delete([own(store, 7)])
    result = store.search(TEXTS[7], 10)
    assert not result.complete and len(result.faults) == 1
    honest(result)


def test_records_in_each_others_place_are_refused(store):
    held = contents(store.store)
    first, second = own(store, 7), own(store, 8)
    put(store, first, held[second])
    put(store, second, held[first])
    result = store.search(TEXTS[7], 10)
    assert not result.complete and len(result.faults) == 2
    assert not {IDS[7], IDS[8]} & {hit.id for hit in result.hits}
    honest(result)


def test_a_replayed_record_is_refused(store):
    old = contents(store.store)[own(store, 7)]
    store.update([IDS[7]], [TEXTS[7] + " More."], [FIELDS[7]])
    put(store, own(store, 7), old)
    result = store.search(TEXTS[7], 10)
    assert not result.complete and IDS[7] not in [hit.id for hit in result.hits]


def test_an_older_copy_of_the_store_shows(handle, tmp_path):
    place = tmp_path / "rows"
    with sealed(tmp_path, Memory(place), handle=handle) as store:
        store.add(IDS, TEXTS, FIELDS)
    shutil.copytree(place, tmp_path / "old")
    with sealed(tmp_path, Memory(place)) as store:
        store.delete(IDS[4:6])
    with sealed(tmp_path, Memory(tmp_path / "old")) as store:
        result = store.search(TEXTS[4], 60)
        assert "the store is an older copy: 1 changes are missing in it" in result.faults
        assert not {IDS[4], IDS[5]} & {hit.id for hit in result.hits}


def test_records_of_another_key_are_refused(handle, tmp_path):
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        made.append(sealed(tmp_path / name, Memory(tmp_path / name / "rows"), handle=handle))
        made[-1].add(IDS, TEXTS, FIELDS)
    first, second = made
    put(second, own(second, 7), contents(first.store)[own(first, 7)])
    result = second.search(TEXTS[7], 10)
    assert not result.complete and IDS[7] not in [hit.id for hit in result.hits]
    second.close()
    with pytest.raises(InputError, match="does not open the state"):
        sealed(tmp_path / "b", Memory(tmp_path / "b" / "rows"), key=SealingKey.load(tmp_path / "a" / "key"))
    first.close()


def test_rows_that_a_stranger_put_into_the_store_are_never_returned(store):
    """Among them whole records of the collection under other names, and vectors nearest to every query."""
    rows = store.store.get(list(contents(store.store)))
    before = store.search(TEXTS[7], 10)
    store.store.add([f"{name}x" for name in rows.ids], rows.vectors, rows.metadata)
    result = store.search(TEXTS[7], 10)
    honest(result)
    # Where the store ranks, they take up the places of others, which is told.
    assert result.hits == before.hits or not result.complete


class Lost(Memory):
    """A store whose index leads to no record at all."""

    exact = False
    passes = 0

    def _search(self, vectors, k, allowed):
        return [[] for _ in vectors]

    def _batches(self, size):
        self.passes += 1
        return super()._batches(size)


class Endless(Lost):
    """One that also lists its rows again and again."""

    def _batches(self, size):
        self.passes += 1
        while True:
            yield from Memory._batches(self, size)


class Broken(Lost):
    """One that cannot list its rows, either, or hands over numbers that are none."""

    def _batches(self, size):
        for rows in super()._batches(size):
            if len(rows.ids) == 2:
                raise ConnectionError("hunter2")
            rows.vectors[::2], rows.vectors[1::4] = np.nan, 0.0
            yield rows


@pytest.mark.parametrize("handle", ["codes", "noise"])
def test_a_store_that_lost_its_way_is_read_once_a_query(handle, tmp_path):
    with sealed(tmp_path, Lost(), handle=handle) as store:
        store.add(IDS, TEXTS, FIELDS)
        for row in range(5):
            result = store.search(TEXTS[row], 3)
            assert result.complete and result.hits[0].id == IDS[row] and store.store.passes == row + 1
            honest(result)
        # What waits here is not what the store has to give.
        store._client.buffer = 1000
        store.update([IDS[7]], ["a new text"])
        assert store.waiting and store.search("a new text", 1).hits[0].id == IDS[7]
        result = store.search(TEXTS[9], 60)
        assert result.complete and len(result.hits) == ROWS


@pytest.mark.parametrize("handle", ["codes", "noise"])
def test_a_store_that_lists_for_ever_is_not_read_for_ever(handle, tmp_path):
    with sealed(tmp_path, Endless(), handle=handle) as store:
        store.add(IDS, TEXTS, FIELDS)
        result = store.search(TEXTS[3], 3)
        assert not result.complete and result.hits == [] and store.store.passes == 1
        assert "lists more rows than it says it has" in result.faults[0]
        assert "gave 0 of 60 candidates" in result.faults[1]


@pytest.mark.parametrize("handle", ["codes", "noise"])
@pytest.mark.filterwarnings("error")
def test_what_cannot_be_listed_or_ranked_is_told(handle, tmp_path):
    with sealed(tmp_path, Broken(), handle=handle) as store:
        store.add(IDS, TEXTS, FIELDS)
        result = store.search(TEXTS[3], 3)
        assert not result.complete and "candidates that it was asked for" in result.faults[0]
        honest(result)
        store.store.delete([name for name in contents(store.store)][2:])
        result = store.search(TEXTS[3], 3)
        assert not result.complete and "could not do what was asked" in result.faults[0]
        assert not any("hunter2" in fault for fault in result.faults)


@pytest.mark.parametrize("handle", ["codes", "noise"])
def test_rows_that_wait_do_not_hide_that_the_store_gave_none(handle, tmp_path):
    with sealed(tmp_path, Memory(), handle=handle, probes=5) as store:
        store.add(IDS[:30], TEXTS[:30], FIELDS[:30])
        store._client.buffer = 1000
        store.add(IDS[30:], TEXTS[30:], FIELDS[30:])
        assert store.waiting and store.search(TEXTS[3], 3).complete
        store.store._search = lambda vectors, k, allowed: [[] for _ in vectors]
        result = store.search(TEXTS[3], 3)
        assert not result.complete and "gave 0 of 10 candidates" in result.faults[0]


class Failing(Memory):
    """A store that does only so many things more."""

    left = 10**9

    def _spend(self):
        self.left -= 1
        if self.left < 0:
            raise ConnectionError("hunter2")

    def _add(self, ids, vectors, fields):
        for row in range(0, len(ids), 25):
            self._spend()
            super()._add(ids[row : row + 25], vectors[row : row + 25], fields[row : row + 25])

    def _delete(self, ids):
        self._spend()
        super()._delete(ids)


@pytest.mark.parametrize("left", range(5))
def test_a_store_that_fails_in_the_middle_loses_nothing(left, handle, tmp_path):
    with sealed(tmp_path, Failing(), handle=handle) as store:
        store.add(IDS[:30], TEXTS[:30], FIELDS[:30])
        store.store.left = left
        rows = [*range(20, ROWS)]
        change = ([IDS[row] for row in rows], [TEXTS[row] for row in rows], [FIELDS[row] for row in rows])
        change[1][0] = "a new text"
        failed = False
        try:
            store.add(*change)
        except StoreError as error:
            failed = True
            assert "hunter2" not in str(error)
        assert failed == (left < 4)
        store.store.left = 10**9
        # What was written down before it failed is found, in the store or on the way there.
        assert store.search("a new text", 1).hits[0].text == "a new text" and len(store) == ROWS
        assert store.search(TEXTS[40], 1).hits[0].id == IDS[40]
        store.add(*change)
        store.flush()
        assert store.waiting == 0 and len(store.store) == 2 * ROWS + 1
        assert store.search(TEXTS[25], 60).complete
