"""`sfumato audit` as a user runs it: exit codes, report, JSON, and the bad input a user is likely to give."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.auditing.schema import problems
from tests.auditing.small import shrink
from tests.cli.test_main import as_program, sfumato

from sfumato.accounting import Secret
from sfumato.cli.main import run
from sfumato.embedders import load_embedder
from sfumato.randomness import generator
from sfumato.records import DISEASES, make_records

RECORDS = make_records(300, seed=11)
TERMS = ("--terms", "diseases.txt")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Records that may not be shown, terms, clean and random vectors, and a protector."""
    path = tmp_path_factory.mktemp("audit")
    rows = [{key: value for key, value in each.to_dict().items() if key != "showable"} for each in RECORDS]
    (path / "records.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (path / "diseases.txt").write_text("\n".join(DISEASES))
    searches = [{"text": each.query, "relevant": row} for row, each in enumerate(RECORDS)]
    (path / "searches.jsonl").write_text("\n".join(map(json.dumps, searches)))
    np.save(path / "clean.npy", load_embedder("wordllama").embed([each.text for each in RECORDS]))
    np.save(path / "random.npy", generator(0).standard_normal((300, 64)).astype(np.float32))
    others = "\n".join(record.text for record in make_records(200, seed=12))
    (path / "others.txt").write_text(others)
    done = sfumato(
        "learn", "others.txt", "--terms", "diseases.txt", "--embedder", "wordllama", "--origin", "synthetic",
        "-o", "protector", cwd=path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path


def audited(folder, *arguments, run=sfumato):
    """Run an audit with a report and JSON; nothing of it may hold a text."""
    done = run(
        "audit", "records.jsonl", *arguments, "--fail-above", "0.10", "-o", "report.html", "--json", "a.json",
        cwd=folder,
    )  # fmt: skip
    page, figures = (folder / "report.html").read_text(), (folder / "a.json").read_text()
    everything = page + figures + done.stdout + done.stderr
    assert not [record for record in RECORDS if record.text in everything or record.query in everything]
    assert "Report: report.html" in done.stdout
    found = json.loads(figures)
    assert problems(found) == []
    return done, found, page


def test_a_protected_set_passes(folder):
    done, found, page = audited(folder, "--protector", "protector", "--searches", "searches.jsonl")
    assert done.returncode == 0 and found["verdict"] == "pass" and "PASS" in done.stdout
    assert found["leakage"]["excess"] <= 0.10 < found["leakage"]["control"]
    assert found["settings"]["target"] == "protector" and found["guarantee"]["metric"] == "mahalanobis"
    assert found["settings"]["command"].startswith("sfumato audit records.jsonl --protector protector")
    assert "Within the limit of 10" in page and str(folder) not in page + json.dumps(found)


def test_an_unprotected_set_fails(folder):
    done, found, page = audited(folder, "--embeddings", "clean.npy", *TERMS, "--embedder", "wordllama")
    assert done.returncode == 1 and found["verdict"] == "fail" and "FAIL" in done.stdout
    assert found["leakage"]["excess"] == 1.0 and "Above the limit" in page


def test_vectors_that_no_attack_reads_are_refused(folder):
    done, found, page = audited(
        folder, "--embeddings", "random.npy", "--clean", "random.npy", *TERMS, run=as_program
    )
    assert done.returncode == 3 and found["verdict"] == "refused" and "REFUSED" in done.stdout
    assert "proves nothing" in found["reason"] and "No verdict" in page
    assert "not measured" in done.stdout and found["attacks"][0]["floor"] is None


def test_a_secret_has_the_oracle_asked_and_none_is_made(folder):
    Secret.from_file(folder / "key", create=True)
    done, found, _ = audited(folder, "--protector", "protector", "--secret", "key", "--rows", "100")
    assert "oracle" in {row["name"] for row in found["attacks"]} and found["oracle"]["candidates"] > 2
    assert "may ask the same protector" in found["reason"]
    (folder / "key").unlink()


def bad_inputs(folder):
    (folder / "bad.jsonl").write_text('{"text": "x", "relevant": 9000}\n')
    (folder / "scores.tsv").write_text("text\ttext2\tscore\na\tb\thigh\n")
    np.save(folder / "short.npy", np.ones((3, 64), np.float32))
    base = ("audit", "records.jsonl", "--protector", "protector")
    vectors, terms = ("audit", "records.jsonl", "--embeddings"), ("--terms", "diseases.txt")
    return {
        "neither": ("audit", "records.jsonl", *terms),
        "both": (*base, "--embeddings", "clean.npy"),
        "no such protector": ("audit", "records.jsonl", "--protector", "absent"),
        "a secret without a protector": (*vectors, "clean.npy", *terms, "--secret", "key"),
        "a secret that is not there": (*base, "--secret", "key"),
        "ids that are not there": (*vectors, "clean.npy", *terms, "--id-column", "key"),
        "absolute limit out of range": (*base, "--fail-absolute-above", "-1"),
        "unknown concept": (*base, "--concept", "wether"),
        "unknown suite": (*base, "--suite", "slow"),
        "unknown attack": (*base, "--attack", "telepathy"),
        "truth said twice": (*base, *terms, "--truth-spans", "DIS"),
        "labels that are not there": (*base, "--truth-spans", "DIS"),
        "limit out of range": (*base, "--fail-above", "2"),
        "too few vectors": (*vectors, "short.npy", "--clean", "short.npy", *terms),
        "texts as vectors": (*vectors, "others.txt", *terms),
        "vectors as texts": ("audit", "clean.npy", "--protector", "protector"),
        "rows that are not there": (*base, "--searches", "bad.jsonl"),
        "scores that are none": (*base, "--utility", "scores.tsv"),
        "missing file": ("audit", "absent.jsonl", "--protector", "protector"),
    }


def test_bad_input_is_one_line_and_exit_2(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for name, arguments in bad_inputs(folder).items():
        with pytest.raises(SystemExit) as stopped:
            run([*arguments, "-o", "never.html"])
        lines = capsys.readouterr().err.strip().splitlines()
        assert stopped.value.code == 2, (name, stopped.value.code, lines)
        assert len(lines) == 1 and lines[0].startswith("sfumato: "), (name, lines)
        assert not (folder / "never.html").exists(), name


def test_the_example_for_ci_holds_a_protector_to_a_limit(tmp_path, monkeypatch, capsys):
    script = Path(__file__).parents[2] / "examples" / "ci_leakage.py"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [str(script), "--most", "0.2", "--json", "a.json"])
    with pytest.raises(SystemExit) as stopped:
        runpy.run_path(str(script), run_name="__main__")
    said = capsys.readouterr()
    assert stopped.value.code == 0, said.out + said.err
    assert "excess leakage" in said.out and "kept" in said.out
    assert problems(json.loads((tmp_path / "a.json").read_text())) == []


def test_help_has_an_example():
    shown = sfumato("audit", "-h")
    assert shown.returncode == 0 and "Examples" in shown.stdout and "--fail-above" in shown.stdout


def test_labels_can_be_the_truth(folder):
    rows = [record.to_dict() for record in RECORDS]
    for row in rows:
        places = [(row["text"].find(term), term) for term in DISEASES if term in row["text"]]
        row["spans"] = [{"start": at, "end": at + len(term), "label": "DIS"} for at, term in places]
    (folder / "labelled.jsonl").write_text("\n".join(map(json.dumps, rows)))
    asked = ("--protector", "protector", "--truth-spans", "DIS,NONE", "--json", "labels.json")
    done = sfumato("audit", "labelled.jsonl", *asked, cwd=folder)
    first = done.stdout.splitlines()
    assert first[0].startswith("An attacker who knows everything but the term, with "), done.stderr
    assert first[1].startswith("The truth here is labels (spans labelled DIS, NONE)")
    assert first[2].startswith("Measured: who knew all but the term named ")
    assert first[-1].startswith("Epsilon ")
    assert "missed: it misses one" in done.stdout
    found = json.loads((folder / "labels.json").read_text())
    certified, every = found["certificate"], found["rows"]["all"]["count"]
    assert certified["detector"]["texts"] == every
    assert certified["detector"]["missed"] == found["rows"]["missed"]["count"]
    assert certified["over_all_texts"]["worst"] <= certified["success"]["worst"]
    assert found["truth"] == "labels" and "--truth-spans DIS,NONE" in found["settings"]["command"]
    assert found["rows"]["found"]["count"] > found["rows"]["missed"]["count"] == 0
