"""A collection in the clear becomes a sealed one: every row once, nothing lost, whatever was killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from sfumato.cli.main import run
from sfumato.errors import InputError, StoreError
from sfumato.sealing import migrating
from sfumato.sealing.migrating import seal_collection
from sfumato.stores import Memory, open_store
from sfumato.stores.provenance import PROVENANCE
from tests.sealing.collections import ENCODER, contents, metadata, names, notes, sealed

ROWS = 260
ROOT = Path(__file__).parents[2]
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)


def fill(store, vectors=None):
    fields = [{**each, "document": text} for each, text in zip(FIELDS, TEXTS, strict=True)]
    store.add(IDS, ENCODER.embed(TEXTS) if vectors is None else vectors, fields)
    store.flush()
    return store


def whole(store):
    """Every row stands there once, is found, and the store holds their records alone."""
    rows = [(row.id, row.text, row.metadata) for part in store.iterate() for row in part]
    assert sorted(rows, key=lambda row: IDS.index(row[0])) == [*zip(IDS, TEXTS, FIELDS, strict=True)]
    assert len(store) == ROWS and store.waiting == 0
    assert store.search(TEXTS[9], 1).hits[0].id == IDS[9]
    members = [each for part in store._client.state.walk(100) for each in part]
    assert len(contents(store.store)) == sum(len(each.places) for each in members) + ROWS + 1


def test_rows_are_sealed_and_stay_in_the_clear_until_asked(tmp_path):
    source = fill(Memory())
    with sealed(tmp_path) as target:
        done = seal_collection(source, target, ENCODER)
        assert (done.rows, done.sealed, done.cleared, done.vectors_taken) == (ROWS, ROWS, 0, True)
        whole(target)
        again = seal_collection(source, target, ENCODER, clear=True)
        assert (again.rows, again.sealed, again.cleared) == (ROWS, 0, ROWS) and len(source) == 0
        whole(target)
        last = seal_collection(source, target, ENCODER, clear=True)
        assert (last.rows, last.sealed, last.cleared) == (0, 0, 0)
        whole(target)


@pytest.mark.parametrize("kind", ["other dimension", "noise", "one of them"])
def test_vectors_of_another_encoder_are_not_taken_over(tmp_path, kind):
    vectors = ENCODER.embed(TEXTS)
    if kind == "other dimension":
        vectors = vectors[:, :20]
    elif kind == "noise":
        vectors = vectors + 0.05 * np.random.default_rng(0).normal(size=vectors.shape)
    else:
        vectors[0] = vectors[1]
    with sealed(tmp_path) as target:
        done = seal_collection(fill(Memory(), vectors), target, ENCODER)
        assert not done.vectors_taken and done.sealed == ROWS
        found = target.search(TEXTS[0], 1).hits[0]
        assert found.id == IDS[0] and found.score > 0.99


def test_the_text_field_and_what_is_left_behind(tmp_path):
    source = Memory()
    fields = [{"body": text, "ward": "x", "secret": 1, PROVENANCE: "mark"} for text in TEXTS[:5]]
    source.add(IDS[:5], ENCODER.embed(TEXTS[:5]), fields)
    with sealed(tmp_path) as target:
        with pytest.raises(InputError, match="Row 0 .* has no text in `document`"):
            seal_collection(source, target, ENCODER)
        seal_collection(source, target, ENCODER, text_field="body", drop_fields=["secret"])
        assert [(row.text, row.metadata) for row in target.get(IDS[:2])] == [
            (text, {"ward": "x"}) for text in TEXTS[:2]
        ]
    with sealed(tmp_path / "state", create=True) as empty, pytest.raises(InputError, match="no rows"):
        seal_collection(Memory(), empty, ENCODER)


def test_nothing_is_deleted_where_a_row_differs(tmp_path, monkeypatch):
    """Somebody changes a row in the clear after it was sealed; or the store hands over another text."""
    monkeypatch.setattr(migrating, "_READ", 50)
    source = fill(Memory())
    with sealed(tmp_path) as target:
        flush = target.flush

        def change():
            flush()
            source.add([IDS[70]], ENCODER.embed(["changed"]), [{"document": "changed"}])

        monkeypatch.setattr(target, "flush", change)
        with pytest.raises(StoreError, match="Run the migration again"):
            seal_collection(source, target, ENCODER, clear=True)
        assert len(source) == ROWS
        monkeypatch.setattr(target, "flush", flush)
        done = seal_collection(source, target, ENCODER, clear=True)
        assert (done.sealed, done.cleared, len(source)) == (1, ROWS, 0)
        assert target.get([IDS[70]])[0].text == "changed"


@pytest.mark.parametrize("product", ["memory", "lancedb", "chroma"])
@pytest.mark.parametrize("when", ["sealing", "sending", "clearing"])
def test_killed_and_run_again_every_row_is_there_once(tmp_path, product, when):
    clean, safe = f"{product}:{tmp_path}/clean#notes", f"{product}:{tmp_path}/safe#notes"
    with open_store(clean) as store:
        fill(store)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "tests.sealing.crash_migration", clean, safe, str(tmp_path), when]
    killed = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    with open_store(clean) as source, sealed(tmp_path, open_store(safe)) as target:
        left = len(source)
        assert left == ROWS - 100 if when == "clearing" else left == ROWS
        before = len(target)
        done = seal_collection(source, target, ENCODER, clear=True)
        assert done.sealed == ROWS - before and done.cleared == left and len(source) == 0
        whole(target)


def test_the_command(tmp_path, capsys):
    clean, safe, key = f"lancedb:{tmp_path}/db#notes", f"lancedb:{tmp_path}/db#sealed", f"{tmp_path}/key"
    with open_store(clean) as store:
        fill(store)

    def command(*arguments):
        with pytest.raises(SystemExit) as stopped:
            run(["migrate", *map(str, arguments)])
        said = capsys.readouterr()
        assert not any(text in said.out + said.err for text in TEXTS)
        return stopped.value.code, said.out, said.err

    sealing = ("--to", safe, "--sealed", "--key", key)
    for bad in (
        (clean, "--from", clean, *sealing),
        (*sealing,),
        (clean, "--to", clean, "--sealed", "--key", key),
        (clean, "--sealed", "--key", key, "--in-place"),
        (clean, "--to", safe, "--sealed"),
        (clean, *sealing, "--texts"),
        (clean, "--to", safe),
        (clean, "--to", safe, "--key", key),
        (clean, *sealing, "--embedder", "fake:48", "--text-field", "body"),
    ):
        code, out, err = command(*bad)
        assert code == 2 and not out and len(err.strip().splitlines()) == 1, (bad, err)
    code, out, err = command(clean, *sealing, "--embedder", "fake:48", "--json", tmp_path / "m")
    assert code == 0 and "still holds all rows in the clear" in out, err
    code, out, err = command("--from", clean, *sealing, "--in-place", "--json", tmp_path / "m")
    assert code == 0 and f"{ROWS} rows in the clear were deleted" in out, err
    done = json.loads((tmp_path / "m").read_text())
    assert (done["rows"], done["sealed"], done["cleared"], done["vectors_taken"]) == (ROWS, 0, ROWS, True)
    with open_store(clean) as store:
        assert len(store) == 0
