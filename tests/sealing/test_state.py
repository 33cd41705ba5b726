"""The client's state: whole or not at all, sealed, and of use to nobody without the key."""

from __future__ import annotations

import sqlite3
import stat
import threading
from collections import Counter

import numpy as np
import pytest

from sfumato.errors import ArtifactError, InputError, StoreError
from sfumato.sealing.cells.codebook import Codebook
from sfumato.sealing.client.database import FILE, StateFile, is_begun
from sfumato.sealing.client.outbox import Outbox
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.members import Member, SealedSettings
from sfumato.sealing.multimap import PostingList
from sfumato.sealing.records import Records
from sfumato.sealing.state import ClientState
from sfumato.stores import Memory
from tests.sealing.collections import metadata, names, notes, sealed

KEY = SealingKey(bytes(range(32)))
SETTINGS = SealedSettings("collection", "encoder", "fake:4", "int8", 1, 0, "recall@10=0.99", 16, dim=4)


@pytest.fixture
def state(tmp_path):
    made = ClientState(StateFile(tmp_path / "state"), KEY, "tenant")
    with made.file.changing():
        assert made.found() is None
        made.settle(SETTINGS)
    yield made
    made.file.close()


def fill(state, count):
    with state.file.changing():
        numbers = state.numbers(count)
        state.save_members(
            [Member(number, f"user {number}", "mark", ((0, 7, number),)) for number in numbers]
        )
        state.change(rows=state.settings.rows + count)
    return list(numbers)


def test_what_is_written_is_read_again(state, tmp_path):
    numbers = fill(state, 1200)
    assert numbers == list(range(1, 1201))
    with state.file.changing():
        state.save_lists({(0, 7): PostingList(3, {0: 5, 2: 9}), (1, 7): PostingList(1, {0: 1})})
        state.save_codebook(Codebook([np.eye(4, dtype=np.float32)]))
    state.file.close()
    again = ClientState(StateFile(tmp_path / "state"), KEY, "tenant")
    assert again.settings.rows == 1200 and again.settings.next_number == 1202
    assert again.find(["user 3", "absent", "user 900"])["user 900"].number == 900
    assert again.members([3, 5, 5000]) == {n: Member(n, f"user {n}", "mark", ((0, 7, n),)) for n in (3, 5)}
    assert [each.number for part in again.walk(500) for each in part] == numbers
    assert again.lists([(0, 7), (0, 8), (1, 7)]) == {
        (0, 7): PostingList(3, {0: 5, 2: 9}),
        (1, 7): PostingList(1, {0: 1}),
    }
    assert again.codebook().cells == [4]
    again.file.close()


def test_a_change_that_fails_leaves_nothing(state):
    fill(state, 5)
    with pytest.raises(RuntimeError), state.file.changing():
        state.drop_members(state.members([1]).values())
        state.change(rows=0, epoch=9)
        raise RuntimeError
    assert state.settings.rows == 5 and state.settings.epoch == 0 and list(state.members([1])) == [1]


def test_what_was_read_inside_a_change_that_failed_is_forgotten(state):
    with state.file.changing():
        state.save_codebook(Codebook([np.eye(4, dtype=np.float32)]))
    with pytest.raises(RuntimeError), state.file.changing():
        state.change(rows=7)
        assert state.settings.rows == 7
        state.save_codebook(Codebook([np.eye(4, dtype=np.float32)[:2]]))
        assert state.codebook().cells == [2]
        raise RuntimeError
    assert state.settings.rows == 0 and state.codebook().cells == [4]
    with state.file.changing():
        state.save_codebook(Codebook([np.eye(4, dtype=np.float32)[:3]]))
    assert state.settings.rows == 0 and state.codebook().cells == [3]


def test_another_key_or_tenant_opens_nothing(state):
    for key, tenant in ((SealingKey(bytes(range(1, 33))), "tenant"), (KEY, "another")):
        other = ClientState(StateFile(state.file.folder), key, tenant)
        with pytest.raises(InputError, match="does not open the state") as caught:
            other.found()
        assert "\n" not in str(caught.value)
        other.file.close()


def test_values_in_each_others_place_are_damage(state):
    fill(state, 2)
    state.file.run("UPDATE members SET value = (SELECT value FROM members WHERE number = 2) WHERE number = 1")
    with pytest.raises(ArtifactError, match="1 of its values do not open"):
        state.members([1, 2])


def test_decoys_are_drawn_evenly_and_never_asked_rows(state):
    fill(state, 40)
    with state.file.changing():
        state.drop_members(state.members(range(1, 11)).values())
        state.change(rows=30)
    seen = Counter(number for _ in range(300) for number in state.strangers(10, {20, 21}))
    assert set(seen) == set(range(11, 41)) - {20, 21} and sum(seen.values()) == 3000
    assert max(seen.values()) < 2 * min(seen.values())
    assert len(state.strangers(100, set())) == 30 and state.strangers(5, set(range(11, 41))) == []


def test_decoys_where_most_rows_are_gone(state):
    fill(state, 600)
    with state.file.changing():
        state.drop_members(state.members(range(1, 599)).values())
        state.change(rows=2, next_number=10**9)
    assert sorted(state.strangers(32, set())) == [599, 600]
    assert state.strangers(32, {599}) == [600]


def test_the_folder_shows_counts_and_sizes_alone(tmp_path):
    """Read as a thief would: values of rows and cells have few sizes, and nothing is in clear."""
    with sealed(tmp_path, tenant="acme") as store:
        store.add(names(300), notes(300), metadata(300))
    folder = tmp_path / "state"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    for path in folder.iterdir():
        assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path.name
    held = b"".join(path.read_bytes() for path in folder.iterdir())
    words = [b"patient", b"asthma", b"harbour", b"ward", b"acme", b"fake", b"recall", b"multimap"]
    assert not [word for word in words if word in held]
    with sqlite3.connect(folder / FILE) as db:
        (rows,) = db.execute("SELECT COUNT(DISTINCT LENGTH(value)) FROM members").fetchone()
        sizes = [size for (size,) in db.execute("SELECT DISTINCT LENGTH(value) FROM cells")]
        distinct, whole = db.execute("SELECT COUNT(DISTINCT value), COUNT(*) FROM cells").fetchone()
    assert rows == 1 and len(sizes) <= 3 and distinct == whole > 30


def test_an_outbox_is_read_before_the_store_and_sent_in_order(state):
    store = Memory()
    records = Records(store)
    box = Outbox(state.file, records)
    records.put(["b", "c"], [b"old b", b"old c"])
    with state.file.changing():
        box.put([("d", b"new d"), ("b", b"new b")])
        box.remove(["c", "absent"])
    assert box.fetch(["a", "b", "c", "d"]) == {"b": b"new b", "d": b"new d"} and len(box) == 4
    box.send()
    assert dict(records.scan()) == {"b": b"new b", "d": b"new d"} == box.fetch(["a", "b", "c", "d"])
    assert len(box) == 0
    box.send()


def test_large_records_are_sent_a_few_at_a_time(state, monkeypatch):
    records, seen = Records(Memory()), []
    put = records.put
    monkeypatch.setattr(records, "put", lambda ids, contents: (seen.append(len(ids)), put(ids, contents)))
    box = Outbox(state.file, records)
    with state.file.changing():
        box.put((f"{row:02}", bytes(12 << 20)) for row in range(5))
    box.send()
    assert seen == [2, 2, 1] and len(records) == 5


def test_a_sent_outbox_leaves_the_disk(state):
    box = Outbox(state.file, Records(Memory()))
    with state.file.changing():
        box.put((f"{row:04}", bytes(60_000)) for row in range(600))
    box.send()
    held = sum(path.stat().st_size for path in state.file.folder.iterdir())
    assert len(box) == 0 and held < 4 << 20


def test_what_is_no_state_is_refused(tmp_path):
    assert not is_begun(tmp_path) and not is_begun(tmp_path / "absent")
    with sqlite3.connect(tmp_path / FILE) as db:
        db.execute("CREATE TABLE other (x)")
    assert not is_begun(tmp_path)
    with pytest.raises(ArtifactError, match="another kind"):
        StateFile(tmp_path)
    (tmp_path / FILE).write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(StoreError, match="NOTADB"):
        StateFile(tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be used"):
        StateFile(tmp_path / "file")


def test_a_backup_opens_and_a_newer_collection_is_not_written_with_it(tmp_path):
    rows = Memory()
    with sealed(tmp_path, rows) as store:
        store.add(names(80), notes(80), metadata(80))
        store.backup(tmp_path / "copy")
        with pytest.raises(InputError, match="has to be new"):
            store.backup(tmp_path / "copy")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "copy").rename(tmp_path / "elsewhere" / "state")
        (tmp_path / "elsewhere" / "key").write_bytes((tmp_path / "key").read_bytes())
        (tmp_path / "elsewhere" / "key").chmod(0o600)
        with sealed(tmp_path / "elsewhere", rows) as copy:
            found = copy.search(notes(80)[7], 1)
            assert found.complete and found.hits[0].id == names(80)[7]
        store.add(["later"], ["another note"])
        with sealed(tmp_path / "elsewhere", rows) as copy, pytest.raises(InputError, match="older than"):
            copy.add(["x"], ["y"])


def test_reading_does_not_wait_for_who_writes(tmp_path):
    rows = Memory()
    with sealed(tmp_path, rows) as store, sealed(tmp_path, rows) as other:
        store.add(names(40), notes(40))
        done = threading.Event()

        def read():
            # One that is open, one that is opened, and the very one that writes.
            fresh = sealed(tmp_path, rows)
            if all(each.search(notes(40)[3], 1).hits[0].id == names(40)[3] for each in (store, other, fresh)):
                done.set()
            fresh._client.state.file.close()

        with store._client.state.file.alone():
            assert other._client.state.file.busy()
            reader = threading.Thread(target=read, daemon=True)
            reader.start()
            assert done.wait(30)
            reader.join(1)
        assert not other._client.state.file.busy()
