"""`sfumato protect` on a folder of Parquet files, as a user runs it."""

from __future__ import annotations

import json

from tests.cli.test_main import as_program, sfumato
from tests.scale.folders import contents, make_folder


def test_a_folder_of_parquet(tmp_path):
    make_folder(tmp_path / "in")
    base = ("protect", "in", "--mechanism", "laplace", "--noise-ratio", "1", "--secret", "key")
    for out, workers, run in (("one", "1", sfumato), ("two", "2", as_program)):
        done = run(
            *base, "-o", out, "--workers", workers, "--keep-columns", "id", "--json", "o.json", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        assert f"{out}: 2100 rows, 3 parts; manifest _manifest.json" in done.stdout
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    facts = json.loads((tmp_path / "o.json").read_text())
    assert facts["outputs"][0]["parts"] == 3 and facts["outputs"][0]["rows"] == 2100
    again = sfumato(*base, "-o", "two", "--keep-columns", "id", cwd=tmp_path)
    assert again.returncode == 0 and "3 of them by an earlier run" in again.stdout
    other = sfumato(*base, "-o", "two", cwd=tmp_path)
    assert other.returncode == 2 and "--restart" in other.stderr


def test_bad_input_is_one_line(tmp_path):
    make_folder(tmp_path / "in", files=1)
    (tmp_path / "texts.txt").write_text("one\ntwo\n")
    plain = ("--mechanism", "laplace", "--epsilon", "3", "-o", "out")
    for arguments in (
        ("protect", "in", *plain, "--engine", "abacus"),
        ("protect", "in", *plain, "--workers", "0"),
        ("protect", "in", *plain, "--ledger", "l.db"),
        ("protect", "nowhere://bucket/x", *plain),
        ("protect", "memory://absent", *plain),
        ("protect", "texts.txt", *plain, "--embedder", "fake", "--workers", "2"),
        ("protect", "in", "--mechanism", "laplace", "--epsilon", "3", "-o", "in"),
    ):
        done = sfumato(*arguments, cwd=tmp_path)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2, (arguments, done.stderr)
        assert len(lines) == 1 and lines[0].startswith("sfumato: "), (arguments, done.stderr)
        assert not contents(tmp_path / "out")


def test_a_folder_of_two_kinds_is_refused_before_half_of_it_is_left_out(tmp_path):
    source = tmp_path / "both"
    make_folder(source, files=1)
    (source / "two.jsonl").write_text('{"text": "Another note."}\n')
    done = sfumato(
        "protect", str(source), "--mechanism", "laplace", "--epsilon", "9", "-o", str(tmp_path / "out")
    )
    assert done.returncode == 2 and "Found two.jsonl beside Parquet files in both" in done.stderr
    assert not (tmp_path / "out").exists()
