"""One file: joined from drafts that are whole or absent, resumed under the same plan only, finished once."""

from __future__ import annotations

import json
from contextlib import contextmanager

import numpy as np
import pyarrow.parquet as pq
import pytest

from sfumato.errors import InputError
from sfumato.mechanisms import Identity, Laplace
from sfumato.protector import Protector
from sfumato.scale.outputs import OutputFile
from sfumato.scale.release import release_file
from tests.scale.folders import DIM, plain, unit_vectors

ROWS = 36


class Killed(BaseException):
    """Ends a run as a kill would, where a test can see it."""


@contextmanager
def killed_after(batches):
    """A run that is stopped once so many batches are done."""
    seen = []

    def on_rows(rows):
        seen.append(rows)
        if len(seen) == batches:
            raise Killed

    with pytest.raises(Killed):
        yield on_rows


@pytest.fixture
def source(tmp_path):
    rows = [json.dumps({"text": f"note {row}", "id": f"n{row}"}) for row in range(ROWS)]
    (tmp_path / "in.jsonl").write_text("\n".join(rows))
    return tmp_path / "in.jsonl"


@pytest.fixture
def vectors(tmp_path):
    np.save(tmp_path / "in.npy", unit_vectors(ROWS))
    return tmp_path / "in.npy"


def texts():
    return Protector(Identity(), f"fake:{DIM}", normalise=False)


def drafts(out):
    return sorted(path.name for path in out.with_name(f".{out.name}.parts").glob("part-*"))


@pytest.mark.parametrize("name", ["out.npy", "out.parquet"])
def test_drafts_are_joined_in_order(source, tmp_path, name):
    out, kept = tmp_path / name, ["id"] if name.endswith("parquet") else []
    with killed_after(5) as stop:
        release_file(source, out, texts(), batch_rows=3, keep_columns=kept, on_rows=stop)
    assert len(drafts(out)) == 5 and not out.exists()
    done = release_file(source, out, texts(), batch_rows=3, keep_columns=kept)
    assert (done.rows, done.parts, done.resumed, done.resumed_rows, done.matched) == (ROWS, 1, 0, 15, 0)
    if kept:
        table = pq.read_table(out)
        assert table.column("id").to_pylist() == [f"n{row}" for row in range(ROWS)]
        kind = f"fixed_size_list<element: float not null>[{DIM}]"
        assert str(table.schema.field("embedding").type) == kind and not table.schema.metadata
        found = np.array(table.column("embedding").to_pylist(), np.float32)
    else:
        found = np.load(out, allow_pickle=False)
    clean = texts().encoder.embed([f"note {row}" for row in range(ROWS)])
    assert np.array_equal(found, clean)
    assert {path.name for path in tmp_path.iterdir()} == {"in.jsonl", name, f"{name}.manifest.json"}


def test_another_plan_is_refused_and_restart_begins_anew(vectors, tmp_path):
    out = tmp_path / "out.npy"
    with killed_after(2) as stop:
        release_file(vectors, out, plain(), batch_rows=9, on_rows=stop)
    other = Protector(Laplace(epsilon=3.0), normalise=False)
    with pytest.raises(InputError, match=r"out\.npy has other settings \(protector\).*--restart"):
        release_file(vectors, out, other, batch_rows=9)
    assert release_file(vectors, out, other, batch_rows=9, restart=True).resumed_rows == 0


def test_a_draft_without_its_record_is_not_drawn_again(vectors, tmp_path):
    out = tmp_path / "out.npy"
    with killed_after(2) as stop:
        release_file(vectors, out, plain(), batch_rows=9, on_rows=stop)
    hidden = tmp_path / ".out.npy.parts"
    first, last = (pq.read_table(hidden / name).column("embedding").to_pylist() for name in drafts(out))
    (hidden / "_sfumato/part-00000001.parquet.json").unlink()
    done = release_file(vectors, out, plain(), batch_rows=9)
    assert (done.rows, done.resumed_rows) == (ROWS, 9)
    assert np.load(out)[:18].tolist() == first + last


def test_drafts_after_a_gap_do_not_count(vectors, tmp_path):
    out = tmp_path / "out.npy"
    with killed_after(3) as stop:
        release_file(vectors, out, plain(), batch_rows=9, on_rows=stop)
    (tmp_path / ".out.npy.parts/part-00000001.parquet").unlink()
    done = release_file(vectors, out, plain(), batch_rows=9)
    assert (done.rows, done.resumed_rows) == (ROWS, 9)


def test_a_finished_file_is_left_alone(vectors, tmp_path):
    """Fresh noise is drawn once: a second draw of the same rows would give more of them away."""
    out = tmp_path / "out.npy"
    told = []
    release_file(vectors, out, plain())
    before = out.read_bytes(), out.stat().st_mtime_ns
    again = release_file(vectors, out, plain(), on_rows=told.append)
    assert (again.rows, again.resumed, again.resumed_rows) == (ROWS, 1, ROWS) and told == [ROWS]
    assert (out.read_bytes(), out.stat().st_mtime_ns) == before
    assert release_file(vectors, out, plain(), restart=True).resumed == 0
    assert out.read_bytes() != before[0]
    assert {path.name for path in tmp_path.iterdir()} == {"in.npy", "out.npy", "out.npy.manifest.json"}


@pytest.mark.parametrize("change", ["input", "settings", "output", "manifest"])
def test_what_is_not_the_finished_release_is_released(vectors, tmp_path, change):
    out, protector = tmp_path / "out.npy", plain()
    release_file(vectors, out, protector)
    if change == "input":
        np.save(vectors, unit_vectors(ROWS, 1))
    elif change == "settings":
        protector = Protector(Laplace(epsilon=3.0), normalise=False)
    elif change == "output":
        out.write_bytes(b"cut short")
    else:
        (tmp_path / "out.npy.manifest.json").write_text("{}")
    done = release_file(vectors, out, protector)
    assert (done.resumed, done.resumed_rows) == (0, 0) and np.load(out).shape == (ROWS, DIM)


def test_two_runs_at_once_are_refused(vectors, tmp_path):
    with OutputFile(tmp_path / "out.npy").place.alone(), pytest.raises(InputError, match="Another run"):
        release_file(vectors, tmp_path / "out.npy", plain())
    assert [path.name for path in tmp_path.iterdir()] == ["in.npy"]


def test_unknown_format(vectors, tmp_path):
    with pytest.raises(InputError, match=r"\.parquet or \.npy"):
        release_file(vectors, tmp_path / "out.csv", plain())
