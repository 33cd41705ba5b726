"""A folder of Parquet files: every row once, the same bytes however it was run, and nothing half written."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.scale.places import folder
from sfumato.scale.plan import ReleaseJob, ReleasePart
from sfumato.scale.portable import PortableProtector
from sfumato.scale.release import release_folder
from sfumato.scale.sources import cut
from sfumato.scale.worker import Worker
from tests.scale.folders import (
    DIM,
    contents,
    key_file,
    make_folder,
    manifest,
    plain,
    released_ids,
    unit_vectors,
)


@pytest.fixture
def inputs(tmp_path):
    return make_folder(tmp_path / "in")


def run(inputs, out, **options):
    options = {"workers": 1, "part_rows": 200, **options}
    return release_folder(str(inputs), str(out), plain(), **options)


def test_row_groups_become_parts(inputs):
    parts = list(cut(folder(str(inputs)), 200))
    assert [part.rows for part in parts[:4]] == [200, 200, 200, 100]
    assert [part.first_row for part in parts[:4]] == [0, 200, 400, 600]
    together = list(cut(folder(str(inputs)), 300))
    assert [(part.groups, part.rows) for part in together[:2]] == [((0, 1), 400), ((2, 3), 300)]
    assert {part.source for part in parts} == {"below/v1.parquet", "v0.parquet", "v2.parquet"}


def test_every_row_once_with_noise_and_a_record_of_each_part(inputs, tmp_path):
    done = run(inputs, tmp_path / "out", keep_columns=["id"])
    assert (done.rows, done.parts, done.resumed, done.matched) == (2100, 12, 0, None)
    ids = released_ids(tmp_path / "out")
    assert len(ids) == 2100 and len(set(ids)) == 2100
    facts = manifest(tmp_path / "out")
    assert facts["rows"] == 2100 and facts["mechanism"] == "laplace" and len(facts["parts"]) == 12
    for record in facts["parts"]:
        content = (tmp_path / "out" / record["output"]).read_bytes()
        assert hashlib.sha256(content).hexdigest() == record["sha256"]
        assert json.loads((tmp_path / "out/_sfumato" / f"{record['output']}.json").read_text()) == record
    first = pq.read_table(tmp_path / "out/v0-00000.parquet")
    noise = first.column("embedding").combine_chunks().flatten().to_numpy().reshape(-1, DIM)
    away = np.linalg.norm(noise - unit_vectors(700)[:200], axis=1)
    assert 0.9 < away.mean() < 1.1  # a noise ratio of 1
    assert first.column("id").to_pylist() == [f"0-{row}" for row in range(200)]


def test_keyed_bytes_do_not_depend_on_workers(inputs, tmp_path):
    key = key_file(tmp_path / "key")
    run(inputs, tmp_path / "one", secret=key)
    run(inputs, tmp_path / "two", secret=key, workers=2)
    run(inputs, tmp_path / "fresh")
    assert contents(tmp_path / "one") == contents(tmp_path / "two") != contents(tmp_path / "fresh")


def vectors_by_id(path):
    table = pq.read_table(path)
    return dict(zip(table.column("id").to_pylist(), table.column("embedding").to_pylist(), strict=True))


def test_ids_make_noise_independent_of_the_files(tmp_path):
    key = key_file(tmp_path / "key")
    options = {"secret": key, "id_column": "id", "keep_columns": ["id"]}
    run(make_folder(tmp_path / "a", files=2, group=200), tmp_path / "a-out", **options)
    (tmp_path / "b").mkdir()
    table = pq.read_table(tmp_path / "a")
    pq.write_table(table.take(pa.array(range(1399, -1, -1))), tmp_path / "b/all.parquet", row_group_size=333)
    run(tmp_path / "b", tmp_path / "b-out", **options)
    assert vectors_by_id(tmp_path / "a-out") == vectors_by_id(tmp_path / "b-out")


def test_no_two_vectors_share_noise(tmp_path):
    """Row 7 of a file and row 7 of another, or of its next version, would give away their difference."""
    key = key_file(tmp_path / "key")
    path = make_folder(tmp_path / "in", files=2, rows=50)
    noises = []
    for version in range(2):
        run(path, tmp_path / f"out{version}", secret=key, part_rows=50)
        for name, seed in (("v0", 0), ("below/v1", 1)):
            table = pq.read_table(tmp_path / f"out{version}" / f"{name}-00000.parquet")
            noises.append(
                np.array(table.column("embedding").to_pylist()) - unit_vectors(50, seed + 10 * version)
            )
            pq.write_table(
                pa.table({"embedding": unit_vectors(50, seed + 10).tolist()}), path / f"{name}.parquet"
            )
    for one in range(4):
        for other in range(one):
            assert np.abs(noises[one] - noises[other]).max(axis=1).min() > 1e-3


COMMAND = """
import sys
from tests.scale.folders import plain
from sfumato.scale.release import release_folder
if __name__ == "__main__":
    source, out, key = sys.argv[1:]
    release_folder(source, out, plain(), secret=key or None, workers=2, part_rows=100, keep_columns=["id"])
"""


def killed_and_resumed(inputs, out, key, times):
    """Kill the run `times` times, each time after it has published something more."""
    script = out.with_name("command.py")
    script.write_text(COMMAND)
    places = [os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    seen = killed = 0
    published_first: dict[str, bytes] = {}
    while True:
        process = subprocess.Popen(
            [sys.executable, script, inputs, out, key], env=environment, stderr=subprocess.DEVNULL
        )
        while process.poll() is None:
            published = len(list(out.rglob("*.parquet")))
            if killed < times and published > seen:
                process.send_signal(signal.SIGKILL)
                process.wait()
                seen, killed = published, killed + 1
                published_first |= contents(out)
                break
            time.sleep(0.005)
        if process.wait() == 0:
            after = contents(out)
            assert all(after[name] == content for name, content in published_first.items())
            return killed
        assert process.returncode == -signal.SIGKILL
        assert not (out / "_manifest.json").exists()


@pytest.mark.parametrize("sticky", [True, False])
def test_killed_and_resumed(tmp_path, sticky):
    """Every row once, with the bytes of a run that nobody killed; what was published is never drawn again."""
    inputs = make_folder(tmp_path / "in", files=2, rows=1500, group=100)
    key = key_file(tmp_path / "key") if sticky else ""
    out = tmp_path / "out"
    assert killed_and_resumed(inputs, out, key, 3 if sticky else 1) >= 1
    ids = released_ids(out)
    assert len(ids) == 3000 == len(set(ids))
    assert not list(out.rglob(".*.tmp"))
    if sticky:
        release_folder(
            str(inputs), str(tmp_path / "whole"), plain(),
            secret=key, workers=1, part_rows=100, keep_columns=["id"],
        )  # fmt: skip
        assert contents(out) == contents(tmp_path / "whole")
        assert manifest(out) == manifest(tmp_path / "whole")


def test_a_finished_run_is_left_alone_and_a_published_part_is_not_drawn_again(inputs, tmp_path):
    out = tmp_path / "out"
    run(inputs, out)
    before = contents(out)
    (out / "_sfumato/v0-00001.parquet.json").unlink()  # killed between the part and its record
    (out / "v0-00002.parquet").unlink()  # killed before the part
    again = run(inputs, out)
    assert again.resumed == 10
    after = contents(out)
    assert {name for name in before if before[name] != after[name]} == {"v0-00002.parquet"}
    assert run(inputs, out).resumed == 12


def test_the_second_of_two_workers_keeps_the_first_ones_part(inputs, tmp_path):
    job = ReleaseJob(str(inputs), str(tmp_path / "out"), stamp="same")
    part = ReleasePart("v0-00000.parquet", "v0.parquet", (0,), 0, 200)
    worker, late = Worker(job, plain()), Worker(job, plain())
    publish = late._publish

    def overtaken(part, rows):
        worker.release(part)
        publish(part, rows)

    late._publish = overtaken
    record = late.release(part)
    assert record == worker.release(part)


def test_other_settings_are_refused_until_restart(inputs, tmp_path):
    run(inputs, tmp_path / "out")
    with pytest.raises(InputError, match="keep_columns.*--restart"):
        run(inputs, tmp_path / "out", keep_columns=["id"])
    before = contents(tmp_path / "out")
    run(inputs, tmp_path / "out", keep_columns=["id"], restart=True)
    assert before.keys() == contents(tmp_path / "out").keys()
    assert len(released_ids(tmp_path / "out")) == 2100
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/v0-00000.parquet").write_bytes(b"mine")
    with pytest.raises(InputError, match="already holds"):
        run(inputs, tmp_path / "mine")
    assert (tmp_path / "mine/v0-00000.parquet").read_bytes() == b"mine"


def test_two_runs_at_once_are_refused(inputs, tmp_path):
    with folder(str(tmp_path / "out")).alone(), pytest.raises(InputError, match="Another run"):
        run(inputs, tmp_path / "out")


def test_bad_rows_are_refused_by_place_and_nothing_of_the_part_is_seen(inputs, tmp_path):
    bad = unit_vectors(700, 2)
    bad[450] = np.nan
    pq.write_table(pa.table({"embedding": bad.tolist()}), inputs / "v2.parquet", row_group_size=200)
    with pytest.raises(InputError, match=r"In v2\.parquet: Row 450 holds NaN"):
        run(inputs, tmp_path / "out", workers=2)
    assert not (tmp_path / "out/v2-00002.parquet").exists()
    assert not list((tmp_path / "out").rglob(".*.tmp"))


def test_the_ledger_is_charged_once_a_row_however_often_it_is_run(inputs, tmp_path):
    key = key_file(tmp_path / "key")
    options = {"secret": key, "ledger": str(tmp_path / "ledger.db"), "id_column": "id"}
    for _ in range(2):
        run(inputs, tmp_path / "out", restart=True, **options)
    ledger = Ledger(tmp_path / "ledger.db", secret=Secret.from_file(key), ceiling=None)
    assert ledger.total()["l2"].releases == 2100
    assert ledger.spent(unit="id 0-17").epsilon == DIM
    pq.write_table(
        pa.table({"id": ["0-17"], "embedding": unit_vectors(1, 99).tolist()}), inputs / "v2.parquet"
    )
    run(inputs, tmp_path / "next", **options)
    assert ledger.spent(unit="id 0-17").releases == 2  # another vector of the same row


def test_texts_are_embedded_and_keyed_by_themselves(tmp_path):
    (tmp_path / "in").mkdir()
    texts = [f"note {row % 40} about the weather" for row in range(90)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "in/a.parquet", row_group_size=30)
    protector = Protector(Laplace(epsilon=64.0), "fake:64", normalise=False)
    key = key_file(tmp_path / "key")
    done = release_folder(
        str(tmp_path / "in"), str(tmp_path / "out"), protector, secret=key, workers=2, part_rows=30
    )
    assert done.rows == 90 and done.matched == 0
    table = pq.read_table(tmp_path / "out")
    assert table.column_names == ["embedding"]
    found = np.array(table.column("embedding").to_pylist())
    assert np.array_equal(found[:40], found[40:80])
    assert "weather" not in (tmp_path / "out/_manifest.json").read_text()


def test_any_fsspec_address(inputs, tmp_path):
    system = fsspec.filesystem("memory")
    system.put(str(inputs), "/scale-in", recursive=True)
    key = key_file(tmp_path / "key")
    try:
        for _ in range(2):
            done = run("memory://scale-in", "memory://scale-out", secret=key, workers=None)
            system.rm("/scale-out/v0-00001.parquet")
        done = run("memory://scale-in", "memory://scale-out", secret=key, workers=None)
        assert done.resumed == 11 and done.rows == 2100
        run(inputs, tmp_path / "out", secret=key)
        for name, content in contents(tmp_path / "out").items():
            # The two runs have different plans, hence different stamps, and the same rows.
            there = pq.read_table(system.open(f"/scale-out/{name}"))
            assert there.equals(pq.read_table(pa.BufferReader(content)))
        with pytest.raises(InputError, match="memory://"):
            run("memory://scale-in", "memory://other", workers=2)
    finally:
        for name in ("/scale-in", "/scale-out"):
            if system.exists(name):
                system.rm(name, recursive=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep_columns": ["nothing"]}, "no column 'nothing'"),
        ({"id_column": "nothing", "secret": True}, "no column 'nothing'"),
        ({"engine": "abacus"}, "abacus"),
        ({"part_rows": 0}, "part_rows"),
        ({"engine": "ray", "secret": True, "ledger": "x.db"}, "ledger"),
        ({"ledger": "x.db"}, "secret"),
    ],
)
def test_bad_input(inputs, tmp_path, options, message):
    if options.get("secret"):
        options = {**options, "secret": key_file(tmp_path / "key")}
    with pytest.raises(InputError, match=message):
        run(inputs, tmp_path / "out", **options)
    assert not contents(tmp_path / "out")


def test_empty_and_damaged_folders(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(InputError, match=r"no \.parquet"):
        run(tmp_path / "in", tmp_path / "out")
    pq.write_table(
        pa.table({"embedding": pa.array([], pa.list_(pa.float32(), 4))}), tmp_path / "in/a.parquet"
    )
    with pytest.raises(InputError, match="no rows"):
        run(tmp_path / "in", tmp_path / "out")
    (tmp_path / "in/b.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match="damaged"):
        run(tmp_path / "in", tmp_path / "out")
    with pytest.raises(InputError, match="another folder"):
        run(tmp_path / "in", tmp_path / "in")


def test_a_secret_does_not_travel(tmp_path):
    key = key_file(tmp_path / "key")
    protector = Protector(Laplace(epsilon=1.0), secret=Secret.from_file(key))
    with pytest.raises(InputError, match="do not travel"):
        PortableProtector.of(protector)
    portable = PortableProtector.of(protector, secret=key)
    raw = bytes.fromhex((tmp_path / "key").read_text().strip())
    assert raw not in repr(portable).encode() and all(raw not in content for _, content in portable.files)
    assert portable.open().secret.key_id == protector.secret.key_id
