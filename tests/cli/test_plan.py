"""`sfumato plan` as a user runs it."""

from __future__ import annotations

import json

import pytest
from tests.cli.test_main import as_program, sfumato

from sfumato.concepts.concept import Concept
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import save_protector


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


@pytest.fixture(scope="module")
def notes(tmp_path_factory):
    """Notes of very different lengths, and a protector of the encoder for tests."""
    folder = tmp_path_factory.mktemp("notes")
    rows = [f"Visit {n} to {('Calder', 'the sea')[n % 2]}" + " went well" * (n % 40) for n in range(400)]
    (folder / "notes.jsonl").write_text("\n".join(json.dumps({"text": row}) for row in rows))
    places = Concept.from_terms("place", ["Ashford", "Calder"])
    made = Protector(Laplace(epsilon=50.0), "fake:64", (places,), neutral=4, learned={"dim": 64})
    save_protector(made, folder / "p")
    return folder


def test_plan_times_the_very_protector_on_texts_of_the_user(notes):
    done = sfumato("plan", "notes.jsonl", "--protector", "p", "--sticky", "--json", "p.json", cwd=notes)
    assert done.returncode == 0, done.stderr
    for word in ("400 texts of", "find and make neutral", "embed", "noise and filter", "for `protect`"):
        assert word in done.stdout
    assert "Calder" not in done.stdout + done.stderr
    facts = json.loads((notes / "p.json").read_text())
    assert facts["rows"] == 400 and facts["probed"] == 400 and facts["matched"] == 0.5
    assert facts["passes"] == 0.5 + 0.5 * 4  # four copies where a place is found
    assert set(facts["stages"]) == {"find", "embed", "release"} and facts["seconds"] > facts["starting"] >= 0
    more = sfumato(
        "plan", "notes.jsonl", "--protector", "p", "--vectors", "4e6", "--json", "m.json", cwd=notes
    )
    assert more.returncode == 0 and json.loads((notes / "m.json").read_text())["rows"] == 4_000_000


def test_bad_plans_of_a_protector_are_one_line(notes):
    for arguments in (
        ("--protector", "p"),
        (".", "--protector", "p"),
        ("notes.jsonl",),
        ("notes.jsonl", "--protector", "p", "--cores", "4"),
        ("notes.jsonl", "--protector", "p", "--mechanism", "laplace"),
        ("notes.jsonl", "--protector", "missing"),
        (),
    ):
        done = sfumato("plan", *arguments, cwd=notes)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2 and len(lines) == 1 and lines[0].startswith("sfumato: "), arguments
