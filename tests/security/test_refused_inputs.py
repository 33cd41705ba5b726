"""An input that was refused can be put right and tried again, and nothing of it stays behind."""

from __future__ import annotations

import json
import os
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.cli import main
from sfumato.errors import ArtifactError, InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import load_protector
from sfumato.scale import release
from sfumato.scale.places import folder as place_of
from sfumato.scale.release import release_folder

NOISE = ("--mechanism", "laplace", "--noise-ratio", "0.5")


def unit(rows, seed=0):
    found = np.random.Generator(np.random.PCG64(seed)).standard_normal((rows, 16)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def with_nan(rows, at):
    found = unit(rows)
    found[at, 3] = np.nan
    return found


def plain():
    return Protector(Laplace(epsilon=16.0), normalise=False)


@pytest.fixture
def sfumato(tmp_path, monkeypatch, capsys):
    """Run the command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main.run(list(arguments))
        shown = capsys.readouterr()
        return SimpleNamespace(code=stopped.value.code, out=shown.out, err=shown.err)

    return run


def refused(done, *said):
    lines = done.err.strip().splitlines()
    assert done.code == 2 and len(lines) == 1 and lines[0].startswith("sfumato: "), done
    assert all(each in lines[0] for each in said), lines[0]


def names(path):
    return sorted(each.name for each in path.iterdir())


# One file


def test_the_right_columns_work_after_the_wrong_ones(sfumato, tmp_path):
    rows = [{"text": f"note {row}", "id": row} for row in range(20)]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    base = ("protect", "in.jsonl", "--embedder", "fake:16", *NOISE, "-o", "out.parquet")
    refused(sfumato(*base, "--keep-columns", "idd"), "no column 'idd'", "id, text")
    assert names(tmp_path) == ["in.jsonl"]
    done = sfumato(*base, "--keep-columns", "id")
    assert done.code == 0, done.err
    assert pq.read_table(tmp_path / "out.parquet").column("id").to_pylist() == list(range(20))
    refused(sfumato(*base[:-1], "out.npy", "--keep-columns", "id"), "no columns to keep")


@pytest.mark.parametrize(("rows", "at"), [(20, 7), (20_000, 19_000)], ids=["first batch", "last batch"])
def test_a_repaired_file_works(sfumato, tmp_path, rows, at):
    """Parts that were finished before the bad row are drafts nobody has seen: they make way as well."""
    np.save(tmp_path / "in.npy", with_nan(rows, at))
    base = ("protect", "in.npy", *NOISE, "-o", "out.npy")
    refused(sfumato(*base), "holds NaN")
    assert not (tmp_path / "out.npy").exists()
    assert (".out.npy.parts" in names(tmp_path)) == (rows > 4096)
    refused(sfumato(*base), "holds NaN")  # the same file goes on from there, and is refused again
    np.save(tmp_path / "in.npy", unit(rows))
    done = sfumato(*base)
    assert done.code == 0, done.err
    assert np.load(tmp_path / "out.npy").shape == (rows, 16)
    assert names(tmp_path) == ["in.npy", "out.npy", "out.npy.manifest.json"]


def test_other_settings_are_still_refused_where_work_would_be_lost(sfumato, tmp_path):
    np.save(tmp_path / "in.npy", with_nan(20_000, 19_000))
    base = ("protect", "in.npy", "-o", "out.npy", "--mechanism", "laplace")
    refused(sfumato(*base, "--noise-ratio", "0.5"), "NaN")
    refused(sfumato(*base, "--noise-ratio", "0.6"), "(protector)", "--restart")


def test_a_plan_without_a_part_is_replaced(sfumato, tmp_path):
    """A run that was killed early, or one of an earlier version, may have left one."""
    np.save(tmp_path / "in.npy", unit(20))
    (tmp_path / ".out.npy.parts").mkdir()
    (tmp_path / ".out.npy.parts" / "plan.json").write_text('{"input": "another"}')
    done = sfumato("protect", "in.npy", *NOISE, "-o", "out.npy")
    assert done.code == 0, done.err
    assert names(tmp_path) == ["in.npy", "out.npy", "out.npy.manifest.json"]


def test_columns_of_mixed_types_are_refused_in_one_line(sfumato, tmp_path):
    rows = [{"text": "a", "id": 1}, {"text": "b", "id": "two"}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    base = (
        "protect",
        "in.jsonl",
        "--embedder",
        "fake:16",
        *NOISE,
        "--keep-columns",
        "id",
        "-o",
        "out.parquet",
    )
    refused(sfumato(*base), "'id'", "do not go together")
    refused(sfumato(*base, "--batch", "1"), "do not go together")  # each part alone would do
    rows = [{"text": "a"}, {"text": "b", "id": "two"}, {"text": "c"}]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, [rows[1], rows[0], rows[2]])))
    assert sfumato(*base, "--batch", "1").code == 0
    assert pq.read_table(tmp_path / "out.parquet").column("id").to_pylist() == ["two", None, None]


def test_a_resumed_run_counts_rows_and_not_batches(tmp_path, monkeypatch):
    """Where rows are large, batches may be smaller than was asked for."""
    np.save(tmp_path / "in.npy", unit(50))
    real = release.read

    def uneven(source, *, batch, start, **named):
        yield from real(source, batch=7, start=start, **named)

    monkeypatch.setattr(release, "read", uneven)
    seen = []

    def stop_after_three(rows):
        seen.append(rows)
        if len(seen) == 3:
            raise KeyboardInterrupt

    out = tmp_path / "out.npy"
    with pytest.raises(KeyboardInterrupt):
        release.release_file(tmp_path / "in.npy", out, plain(), batch_rows=10, on_rows=stop_after_three)
    done = release.release_file(tmp_path / "in.npy", out, plain(), batch_rows=10)
    assert done.resumed_rows == 21 and done.rows == 50


# A folder of Parquet files


def write_folder(path, *bad):
    path.mkdir(exist_ok=True)
    for number in range(3):
        vectors = with_nan(60, 50) if number in bad else unit(60, number)
        table = pa.table({"id": list(range(60)), "embedding": pa.array(list(vectors))})
        pq.write_table(table, path / f"v{number}.parquet", row_group_size=60)
    return str(path)


def test_a_folder_with_the_right_columns_after_the_wrong_ones(tmp_path):
    source, out = write_folder(tmp_path / "in"), str(tmp_path / "out")
    for wrong in ({"keep_columns": ["idd"]}, {"id_column": "idd"}):
        with pytest.raises(InputError, match="no column 'idd'. It has: embedding, id"):
            release_folder(source, out, plain(), workers=1, **wrong)
    assert names(tmp_path) == ["in"]
    assert release_folder(source, out, plain(), workers=1, keep_columns=["id"]).rows == 180


def test_a_folder_whose_first_file_is_refused_leaves_nothing(tmp_path):
    source, out = write_folder(tmp_path / "in", 0, 1, 2), str(tmp_path / "out")
    with pytest.raises(InputError, match="Row 50 holds NaN"):
        release_folder(source, out, plain(), workers=1)
    assert names(tmp_path) == ["in"]
    write_folder(tmp_path / "in")
    assert release_folder(source, out, plain(), workers=1).rows == 180


def test_a_repaired_file_goes_on_and_what_was_published_is_not_drawn_again(tmp_path):
    source, out = write_folder(tmp_path / "in", 1), tmp_path / "out"
    with pytest.raises(InputError, match="Row 50 holds NaN"):
        release_folder(source, str(out), plain(), workers=1, part_rows=60)
    first = (out / "v0-00000.parquet").read_bytes()
    pq.write_table(
        pa.table({"id": list(range(60)), "embedding": pa.array(list(unit(60, 1)))}),
        tmp_path / "in/v1.parquet",
    )
    done = release_folder(source, str(out), plain(), workers=1, part_rows=60)
    assert (done.rows, done.resumed) == (180, 1)
    assert (out / "v0-00000.parquet").read_bytes() == first
    pq.write_table(pa.table({"embedding": pa.array(list(unit(60, 9)))}), tmp_path / "in/v0.parquet")
    with pytest.raises(InputError, match=r"inputs.*--restart"):  # its rows are out already
        release_folder(source, str(out), plain(), workers=1, part_rows=60)


def test_a_folder_that_ends_takes_its_lock_along_and_the_next_gets_one(tmp_path):
    out = place_of(str(tmp_path / "out"))
    for _ in range(2):
        with out.alone(), pytest.raises(InputError, match="Another run"), out.alone():
            pass
        assert names(tmp_path) == []
    (tmp_path / "out").mkdir()
    (tmp_path / "out/mine").write_text("mine")
    with out.alone():
        pass
    assert names(tmp_path / "out") == ["mine"]


# Where outputs go


@pytest.mark.parametrize("place", ["absent/out", "absent/deep/out"])
@pytest.mark.parametrize(
    "arguments",
    [
        ("learn", "in.txt", "--terms", "terms.txt", "--embedder", "fake", "-o", "{}"),
        ("protect", "in.txt", "--embedder", "fake", *NOISE, "-o", "{}.npy"),
        ("protect", "texts", "--embedder", "fake", *NOISE, "-o", "{}"),
        ("protect", "in.txt", "--embedder", "fake", *NOISE, "-o", "out.npy", "--json", "{}"),
        ("rewrite", "in.txt", "--epsilon", "20", "-o", "{}.txt"),
        ("rewrite", "in.txt", "--epsilon", "20", "--page", "{}"),
        ("audit", "in.txt", "--protector", "none", "-o", "{}"),
        ("attack", "in.txt", "--attack", "tokens", "--save", "{}"),
        ("study", "sparse", "--data", "texts", "-o", "{}"),
        ("demo", "--embedder", "fake", "-o", "{}"),
        ("mechanisms", "--json", "{}"),
    ],
    ids=lambda words: " ".join(words[:1] + words[-2:-1]),
)
def test_a_missing_folder_is_not_made(sfumato, tmp_path, arguments, place):
    (tmp_path / "in.txt").write_text("one\ntwo\n")
    (tmp_path / "terms.txt").write_text("one\n")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text("one\n")
    before = names(tmp_path)
    refused(sfumato(*(word.format(place) for word in arguments)), "there is no folder", "absent")
    assert names(tmp_path) == before


def test_refused_commands_leave_no_empty_folder(sfumato, tmp_path):
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.txt").write_text("one\n")
    refused(sfumato("study", "sparse", "--data", "texts", "-o", "out"), "--data")
    refused(sfumato("protect", "texts", *NOISE, "-o", "out"), "no vectors")
    refused(sfumato("demo", "--embedder", "absent", "-o", "out"), "embedder")
    (tmp_path / "texts/a.csv").write_text("text\none\n")
    refused(sfumato("protect", "texts", *NOISE, "--embedder", "fake", "-o", "out"), "several files named 'a'")
    assert names(tmp_path) == ["texts"]


# What is there already


def test_a_protector_is_replaced_only_when_told_to(sfumato, tmp_path):
    (tmp_path / "in.txt").write_text(
        "\n".join(f"visit {n} to {p}" for n in range(30) for p in ("Rome", "us"))
    )
    (tmp_path / "terms.txt").write_text("Rome\n")
    learn = ("learn", "in.txt", "--terms", "terms.txt", "--embedder", "fake:32", "-o", "made")
    assert sfumato(*learn).code == 0
    before = load_protector(tmp_path / "made").settings_digest()
    refused(sfumato(*learn, "--noise-ratio", "2"), "`made` already holds", "--force")
    refused(sfumato("attack", "in.txt", "--attack", "tokens", "--save", "made"), "already holds", "--force")
    assert load_protector(tmp_path / "made").settings_digest() == before
    refused(sfumato(*learn, "--noise-ratio", "-2", "--force"))  # a run that fails leaves the old one
    assert load_protector(tmp_path / "made").settings_digest() == before
    os.rename(tmp_path / "made", tmp_path / ".made.old")  # a save that was killed between two renames
    refused(sfumato(*learn, "--noise-ratio", "2"), "already holds")
    assert sfumato(*learn, "--noise-ratio", "2", "--force").code == 0
    assert load_protector(tmp_path / "made").settings_digest() != before
    (tmp_path / "made/mine.txt").write_text("mine")
    refused(sfumato(*learn, "--force"), "other files")
    assert (tmp_path / "made/mine.txt").read_text() == "mine"


# How much noise


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (("laplace", "--keep", "foo=0.9"), "`keep` must read"),
        (("projection", "--keep", "cosine=0.8"), "A cosine needs one dimension"),
        (("gaussian", "--epsilon", "5"), "not set by an epsilon"),
        (("identity", "--epsilon", "5"), "adds no noise"),
    ],
)
def test_what_cannot_set_the_noise_is_refused(sfumato, tmp_path, asked, said):
    np.save(tmp_path / "in.npy", unit(100))
    refused(sfumato("protect", "in.npy", "-o", "out.npy", "--mechanism", *asked), said)
    assert names(tmp_path) == ["in.npy"]


def test_every_mechanism_with_a_strength_can_be_calibrated(sfumato, tmp_path):
    np.save(tmp_path / "in.npy", unit(100))
    for name in ("laplace", "gaussian", "polar", "purkayastha"):
        done = sfumato("protect", "in.npy", "-o", "out.npy", "--mechanism", name, "--keep", "cosine=0.8")
        assert done.code == 0 and "cosine kept 0.8" in done.out, done


def test_a_missing_folder_is_refused_in_python_as_well(tmp_path):
    np.save(tmp_path / "in.npy", unit(20))
    with pytest.raises(ArtifactError, match="there is no folder"):
        release.release_file(tmp_path / "in.npy", tmp_path / "absent/out.npy", plain())
    assert names(tmp_path) == ["in.npy"]
