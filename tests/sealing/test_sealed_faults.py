"""A store that lies, loses or fails: nothing wrong is ever returned, and what is missing is said."""

from __future__ import annotations

import base64
import shutil
import threading

import pytest

from sfumato.errors import ArtifactError, InputError, StoreError
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.records import Records
from sfumato.stores import Memory
from tests.sealing.collections import Failing, contents, metadata, names, notes, overwrite, sealed

ROWS = 60
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)


@pytest.fixture
def store(tmp_path):
    """A collection small enough that every search looks at all of it."""
    with sealed(tmp_path) as made:
        made.add(IDS, TEXTS, FIELDS)
        yield made


def honest(result, texts=TEXTS):
    """Whatever came back is what was put in."""
    for hit in result.hits:
        assert (hit.text, hit.metadata) == (texts[IDS.index(hit.id)], FIELDS[IDS.index(hit.id)])


def place_of(store, row, kind):
    """The record of a row in the store."""
    member = store._client.state.find([IDS[row]])[IDS[row]]
    ids = store._client.state.ids()
    return ids.text(member.number) if kind == "text" else ids.posting(*member.places[0])


def flipped(content, bit):
    raw = bytearray(base64.b64decode(content))
    raw[bit // 8] ^= 1 << bit % 8
    return base64.b64encode(raw).decode()


@pytest.mark.parametrize("kind", ["posting", "text"])
def test_a_changed_record_is_left_out_named_and_the_result_marked(store, kind):
    name = place_of(store, 7, kind)
    good = contents(store.store)[name]
    number = store._client.state.find([IDS[7]])[IDS[7]].number
    for bit in range(0, 8 * len(base64.b64decode(good)), 97):
        overwrite(store.store, name, flipped(good, bit))
        result = store.search(TEXTS[7], 10)
        assert not result.complete and IDS[7] not in [hit.id for hit in result.hits]
        assert result.faults == (f"a {kind} of row {number} was changed: it does not open",)
        assert len(result.hits) == (10 if kind == "posting" else 9)
        honest(result)
    overwrite(store.store, name, good)
    assert store.search(TEXTS[7], 1).hits[0].id == IDS[7] and store.search(TEXTS[7], 1).complete


@pytest.mark.parametrize("kind", ["posting", "text"])
def test_an_omitted_record_shows(store, kind):
    store.store.delete([place_of(store, 7, kind)])
    result = store.search(TEXTS[7], 10)
    assert not result.complete and len(result.faults) == 1 and "is missing" in result.faults[0]
    honest(result)


@pytest.mark.parametrize("kind", ["posting", "text"])
def test_records_in_each_others_place_are_refused(store, kind):
    first, second = place_of(store, 7, kind), place_of(store, 8, kind)
    held = contents(store.store)
    overwrite(store.store, first, held[second])
    overwrite(store.store, second, held[first])
    result = store.search(TEXTS[7], 10)
    assert not result.complete and not {IDS[7], IDS[8]} & {hit.id for hit in result.hits[:1]}
    honest(result)


def test_an_answer_in_another_order_changes_nothing(store, monkeypatch):
    wanted = store.search(TEXTS[7], 10)
    get = Records.get
    monkeypatch.setattr(Records, "get", lambda self, ids: dict(reversed(get(self, ids).items())))
    assert store.search(TEXTS[7], 10).hits == wanted.hits


def test_answers_to_other_questions_are_refused(store, monkeypatch):
    """Every id is answered with another record of the store, all of them whole."""
    held = list(contents(store.store).values())
    get = Records.get

    def answered(self, ids):
        found = get(self, ids)
        return {name: base64.b64decode(held[at]) for at, name in enumerate(found)}

    monkeypatch.setattr(Records, "get", answered)
    result = store.search(TEXTS[7], 10)
    assert not result.complete and len(result.faults) > 50
    honest(result)


def test_a_replayed_record_of_an_older_row_is_refused(store):
    old = contents(store.store)[place_of(store, 7, "text")]
    store.update([IDS[7]], ["a new text"], [FIELDS[7]])
    overwrite(store.store, place_of(store, 7, "text"), old)
    result = store.search("a new text", 1)
    assert not result.complete and result.hits == []
    with pytest.raises(ArtifactError, match="1 of them are missing"):
        store.get([IDS[7]])


def test_an_older_copy_of_the_store_shows_at_the_next_query(tmp_path):
    place = tmp_path / "rows"
    with sealed(tmp_path, Memory(place)) as store:
        store.add(IDS, TEXTS, FIELDS)
    shutil.copytree(place, tmp_path / "old")
    with sealed(tmp_path, Memory(place)) as store:
        store.update([IDS[3]], ["a new text"], [FIELDS[3]])
        store.delete(IDS[4:6])
    with sealed(tmp_path, Memory(tmp_path / "old")) as store:
        result = store.search(TEXTS[30], 5)
        assert not result.complete
        assert "the store is an older copy: 2 changes are missing in it" in result.faults
        assert not {IDS[4], IDS[5]} & {hit.id for hit in store.search(TEXTS[4], 60).hits}


def test_an_older_copy_of_the_state_is_not_written_with(tmp_path):
    rows = Memory(tmp_path / "rows")
    with sealed(tmp_path, rows) as store:
        store.add(IDS[:40], TEXTS[:40], FIELDS[:40])
    shutil.copytree(tmp_path / "state", tmp_path / "copy")
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        store.add(IDS[40:], TEXTS[40:], FIELDS[40:])
    shutil.rmtree(tmp_path / "state")
    shutil.copytree(tmp_path / "copy", tmp_path / "state")
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        result = store.search(TEXTS[3], 1)
        assert result.hits[0].id == IDS[3] and not result.complete
        assert result.faults == ("the state is an older copy: it does not know of 1 changes",)
        for attempt in (
            lambda: store.add(["x"], ["y"]),
            lambda: store.delete(IDS[:1]),
            lambda: store.erase(IDS[:1]),
            store.relearn,
        ):
            with pytest.raises(InputError, match="older than the collection"):
                attempt()
        held = len(store.store)
    assert held == len(Memory(tmp_path / "rows"))


@pytest.mark.parametrize("left", range(8))
def test_a_store_that_fails_in_the_middle_loses_nothing(left, tmp_path):
    with sealed(tmp_path, Failing()) as store:
        store.add(IDS[:30], TEXTS[:30], FIELDS[:30])
        store.store.left = left
        rows = [*range(20, ROWS)]
        change = ([IDS[row] for row in rows], [f"new {TEXTS[row]}" for row in rows])
        try:
            store.add(*change)
            failed = False
        except StoreError as error:
            failed = True
            assert "hunter2" not in str(error) and "\n" not in str(error)
        assert failed == (left < 6)
        store.store.left = 10**9
        # What was written down before it failed is found, in the store or on the way there.
        there = {row.id: row.text for part in store.iterate() for row in part}
        done = len(store) == ROWS
        assert done == (left > 0) and len(there) == (ROWS if done else 30)
        assert store.search(TEXTS[25], 60).complete
        store.add(*change)
        assert len(store) == ROWS and store.waiting == 0
        assert [row.text for row in store.get([IDS[0], IDS[59]])] == [TEXTS[0], f"new {TEXTS[59]}"]
        assert len(contents(store.store)) == 2 * ROWS + 1


def test_a_row_that_is_erased_is_gone_from_older_copies_of_the_state(tmp_path):
    with sealed(tmp_path) as store:
        store.add(IDS, TEXTS, FIELDS)
        number = store._client.state.find([IDS[7]])[IDS[7]].number
        store._client.state.shredder.shred([str(number)])
        assert store.get([IDS[7], IDS[8]]) == store.get([IDS[8]])
        assert IDS[7] not in [row.id for part in store.iterate() for row in part]
        result = store.search(TEXTS[7], 10)
        assert not result.complete and IDS[7] not in [hit.id for hit in result.hits]


def test_rows_that_another_client_deletes_meanwhile_are_not_missed(tmp_path):
    rows = Memory()
    with sealed(tmp_path, rows) as one, sealed(tmp_path, rows) as two:
        one.add(IDS, TEXTS, FIELDS)
        fetch = one._client.outbox.fetch
        one._client.outbox.fetch = lambda ids: (two.delete(IDS[:5]), fetch(ids))[1]
        assert [row.id for part in one.iterate(30) for row in part] == IDS[5:]
        assert one.get(IDS[3:8]) == one.get(IDS[5:8])
        assert [row.id for part, _ in one._client.rows(100, "Reading") for row in part] == IDS[5:]
        store = one.store
        store.delete([place_of(one, 9, "text")])
        with pytest.raises(ArtifactError, match="1 of them are missing"):
            list(one.iterate())


def test_records_of_another_collection_of_the_same_key_are_refused(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    key = SealingKey.create(tmp_path / "key")
    with sealed(tmp_path / "a", key=key) as first, sealed(tmp_path / "b", key=key) as second:
        first.add(IDS, TEXTS, FIELDS)
        second.add(IDS, TEXTS, FIELDS)
        held = contents(first.store)
        assert not set(held) & set(contents(second.store))
        name = place_of(second, 7, "text")
        overwrite(second.store, name, held[place_of(first, 7, "text")])
        assert not second.search(TEXTS[7], 1).complete and second.search(TEXTS[7], 1).hits == []


def test_a_damaged_state_is_refused(tmp_path):
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        store.add(IDS, TEXTS, FIELDS)
        file = store._client.state.file
        ((number, value),) = file.run("SELECT number, value FROM members ORDER BY number LIMIT 1")
        file.run("UPDATE members SET value = ? WHERE number = ?", (value[:-1] + b"x", number))
        with pytest.raises(ArtifactError, match="damaged"):
            store.get(IDS[:1])
        assert store.get(IDS[1:2])[0].text == TEXTS[1]


def test_erased_rows_open_nowhere_any_more(tmp_path):
    """With the key, an old copy of the store, of the database and of the salts: nothing of the row opens."""
    rows = Memory(tmp_path / "rows")
    with sealed(tmp_path, rows) as store:
        store.add(IDS, TEXTS, FIELDS)
        store.flush()
    shutil.copytree(tmp_path / "rows", tmp_path / "old rows")
    shutil.copytree(tmp_path / "state", tmp_path / "old state")
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        centroids = [each.copy() for each in store._client.state.codebook().centroids]
        record = store.erase([IDS[7], "absent"])
        assert record is not None and record.old_root != record.new_root
        assert len(store) == ROWS - 1 and store.get([IDS[7]]) == [] and store.search(TEXTS[7], 60).complete
        assert store.delete([IDS[7]]) == 0 and store.erase([IDS[7]]) is None
        # The cell that it was filed under is another one.
        assert (store._client.state.codebook().centroids[0] != centroids[0]).any()
    # The thief has everything old but the root, which was destroyed.
    for file in (tmp_path / "old state").glob("shred-root-*"):
        file.unlink()
    for file in (tmp_path / "state").glob("shred-root-*"):
        shutil.copy(file, tmp_path / "old state")
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "old state").rename(tmp_path / "state")
    with pytest.raises((ArtifactError, InputError)):
        sealed(tmp_path, Memory(tmp_path / "old rows")).get([IDS[7]])


def test_an_erased_rows_records_need_the_salt_and_not_only_the_key(tmp_path):
    with sealed(tmp_path) as store:
        store.add(IDS, TEXTS, FIELDS)
        before = contents(store.store)
        names_of = [place_of(store, 7, "text"), place_of(store, 7, "posting")]
        member = store._client.state.find([IDS[7]])[IDS[7]]
        store.erase([IDS[7]])
        assert not set(names_of) & set(contents(store.store))
        # The old records and the old row of the database are put back; the salts are the present ones.
        vectors = store.store.get(list(contents(store.store))[:1]).vectors
        for name in names_of:
            store.store.add([name], vectors, [{"sealed": before[name]}])
        assert store._client.texts([member.number]) == [None]
        assert store._client.vectors([member])[1] == [member.number]


def test_erasing_takes_along_what_was_replaced_before(tmp_path):
    with sealed(tmp_path) as store:
        store.add(IDS, TEXTS, FIELDS)
        old = store._client.state.find([IDS[7]])[IDS[7]].number
        store.update([IDS[7]], ["another text"])
        assert store._client.state.salts([old]) != [None]
        record = store.erase([IDS[8]])
        assert store._client.state.salts([old]) == [None] and record.count >= 2


def in_turn(lock, act):
    def turn(*given):
        with lock:
            return act(*given)

    return turn


def test_many_threads_and_clients_write_and_search_at_once(tmp_path):
    rows, failures = Memory(), []
    lock = threading.Lock()
    for name in ("_add", "_get", "_delete"):  # the store in memory is not for several threads
        setattr(rows, name, in_turn(lock, getattr(rows, name)))
    clients = [sealed(tmp_path, rows) for _ in range(2)]
    clients[0].add(IDS[:10], TEXTS[:10], FIELDS[:10])

    def work(number):
        try:
            client = clients[number % 2]
            for row in range(10 + number, ROWS, 4):
                client.add([IDS[row]], [TEXTS[row]], [FIELDS[row]])
                assert client.search(TEXTS[row], 1).hits[0].id == IDS[row]
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures
    for client in clients:
        assert len(client) == ROWS and client.search(TEXTS[0], ROWS).complete
    assert len(contents(rows)) == 2 * ROWS + 1
    for client in clients:
        client._client.state.file.close()


def test_an_add_that_is_refused_in_its_middle_leaves_the_client_as_it_was(store, monkeypatch):
    from sfumato.sealing.client import writing

    def refused(*_):
        raise StoreError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(writing.SealedClient, "count_change", refused)
        with pytest.raises(StoreError, match="no room"):
            store.add(["new"], ["a new text"])
    assert len(store) == ROWS and store.get(["new"]) == [] and store.search(TEXTS[3], 60).complete
    store.add(["newer"], ["a newer text"])
    assert len(store) == ROWS + 1 and store.search("a newer text", 1).hits[0].id == "newer"
    assert len(contents(store.store)) == 2 * (ROWS + 1) + 1
