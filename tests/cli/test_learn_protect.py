"""`sfumato learn` and `sfumato protect` as a user runs them, with the bad input a user is likely to give."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.test_main import as_program, sfumato
from tests.test_protector import PLACES, sentences

from sfumato.certificates import candidate_success, trade_off
from sfumato.certifying import chance
from sfumato.mechanisms import Laplace


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Texts, terms and a protector learned from them with the fake encoder."""
    path = tmp_path_factory.mktemp("work")
    (path / "texts.txt").write_text("\n".join(sentences(400)) + "\n")
    (path / "places.txt").write_text("# places\n" + "\n".join(PLACES) + "\n")
    done = as_program(
        "learn", "texts.txt", "--terms", "places.txt", "--embedder", "fake", "--origin", "synthetic",
        "-o", "protector", "--json", "learned.json", cwd=path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Protector: protector" in done.stdout and "privacy loss" in done.stdout
    return path


def test_learn_leaves_a_protector_and_figures(folder):
    figures = json.loads((folder / "learned.json").read_text())
    assert figures["learned"]["concepts"]["places"]["rows"] == 200
    assert figures["guarantee"]["metric"] == "mahalanobis"
    assert sorted(path.name for path in (folder / "protector").iterdir()) == [
        "config.json",
        "tensors.safetensors",
    ]


def test_protect_writes_vectors_and_a_manifest_without_text(folder):
    done = as_program(
        "protect",
        "texts.txt",
        "--protector",
        "protector",
        "-o",
        "out.parquet",
        "--json",
        "o.json",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    # What an attacker can do comes first, and epsilon after it.
    said = done.stdout.replace("\n", " ")
    assert 0 <= said.index("An attacker who knows everything but the term") < said.index("epsilon")
    certified = json.loads((folder / "o.json").read_text())["certificate"]
    assert certified["prior"] == 0.1 and certified["success"]["worst"] <= 1
    table = pq.read_table(folder / "out.parquet")
    assert table.column_names == ["embedding"] and table.num_rows == 400
    manifest = (folder / "out.parquet.manifest.json").read_text()
    facts = json.loads(manifest)
    assert facts["rows"] == 400 and facts["rows_with_a_concept"] == 200
    assert facts["guarantee"]["metric"] == "mahalanobis" and facts["concepts"] == ["places"]
    for place in PLACES:
        assert place not in manifest + done.stdout + done.stderr
    assert not [path for path in folder.iterdir() if path.name.endswith(".parts")]


def test_sticky_runs_are_equal_and_fresh_ones_are_not(folder):
    def run(out, *more):
        done = sfumato("protect", "texts.txt", "--protector", "protector", "-o", out, *more, cwd=folder)
        assert done.returncode == 0, done.stderr
        return np.load(folder / out)

    secret = ("--secret", "sticky.key")
    one, two = run("a.npy", *secret), run("b.npy", *secret)
    assert np.array_equal(one, two) and (folder / "sticky.key").stat().st_mode & 0o777 == 0o600
    assert not np.array_equal(one, run("c.npy"))
    run("d.npy", *secret, "--ledger", "spent.db", "--ceiling", "1e6")
    again = sfumato(
        "protect", "texts.txt", "--protector", "protector", "-o", "e.npy", "--secret", "sticky.key",
        "--ledger", "spent.db", "--ceiling", "1", "--collection", "other", cwd=folder,
    )  # fmt: skip
    assert again.returncode == 2 and not (folder / "e.npy").exists()


def test_plain_mechanisms_on_vectors_and_calibration(folder):
    vectors = np.random.Generator(np.random.PCG64(0)).standard_normal((500, 48)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(folder / "v.npy", vectors)
    plain = ("protect", "v.npy", "--mechanism", "laplace")
    ratio = sfumato(*plain, "--noise-ratio", "0.5", "-o", "r.npy", cwd=folder)
    assert ratio.returncode == 0, ratio.stderr
    curve = trade_off(Laplace.from_noise_ratio(0.5, dim=48), 0.1, 48)
    most = chance(candidate_success(curve, 10))
    said = ratio.stdout.replace("\n", " ")
    assert (
        f"0.1 apart from each other, names it with probability at most {most};" in said.split("laplace:")[0]
    )
    bare = sfumato(*plain, "--epsilon", "96", "-o", "e.npy", cwd=folder)  # the same, set by an epsilon
    assert f"at most {most};" in bare.stdout.replace("\n", " ")
    none = sfumato("protect", "v.npy", "--mechanism", "identity", "-o", "i.npy", cwd=folder)
    assert none.stdout.startswith("Nothing is certified")
    released = np.load(folder / "r.npy")
    assert np.linalg.norm(released - vectors, axis=1).mean() == pytest.approx(0.5, rel=0.05)
    keep = sfumato(*plain, "--keep", "recall@10=0.8", "-o", "k.npy", "--json", "k.json", cwd=folder)
    assert keep.returncode == 0, keep.stderr
    assert 0.78 < json.loads((folder / "k.json").read_text())["kept"]["kept"] < 0.88


def test_vectors_without_texts_are_released_with_one_line_of_warning(folder):
    """The protector was learned with neutral texts, and none can stand in here."""
    from sfumato.embedders import Fake

    vectors = Fake().embed(sentences(40))
    np.save(folder / "alone.npy", vectors)
    kind = pa.list_(pa.float32(), vectors.shape[1])
    (folder / "alone").mkdir()
    table = pa.table({"embedding": pa.array(list(vectors), type=kind)})
    pq.write_table(table, folder / "alone" / "a.parquet", row_group_size=10)
    for source, output in (("alone.npy", "alone.parquet"), ("alone", "released")):
        done = sfumato("protect", source, "--protector", "protector", "-o", output, cwd=folder)
        assert done.returncode == 0, done.stderr
        (line,) = done.stderr.strip().splitlines()
        assert line.startswith("sfumato: warning: ") and "--neutral 0" in line


def test_columns_are_kept_when_named_and_text_only_then(folder):
    rows = [{"text": text, "id": row} for row, text in enumerate(sentences(30))]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    base = ("protect", "rows.jsonl", "--protector", "protector", "-o", "rows.parquet")
    assert sfumato(*base, "--keep-columns", "id", cwd=folder).returncode == 0
    assert pq.read_table(folder / "rows.parquet").column_names == ["id", "embedding"]
    missing = sfumato(*base, "--keep-columns", "nothing", "--restart", cwd=folder)
    assert missing.returncode == 2 and "nothing" in missing.stderr


def test_a_folder_gives_a_folder(folder):
    (folder / "many").mkdir()
    for name in ("a.txt", "b.txt"):
        (folder / "many" / name).write_text("\n".join(sentences(12)))
    done = sfumato("protect", "many", "--protector", "protector", "-o", "many-out", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in (folder / "many-out").glob("*.parquet")) == ["a.parquet", "b.parquet"]


def test_a_folder_of_files_goes_on_with_those_that_are_not_finished(folder):
    (folder / "notes").mkdir()
    for name in ("a.txt", "b.txt", "c.txt"):
        (folder / "notes" / name).write_text("\n".join(sentences(12)))
    (folder / "notes/b.txt").write_bytes(b"not \xff a text")
    base = ("protect", "notes", "--protector", "protector", "-o", "notes-out", "--json", "notes.json")
    assert sfumato(*base, cwd=folder).returncode == 2
    first = (folder / "notes-out/a.parquet").read_bytes()
    (folder / "notes/b.txt").write_text("\n".join(sentences(12, seed=2)))
    done = sfumato(*base, cwd=folder)
    assert done.returncode == 0, done.stderr
    outputs = json.loads((folder / "notes.json").read_text())["outputs"]
    assert [each["resumed"] for each in outputs] == [1, 0, 0] and "by an earlier run" in done.stdout
    assert (folder / "notes-out/a.parquet").read_bytes() == first  # fresh noise, drawn once
    assert sfumato(*base, "--restart", cwd=folder).returncode == 0
    assert (folder / "notes-out/a.parquet").read_bytes() != first


def bad_inputs(folder):
    (folder / "empty.txt").write_text("")
    (folder / "binary.txt").write_bytes(bytes(range(256)) * 40)
    (folder / "wrong.csv").write_text("id,body\n1,hello\n")
    (folder / "other.txt").write_text("Atlantis\nLemuria\n")
    np.save(folder / "narrow.npy", np.ones((3, 5), np.float32) / 3)
    learn = ("learn", "texts.txt", "--embedder", "fake", "-o", "p2")
    protect = ("protect", "texts.txt", "-o", "x.npy")
    return {
        "no concept": learn,
        "unknown concept": (*learn, "--concept", "wether"),
        "no match": (*learn, "--terms", "other.txt"),
        "missing terms": (*learn, "--terms", "absent.txt"),
        "empty file": ("learn", "empty.txt", "--terms", "places.txt", "--embedder", "fake", "-o", "p2"),
        "binary file": ("learn", "binary.txt", "--terms", "places.txt", "--embedder", "fake", "-o", "p2"),
        "missing column": ("learn", "wrong.csv", "--terms", "places.txt", "--embedder", "fake", "-o", "p2"),
        "missing file": ("protect", "absent.txt", "--protector", "protector", "-o", "x.npy"),
        "wrong dimension": ("protect", "narrow.npy", "--protector", "protector", "-o", "x.npy"),
        "no such protector": (*protect, "--protector", "absent"),
        "both": (*protect, "--protector", "protector", "--mechanism", "laplace"),
        "neither": protect,
        "no noise level": ("protect", "narrow.npy", "--mechanism", "laplace", "-o", "x.npy"),
        "two noise levels": (*protect, "--protector", "protector", "--epsilon", "1", "--noise-ratio", "1"),
        "bad keep": (*protect, "--protector", "protector", "--keep", "everything"),
        "bad epsilon": (*protect, "--protector", "protector", "--epsilon", "-1"),
        "bad output": ("protect", "texts.txt", "--protector", "protector", "-o", "x.csv"),
        "ledger without secret": (*protect, "--protector", "protector", "--ledger", "l.db"),
        "unknown encoder": (
            "learn",
            "texts.txt",
            "--terms",
            "places.txt",
            "--embedder",
            "no-such",
            "-o",
            "p2",
        ),
    }


def test_bad_input_is_one_line_and_nothing_is_left(folder):
    for name, arguments in bad_inputs(folder).items():
        done = sfumato(*arguments, cwd=folder)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2, (name, done.returncode, done.stderr)
        assert len(lines) == 1 and lines[0].startswith("sfumato: "), (name, done.stderr)
        assert not (folder / "x.npy").exists() and not (folder / "p2").exists(), name


def test_killed_three_times_and_resumed_gives_the_same_bytes(folder):
    """A keyed run that is killed and resumed ends with the bytes of one that ran through."""
    (folder / "long.txt").write_text("\n".join(sentences(1_500, seed=4)) + "\n")
    base = ["protect", "long.txt", "--protector", "protector", "--secret", "sticky.key", "--batch", "150"]
    assert sfumato(*base, "-o", "whole.npy", cwd=folder).returncode == 0
    code = "from sfumato.cli.main import run; run()"
    killed = 0
    for _ in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", code, *base, "-o", "parts.npy"], cwd=folder, stdout=subprocess.DEVNULL
        )
        before = len(list((folder / ".parts.npy.parts").glob("part-*"))) if killed else 0
        while process.poll() is None and killed < 3:
            done = len(list((folder / ".parts.npy.parts").glob("part-*")))
            if done > before:
                os.kill(process.pid, signal.SIGKILL)
                process.wait()
                killed += 1
                break
            time.sleep(0.01)
        process.wait()
        assert process.returncode in (0, -signal.SIGKILL)
        if process.returncode == 0:
            break
        assert not (folder / "parts.npy").exists()
    assert killed == 3
    assert (folder / "parts.npy").read_bytes() == (folder / "whole.npy").read_bytes()
