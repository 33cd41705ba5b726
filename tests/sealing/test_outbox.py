"""Records on their way: few as values of the state, many in files beside it, and the same to whoever asks."""

from __future__ import annotations

import hashlib
import hmac
import sqlite3
from contextlib import closing

import pytest

from sfumato.errors import ArtifactError, ParameterError
from sfumato.sealing.client import outbox as module
from sfumato.sealing.client.database import FILE, StateFile
from sfumato.sealing.client.outbox import Outbox
from sfumato.sealing.client.parcels import Parcel
from sfumato.sealing.crypto.prf import Prf
from sfumato.sealing.records import Records
from sfumato.stores import Memory
from tests.sealing.collections import metadata, names, notes, sealed

MANY = {f"{row:04d}": b"content %d" % row * (row % 3) for row in range(700)}


@pytest.fixture
def box(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_FEW", 4)
    monkeypatch.setattr(module, "_PARCEL", 300)
    file = StateFile(tmp_path / "state")
    yield Outbox(file, Records(Memory()))
    file.close()


def parcels(box):
    return sorted(box._file.folder.glob("parcel-*"))


def test_many_records_are_files_that_are_read_before_the_store_and_sent_in_order(box):
    written = []
    put = box._records.put
    box._records.put = lambda ids, contents: (written.extend(ids), put(ids, contents))
    with box._file.changing():
        for start in range(0, 700, 70):
            box.put(list(MANY.items())[::-1][start : start + 70])
        box.note("counter", b"1")
        assert box.fetch(["0003", "0699", "counter"])["0699"] == MANY["0699"]
    assert len(parcels(box)) == 2 and len(box) == 701
    with box._file.changing():
        box.note("counter", b"2")
        box.remove(["0004", "0005"])
        box.put([("0004.5", b"late")])
    found = box.fetch([*MANY, "counter", "0004.5", "absent"])
    kept = {name: content for name, content in MANY.items() if name not in ("0004", "0005")}
    assert found == kept | {"counter": b"2", "0004.5": b"late"}
    box.send()
    assert dict(box._records.scan()) == found and written == sorted(found)
    assert parcels(box) == [] and len(box) == 0


def test_files_of_a_change_that_failed_are_never_sent_and_go(box):
    with pytest.raises(RuntimeError), box._file.changing():
        box.put(MANY.items())
        raise RuntimeError
    assert len(parcels(box)) == 1 and len(box) == 0 and box.fetch(["0003"]) == {}
    box.send()
    assert parcels(box) == [] and len(box._records) == 0


def test_a_reader_whose_files_another_client_sends_finds_them_in_the_store(box):
    with box._file.changing():
        box.put(MANY.items())
    other = Outbox(StateFile(box._file.folder), box._records)
    whole, first = other._parcels, []

    def late():
        found = whole()
        if not first:
            first.append(box.send())
        return found

    other._parcels = late
    assert other.fetch(list(MANY)) == MANY and first
    other._file.close()


def test_a_file_that_is_cut_or_lost_is_refused(box):
    with box._file.changing():
        box.put(MANY.items())
    (path,) = parcels(box)
    whole = path.read_bytes()
    for cut in (
        b"",
        whole[:10],
        whole[:-1],
        whole + b"x",
        b"x" + whole[1:],
        whole[:8] + b"\xff" * 16 + whole[24:],
    ):
        path.write_bytes(cut)
        with pytest.raises(ArtifactError, match="cut or damaged"):
            Parcel.open(path)
    path.unlink()
    with pytest.raises(ArtifactError, match="are missing"):
        box.fetch(["0003"])
    with pytest.raises(ArtifactError, match="are missing"):
        box.send()
    assert len(box) == 700


def test_a_state_of_the_first_version_is_taken_over(tmp_path):
    rows = Memory()
    with sealed(tmp_path, rows) as store:
        store.add(names(20), notes(20), metadata(20))
    with closing(sqlite3.connect(tmp_path / "state" / FILE)) as db:
        db.executescript("DROP TABLE parcels; DROP TABLE digests; PRAGMA user_version = 1;")
    with sealed(tmp_path, rows) as store:
        assert store.add(names(400), notes(400), metadata(400)) == 380
        assert store.search(notes(400)[390], 1).hits[0].id == names(400)[390]


def test_a_long_add_in_files_is_found_while_it_waits(tmp_path):
    with sealed(tmp_path, buffer=10**6) as store:
        store.add(names(400), notes(400), metadata(400))
        assert len(store.store) == 0 and list((tmp_path / "state").glob("parcel-*"))
        found = store.search(notes(400)[77], 1)
        assert found.complete and found.hits[0].id == names(400)[77]
        assert store.delete(names(400)[:5]) == 5
        store.flush()
        members = [each for part in store._client.state.walk(100) for each in part]
        assert len(store.store) == sum(len(each.places) for each in members) + 395 + 1


def test_the_prf_is_hmac(tmp_path):
    key = bytes(range(32))
    for message in (b"", b"x" * 40, b"y" * 1000):
        assert Prf(key)(message) == hmac.digest(key, message, hashlib.sha256)
    with pytest.raises(ParameterError, match="exactly 32 bytes"):
        Prf(b"short")
