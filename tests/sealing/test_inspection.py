"""Looking for erased rows in the bytes of files: what stands there is found, in whatever form."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.sealing.inspection import files as reading
from sfumato.sealing.inspection import leftovers
from sfumato.sealing.inspection.erased import verify_erased
from sfumato.sealing.inspection.files import blocks, plain_files
from sfumato.sealing.inspection.traces import Trace, Traces
from sfumato.stores import open_store
from tests.cli.test_main import sfumato
from tests.sealing.collections import ENCODER, key_in, metadata, names, notes, sealed
from tests.stores.servers import quick_folder

ROWS = 200
TEXTS, IDS = notes(ROWS), names(ROWS)
LONG = "The visit of „Zoë“ in the harbour, about the violin, was put off until Tuesday; " * 3
NOISE = np.random.default_rng(0).bytes(200_000)


@pytest.mark.parametrize(
    "form",
    [
        LONG.encode(),
        LONG.encode("utf-16-le"),
        LONG.encode("utf-16-be"),
        json.dumps(LONG).encode(),
        *(base64.b64encode(b"?" * shift + LONG.encode()) for shift in range(3)),
        LONG.encode()[:100] + NOISE[:4096] + LONG.encode()[100:],
    ],
)
def test_a_text_is_found_in_every_form(form):
    traces = Traces([TEXTS[0], LONG])
    assert traces.find(NOISE) == {} and traces.find(b"".join(text.encode() for text in TEXTS[1:])) == {}
    found = traces.find(NOISE[:1001] + form + NOISE[1001:])
    assert list(found) == [Trace("text", 1)] and 1001 <= found[Trace("text", 1)] < 1001 + len(form)


@pytest.mark.parametrize("kind", ["<f4", "<f8", "<f2"])
@pytest.mark.parametrize("shift", [0, 1, 6])
def test_a_vector_is_found_in_every_width_and_cut_by_a_page(kind, shift):
    vectors = ENCODER.embed(TEXTS[:2])
    own = (vectors[1].astype(np.float64) * 1.0001).astype(kind).tobytes()
    traces = Traces(vectors=vectors[1:])
    others = np.concatenate([ENCODER.embed(TEXTS[2:]).ravel()]).astype(kind).tobytes()
    for rest in (NOISE[:5000], bytes(4096), others):
        assert traces.find(rest[shift:]) == {}
        for cut in (0, len(own) // 6):
            found = traces.find(rest[: 1000 + shift] + own[:cut] + b"page" * 3 + own[cut:] + rest)
            assert list(found) == [Trace("vector", 0)], (kind, cut)


def test_short_values_are_not_looked_for_and_said(tmp_path):
    traces = Traces(["gout", "a text of some length"], ["17"])
    assert traces.skipped == 2 and len(traces) > 0


def test_blocks_overlap_and_nothing_but_plain_files_is_read(tmp_path, monkeypatch):
    whole = tmp_path / "whole"
    whole.write_bytes(bytes(range(250)) * 4)
    parts = list(blocks(whole, 30, size=100))
    assert parts[0] == whole.read_bytes()[:100] and all(len(each) == 130 for each in parts[1:])
    assert b"".join([parts[0], *(each[30:] for each in parts[1:])]) == whole.read_bytes()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(whole)
    (tmp_path / "packed").write_bytes(gzip.compress(b"text"))
    found = {each.path.name: each.packed for each in plain_files([tmp_path, whole])}
    assert found == {"whole": "", "packed": "gzip"}
    with pytest.raises(InputError, match="nothing of that name"):
        list(plain_files([tmp_path / "absent"]))
    monkeypatch.setattr(reading, "MOST_FILES", 1)
    with pytest.raises(InputError, match="At most 1 files"):
        list(plain_files([tmp_path]))


@pytest.fixture(params=["memory", "chroma", "qdrant"])
def place(request, tmp_path):
    if request.param == "qdrant":
        with quick_folder() as quick:
            yield f"qdrant:{quick}/db#notes", Path(quick) / "db"
    else:
        yield f"{request.param}:{tmp_path}/db#notes", tmp_path / "db"


def test_copies_of_an_erased_row_are_sealed_and_those_of_a_deleted_one_open(place, tmp_path):
    url, folder = place
    with sealed(tmp_path, open_store(url)) as store:
        store.add(IDS, TEXTS, metadata(ROWS))
    shutil.copytree(folder, tmp_path / "copy")
    shutil.copytree(tmp_path / "state", tmp_path / "old")
    given = {"texts": [TEXTS[7]], "files": [tmp_path / "state", tmp_path / "copy"]}
    with sealed(tmp_path, open_store(url)) as store:
        key = key_in(tmp_path)
        before = verify_erased(store, key, [IDS[7]], **given)
        assert before.still_there == 1 and not before.erased
        # The copy holds what rows have, and nothing else.
        assert {each.verdict for each in before.files} == {"not found"}
        assert sum(each.live for each in before.files) >= len(store.store) == before.records
        store.delete([IDS[8]])
        store.erase([IDS[7]])
        after = verify_erased(store, key, [IDS[7]], **given)
        assert after.erased and after.still_there == 0 and after.store.verdict == "not found"
        copied = [each for each in after.files if "/copy/" in each.path]
        assert sum(each.sealed for each in copied) >= 3 and {each.verdict for each in copied} >= {"sealed"}
        assert all(each.verdict == "not found" for each in after.files if each not in copied)
        # Deleted rows go with the next erasure; one that is deleted after it still opens.
        store.delete([IDS[9]])
        deleted = verify_erased(store, key, [IDS[9]], **given)
        assert not deleted.erased and sum(each.openable for each in deleted.files) >= 2
        # A copy of the state with its root undoes the erasure, and is named.
        roots = verify_erased(store, key, [IDS[7]], files=[tmp_path / "old"])
        assert not roots.erased and [each.root for each in roots.files if each.root] == [True]


def test_leftovers_in_the_store_itself_are_told_from_records(tmp_path):
    with sealed(tmp_path) as store:
        store.add(IDS, TEXTS)
        members = store._client.state.find(IDS[:3])
        rows = [store._client.state.ids().text(members[name].number) for name in IDS[:3]]
        kept = store.store.get(rows)
        store.erase(IDS[:2])
        store.store.add(kept.ids, kept.vectors, kept.metadata)
        found = verify_erased(store, key_in(tmp_path), IDS[:2])
        assert found.store.sealed == 2 and found.store.openable == 0 and found.erased
        store.delete([IDS[2]])
        store.store.add(kept.ids[2:], kept.vectors[2:], kept.metadata[2:])
        found = verify_erased(store, key_in(tmp_path), IDS[:3])
        assert (found.store.sealed, found.store.openable, found.erased) == (2, 1, False)


def test_too_many_contents_are_said_to_be_untested(tmp_path, monkeypatch):
    monkeypatch.setattr(leftovers, "MOST_TESTS", 250)
    with sealed(tmp_path) as store:
        store.add(IDS, TEXTS)
        kept = next(store.store.batches(1000))
        store.erase(IDS[:20])
        store.store.add(kept.ids, kept.vectors, kept.metadata)
        found = verify_erased(store, key_in(tmp_path), IDS[:20])
        assert found.untested >= 38 and found.store.sealed >= 39


def test_the_command_finds_a_database_in_the_clear(tmp_path, monkeypatch):
    lines = [json.dumps({"id": name, "text": text}) for name, text in zip(IDS, TEXTS, strict=True)]
    (tmp_path / "notes.jsonl").write_text("\n".join(lines))
    at = ("--store", "lancedb:db#notes", "--key", "notes.key")
    assert sfumato("seal", "notes.jsonl", *at, "--embedder", "fake:48", cwd=tmp_path).returncode == 0
    with closing(sqlite3.connect(tmp_path / "old.sqlite")) as db:
        db.execute("CREATE TABLE notes (id TEXT, text TEXT, vector BLOB)")
        vectors = [each.astype("<f4").tobytes() for each in ENCODER.embed(TEXTS)]
        db.executemany("INSERT INTO notes VALUES (?, ?, ?)", zip(IDS, TEXTS, vectors, strict=True))
        db.commit()
        (tmp_path / "old.txt").write_text(TEXTS[7] + "\n")
        look = ("verify-erased", *at, "--id", IDS[7], "--json", "v.json")
        done = sfumato(*look, cwd=tmp_path)
        assert done.returncode == 1 and "still in the collection" in done.stdout, done.stderr
        assert sfumato("erase", *at, "--id", IDS[7], cwd=tmp_path).returncode == 0
        done = sfumato(*look, "--text", "old.txt", cwd=tmp_path)
        assert done.returncode == 0 and "ERASED as far as can be seen" in done.stdout, done.stdout
        # This product compresses its pages: that is said, and not taken for absence.
        assert "is to be seen in its files" in done.stdout
        done = sfumato(*look, "--text", "old.txt", "--files", "old.sqlite", cwd=tmp_path)
        assert done.returncode == 1 and "old.sqlite: 1 text in the clear" in done.stdout
        facts = json.loads((tmp_path / "v.json").read_text())
        (found,) = [each for each in facts["files"] if each["path"].endswith("old.sqlite")]
        assert found["verdict"] == "found" and found["found"] == {"text": 1, "id": 1, "vector": 1}
        assert not facts["erased"] and TEXTS[7] not in done.stdout + json.dumps(facts)
        db.execute("PRAGMA secure_delete = ON")
        db.execute("DELETE FROM notes WHERE id = ?", (IDS[7],))
        db.commit()
    done = sfumato(*look, "--text", "old.txt", "--files", "old.sqlite", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    monkeypatch.setattr(sys, "stdin", io.StringIO(TEXTS[8]))
    done = sfumato(*look, "--text", "-", "--files", "notes.jsonl", cwd=tmp_path)
    assert done.returncode == 1 and "notes.jsonl: 1 text" in done.stdout, done.stderr
    for bad in (("--files", "absent"), ("--text", "absent.txt")):
        done = sfumato(*look, *bad, cwd=tmp_path)
        assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 1
