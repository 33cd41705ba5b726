"""Pieces: a kill in the middle of a part loses seconds, and nobody sees from the output where it was cut."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.scale import pieces
from sfumato.scale.pieces import Pace
from sfumato.scale.release import release_file, release_folder
from tests.scale.folders import DIM, contents, key_file
from tests.scale.test_file import Killed

ROWS = 30
TEXTS = [f"note {row} {'and more ' * (row % 5)}" for row in range(ROWS)]


class Killing(Fake):
    """Ends the run once so many texts have been embedded, and counts them."""

    left: int | None = None
    done: list[str] = []

    def embed(self, texts, *, on_batch=None):
        if Killing.left is not None:
            Killing.left -= len(texts)
            if Killing.left < 0:
                Killing.left = None
                raise Killed
        Killing.done += texts
        return super().embed(texts, on_batch=on_batch)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Pieces of a few texts."""
    monkeypatch.setattr(pieces, "_FIRST", 300)
    monkeypatch.setattr(pieces, "SECONDS", 0.0)
    monkeypatch.setattr(Killing, "left", None)
    monkeypatch.setattr(Killing, "done", [])


def keyed(key):
    return Protector(
        Laplace(epsilon=50.0), Killing(dim=DIM), secret=Secret.from_file(key, create=True), normalise=False
    )


@pytest.fixture
def source(tmp_path):
    rows = [json.dumps({"text": text, "id": row}) for row, text in enumerate(TEXTS)]
    (tmp_path / "in.jsonl").write_text("\n".join(rows))
    return tmp_path / "in.jsonl"


def saved(out):
    return sorted(path.name for path in out.with_name(f".{out.name}.parts").rglob("0*.parquet"))


def kill(source, out, protector, after, **options):
    Killing.left = after
    with pytest.raises(Killed):
        release_file(source, out, protector, batch_rows=12, **options)
    Killing.done.clear()


@pytest.mark.parametrize("name", ["out.parquet", "out.npy"])
def test_a_killed_file_has_the_bytes_of_one_that_was_not(source, tmp_path, name):
    key, whole, out = tmp_path / "key", tmp_path / f"whole-{name}", tmp_path / name
    kept = {"keep_columns": ["id"]} if name.endswith("parquet") else {}
    release_file(source, whole, keyed(key), batch_rows=12, **kept)
    for after in (5, 3, 12):
        kill(source, out, keyed(key), after, **kept)
        assert saved(out) and not out.exists()
    told = []
    done = release_file(source, out, keyed(key), batch_rows=12, on_rows=told.append, **kept)
    assert done.rows == ROWS and sum(told) == ROWS and len(told) > 3
    assert out.read_bytes() == whole.read_bytes() and not saved(out)
    assert not out.with_name(f".{name}.parts").exists()


def test_what_is_saved_is_embedded_and_drawn_once(source, tmp_path):
    """Fresh noise: what a piece holds is what is published, and the ledger is charged once for it."""
    key, out = tmp_path / "key", tmp_path / "out.npy"
    secret = Secret.from_file(key, create=True)
    ledger = Ledger(tmp_path / "ledger", secret=secret, ceiling=None)
    fresh = Protector(Laplace(epsilon=50.0), Killing(dim=DIM), ledger=ledger, normalise=False)
    kill(source, out, fresh, 7)
    files = sorted(out.with_name(".out.npy.parts").rglob("0*.parquet"))
    parts = [np.array(pq.read_table(path).column("embedding").to_pylist()) for path in files]
    release_file(source, out, fresh, batch_rows=12)
    assert np.array_equal(np.load(out)[: sum(map(len, parts))], np.concatenate(parts))
    assert Killing.done == TEXTS[sum(map(len, parts)) :]
    assert {fresh.spent(text).releases for text in TEXTS} == {1}


def test_pieces_of_other_settings_or_texts_are_not_used(source, tmp_path):
    key, out = tmp_path / "key", tmp_path / "out.npy"
    kill(source, out, keyed(key), 7)
    other = Protector(Laplace(epsilon=3.0), Killing(dim=DIM), normalise=False)
    release_file(source, out, other, batch_rows=12)
    assert Killing.done == TEXTS
    out.unlink()
    kill(source, out, keyed(key), 7)
    source.write_text("\n".join(json.dumps({"text": f"new {row}"}) for row in range(ROWS)))
    release_file(source, out, keyed(key), batch_rows=12)
    assert Killing.done == [f"new {row}" for row in range(ROWS)]
    out.unlink()
    kill(source, out, keyed(key), 7)
    release_file(source, out, keyed(key), batch_rows=12, restart=True)
    assert len(Killing.done) == ROWS


def test_a_refused_input_leaves_nothing(source, tmp_path, monkeypatch):
    def refuse(self, texts, *, on_batch=None):
        if TEXTS[8] in texts:
            raise InputError("Row 0 is refused.")
        return Fake.embed(self, texts, on_batch=on_batch)

    monkeypatch.setattr(Killing, "embed", refuse)
    with pytest.raises(InputError, match=r"Counting rows from row 8: Row 0 is refused"):
        release_file(source, tmp_path / "out.npy", keyed(tmp_path / "key"), batch_rows=12)
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", "key"}


def test_a_forged_piece_is_refused(source, tmp_path):
    key, out = tmp_path / "key", tmp_path / "out.npy"
    kill(source, out, keyed(key), 7)
    first = next(out.with_name(".out.npy.parts").rglob("000000000000.parquet"))
    pq.write_table(pq.read_table(first).replace_schema_metadata(None), first)
    with pytest.raises(ArtifactError, match="not of this run"):
        release_file(source, out, keyed(key), batch_rows=12)


def test_a_killed_folder_has_the_bytes_of_one_that_was_not(tmp_path, monkeypatch):
    key = key_file(tmp_path / "key")
    (tmp_path / "in").mkdir()
    table = pa.table({"text": TEXTS, "id": list(range(ROWS))})
    pq.write_table(table, tmp_path / "in" / "notes.parquet", row_group_size=12)
    alone = Protector(Laplace(epsilon=50.0), f"fake:{DIM}", normalise=False)
    options = {"secret": key, "workers": 1, "part_rows": 20, "keep_columns": ["id"]}

    def run(out):
        return release_folder(str(tmp_path / "in"), str(tmp_path / out), alone, **options)

    run("whole")
    embed, left = Fake.embed, [9]

    def dying(self, texts, *, on_batch=None):
        left[0] -= len(texts)
        if left[0] < 0:
            raise Killed
        return embed(self, texts, on_batch=on_batch)

    for after in (9, 4):
        left[0] = after
        with monkeypatch.context() as patched, pytest.raises(Killed):
            patched.setattr(Fake, "embed", dying)
            run("out")
        assert list((tmp_path / "out" / "_sfumato" / "pieces").rglob("*.parquet"))
    done = run("out")
    assert (done.rows, done.parts) == (ROWS, 2)
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert not (tmp_path / "out" / "_sfumato" / "pieces").exists()


def test_a_pace_follows_the_time_that_texts_take(monkeypatch):
    monkeypatch.setattr(pieces, "SECONDS", 3.0)
    texts, pace = ["x" * 36] * 1000, Pace()
    assert pace.fits(texts, 0) == 3  # 300 characters, and each text counts for a hundred
    pace.note(texts[:3], 1.0)
    assert pace.fits(texts, 0) == 9
    pace.note(texts[:9], 9.0)
    assert pace.fits(texts, 0) == 3
    pace.note(texts[:3], 1e-9)  # so fast that only the largest step holds
    assert pace.fits(texts, 0) == 12
    pace.note(texts[:1], 1000.0)
    assert pace.fits(texts, 5) == 6
