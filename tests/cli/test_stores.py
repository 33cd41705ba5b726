"""Collections from the command line: listed, audited, migrated, audited again; and the example in SQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.auditing.schema import problems
from tests.auditing.small import shrink
from tests.cli.test_main import as_program, sfumato
from tests.stores.servers import postgres

from sfumato.embedders import load_embedder
from sfumato.records import DISEASES, make_records
from sfumato.stores import STORES, open_store

RECORDS = make_records(300, seed=11)
TERMS = ("--terms", "diseases.txt")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A collection of clean vectors with their texts, a file of the texts with ids, and a protector."""
    path = tmp_path_factory.mktemp("stores")
    texts = [record.text for record in RECORDS]
    (path / "diseases.txt").write_text("\n".join(DISEASES))
    lines = [json.dumps({"id": f"r{row}", "text": text}) for row, text in enumerate(texts)]
    (path / "records.jsonl").write_text("\n".join(reversed(lines)))
    (path / "others.txt").write_text("\n".join(record.text for record in make_records(200, seed=12)))
    with open_store(f"lancedb:{path}/clean#notes") as store:
        ids = [f"r{row}" for row in range(len(texts))]
        store.add(ids, load_embedder("wordllama").embed(texts), [{"body": text} for text in texts])
    done = sfumato(
        "learn", "others.txt", *TERMS, "--embedder", "wordllama", "--origin", "synthetic", "-o", "protector",
        cwd=path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path


def audited(folder, *arguments):
    done = sfumato(
        "audit", *arguments, *TERMS, "--embedder", "wordllama", "--fail-above", "0.10", "--json", "a.json",
        cwd=folder,
    )  # fmt: skip
    assert done.returncode in (0, 1, 3), done.stderr
    found = json.loads((folder / "a.json").read_text())
    assert problems(found) == []
    assert not [record for record in RECORDS if record.text in done.stdout + done.stderr + json.dumps(found)]
    return done.returncode, found


def test_a_collection_fails_is_migrated_and_passes(folder):
    code, found = audited(folder, "--store", "lancedb:clean#notes", "--text-field", "body")
    assert code == 1 and found["leakage"]["excess"] == 1.0
    assert "--store 'lancedb:clean#notes'" in found["settings"]["command"]
    done = as_program(
        "migrate", "--from", "lancedb:clean#notes", "--to", "faiss:safe", "--protector", "protector",
        "--texts", "--text-field", "body", "--json", "m.json", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    moved = json.loads((folder / "m.json").read_text())
    assert moved["rows"] == 300 and moved["from_texts"] and moved["fields"] == [] and moved["guarantee"]
    # The new collection holds no texts, so they are given by id, in another order.
    code, found = audited(folder, "records.jsonl", "--store", "faiss:safe")
    # Fresh noise and few texts: the verdict may go either way, but not that less is read.
    assert found["leakage"]["released"] < found["leakage"]["control"]
    assert code == (0 if found["leakage"]["excess"] <= 0.10 else 1)


def test_bad_input_is_one_line_and_exit_2(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    (folder / "plain.txt").write_text("one\ntwo\n")
    for arguments in (
        ("audit", *TERMS),
        ("audit", "--store", "lancedb:clean#notes", *TERMS),
        ("audit", "--store", "lancedb:clean#absent", *TERMS),
        *(("audit", "--store", f"{kind}:nowhere#notes", *TERMS) for kind in ("chroma", "qdrant", "lancedb")),
        ("audit", "plain.txt", "--store", "lancedb:clean#notes", *TERMS),
        ("audit", "records.jsonl", "--store", "lancedb:clean#notes", "--id-column", "key", *TERMS),
        ("audit", "records.jsonl", "--store", "lancedb:clean#notes", "--protector", "protector"),
        ("audit", "--store", "lancedb:clean#notes", "--text-field", "tag", *TERMS),
    ):
        done = sfumato(*arguments, cwd=folder)
        lines = done.stderr.strip().splitlines()
        assert done.returncode == 2 and len(lines) == 1 and lines[0].startswith("sfumato: "), (
            arguments,
            done.stderr,
        )
    assert not (folder / "nowhere").exists()


def test_the_list_of_stores(tmp_path):
    done = as_program("stores", "--json", str(tmp_path / "s.json"))
    found = json.loads((tmp_path / "s.json").read_text())["stores"]
    assert done.returncode == 0 and [row["name"] for row in found] == list(STORES.names())
    assert all(row["installed"] and row["written"] and row["name"] in done.stdout for row in found)
    assert {row["name"]: row["install"] for row in found}["chroma"] == "pip install 'sfumato[chroma]'"


@pytest.mark.parametrize("own", [True, False])
def test_the_example_with_sql(own, tmp_path):
    script = Path(__file__).parents[2] / "examples" / "pgvector_sql.py"
    settings = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    command = [sys.executable, str(script)]
    if own:
        done = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=tmp_path)
    else:
        with postgres() as address:
            settings["DATABASE_URL"] = address
            done = subprocess.run(command, capture_output=True, text=True, env=settings, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "record 7  ward 3" in done.stdout and "200 rows" in done.stdout
