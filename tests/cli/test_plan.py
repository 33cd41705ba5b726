"""`sfumato plan` as a user runs it."""

from __future__ import annotations

import json

from tests.cli.test_main import as_program, sfumato


def test_plan_says_time_storage_and_bound(tmp_path):
    done = sfumato(
        "plan", "--vectors", "1e9", "--dim", "64", "--cores", "8", "--json", "p.json", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    for word in ("Time", "bounded by", "core hours", "256 GB written", "random bits", "Extrapolated"):
        assert word in done.stdout
    facts = json.loads((tmp_path / "p.json").read_text())
    assert facts["asked"]["vectors"] == 10**9 and facts["cores"] == 8 and facts["extrapolated"] is True
    assert facts["bound"] in {stage["name"] for stage in facts["stages"]}
    assert facts["seconds"] > 0 and facts["output_bytes"] == 256 * 10**9


def test_plan_from_texts_to_an_object_store():
    done = as_program("plan", "--vectors", "1e6", "--encode", "fake:64", "--store", "s3", "--sticky")
    assert done.returncode == 0, done.stderr
    assert "encode" in done.stdout and "store write" in done.stdout and "--bandwidth" in done.stdout


def test_bad_plans_are_one_line():
    for arguments in (
        ("--vectors", "lots"),
        ("--vectors", "1.5"),
        ("--vectors", "1e9", "--dim", "0"),
        ("--vectors", "1e9", "--store", "tape"),
        ("--vectors", "1e9", "--mechanism", "laplase"),
        ("--vectors", "1e9", "--encode", "fake:8", "--gpus", "1"),
    ):
        done = sfumato("plan", *arguments)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2 and len(lines) == 1 and lines[0].startswith("sfumato: "), arguments
