"""Audits that said what is not so: vectors in the wrong rows, options dropped, a pass without a limit.

Each test is an input on which a wrong word was once printed, run through the command as a user runs it.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.accounting import Secret
from sfumato.auditing import AuditSettings, audit
from sfumato.cli.main import run
from sfumato.concepts import Concept
from sfumato.embedders import load_embedder
from sfumato.learning import LearnSettings, learn
from sfumato.randomness import generator
from sfumato.records import DISEASES, make_records
from sfumato.stores import open_store
from tests.auditing.schema import problems
from tests.auditing.small import shrink
from tests.encoders import stand_in_for_minilm

RECORDS = make_records(300, seed=11)
TEXTS = [record.text for record in RECORDS]
IDS = [f"note-{row}" for row in range(len(TEXTS))]
TERMS = ("--terms", "diseases.txt")


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


@pytest.fixture(scope="module", autouse=True)
def encoder():
    with stand_in_for_minilm():
        yield


@pytest.fixture(scope="module")
def vectors(encoder):
    return load_embedder("minilm").embed(TEXTS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, vectors):
    path = tmp_path_factory.mktemp("verdicts")
    lines = [json.dumps({"id": name, "text": text}) for name, text in zip(IDS, TEXTS, strict=True)]
    (path / "notes.jsonl").write_text("\n".join(lines))
    (path / "plain.txt").write_text("\n".join(TEXTS))
    (path / "diseases.txt").write_text("\n".join(DISEASES))
    (path / "some.txt").write_text("\n".join(DISEASES[::2]))
    write(path / "clean.parquet", vectors, IDS)
    return path


def write(path, vectors, ids=None):
    table = {"embedding": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])}
    pq.write_table(pa.table(table if ids is None else {"id": ids, **table}), path)


def audited(folder, monkeypatch, capsys, *arguments):
    """Exit code, JSON and what was printed."""
    monkeypatch.chdir(folder)
    with pytest.raises(SystemExit) as stopped:
        run(["audit", *arguments, "-o", "report.html", "--json", "a.json"])
    found = json.loads((folder / "a.json").read_text())
    assert problems(found) == []
    return stopped.value.code, found, capsys.readouterr().out


ORDERS = {
    "sorted by id": np.argsort(IDS),
    "one row further": np.roll(np.arange(len(IDS)), 1),
    "shuffled": generator(0).permutation(len(IDS)),
}


@pytest.mark.parametrize("order", ORDERS)
def test_unprotected_vectors_in_other_rows_do_not_pass(folder, monkeypatch, capsys, vectors, order):
    """Before: PASS, exit 0, a green page, at 2 % utility."""
    rows = ORDERS[order]
    write(folder / "moved.parquet", vectors[rows])
    arguments = ("--embeddings", "moved.parquet", *TERMS, "--fail-above", "0.10")
    code, found, printed = audited(folder, monkeypatch, capsys, "notes.jsonl", *arguments)
    assert code == 3 and found["verdict"] == "refused" and "REFUSED" in printed
    assert "these vectors do not belong to these texts" in found["reason"]
    assert 'class="verdict refused"' in (folder / "report.html").read_text()


def test_ids_in_both_files_join_them_whatever_the_order(folder, monkeypatch, capsys, vectors):
    rows = ORDERS["sorted by id"]
    write(folder / "moved.parquet", vectors[rows], [IDS[row] for row in rows])
    arguments = ("--embeddings", "moved.parquet", *TERMS, "--fail-above", "0.10")
    code, found, _ = audited(folder, monkeypatch, capsys, "notes.jsonl", *arguments)
    assert code == 1 and found["verdict"] == "fail" and found["leakage"]["excess"] == 1.0


def test_no_limit_is_no_pass(folder, monkeypatch, capsys):
    """Before: "PASS ... an excess leakage of 100 % ... No limit was set", exit 0."""
    arguments = ("--embeddings", "clean.parquet", *TERMS)
    code, found, printed = audited(folder, monkeypatch, capsys, "notes.jsonl", *arguments)
    assert code == 0 and found["verdict"] == "measured"
    assert "MEASURED" in printed and "PASS" not in printed
    assert found["leakage"]["excess"] == found["leakage"]["absolute"] == 1.0


def test_every_concept_that_is_named_is_audited(folder, monkeypatch, capsys):
    """Before: only the last was, and nothing said so."""
    arguments = ("--embeddings", "clean.parquet", *TERMS, "--terms", "some.txt", "--concept", "disease")
    code, found, printed = audited(
        folder, monkeypatch, capsys, "notes.jsonl", *arguments, "--fail-above", "0.1"
    )
    assert [each["name"] for each in found["concepts"]] == ["disease", "diseases", "some"]
    assert code == 1 and {each["verdict"] for each in found["concepts"]} == {"fail"}
    assert "The worst of 3 concepts" in printed


def test_without_an_encoder_the_guess_is_not_called_removed(folder, monkeypatch, capsys, vectors):
    """Before: the prior stood in the column `removed`, and naming the encoder turned the verdict around."""
    noise = generator(1).standard_normal(vectors.shape).astype(np.float32)
    write(folder / "noised.parquet", vectors + 0.04 * noise, IDS)
    base = ("notes.jsonl", "--embeddings", "noised.parquet", *TERMS, "--fail-above", "0.10")
    blind = audited(folder, monkeypatch, capsys, *base, "--clean", "clean.parquet")
    seen = audited(folder, monkeypatch, capsys, *base, "--embedder", "minilm")
    assert blind[1]["leakage"]["floor"] is None and blind[1]["leakage"]["excess"] is None
    assert "not measured" in blind[2] and "--embedder" in blind[2]
    assert blind[1]["leakage"]["absolute"] == pytest.approx(seen[1]["leakage"]["absolute"])
    assert blind[0] == seen[0] == 1


def test_a_collection_that_is_not_there_is_not_made(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    for kind in ("memory", "faiss", "chroma", "qdrant", "lancedb", "milvus", "sqlite"):
        with pytest.raises(SystemExit) as stopped:
            run(["audit", "--store", f"{kind}:nowhere", *TERMS])
        assert stopped.value.code == 2 and len(capsys.readouterr().err.strip().splitlines()) == 1
        assert not (folder / "nowhere").exists()


def test_clean_notes_in_a_collection_have_a_verdict(folder, monkeypatch, capsys, vectors):
    """Before: where the rest of the text tells much, REFUSED, while the informed attacker read 100 %."""
    # The ward gives the disease away, so that removing its name takes nothing from whoever reads the vector.
    wards = {
        "scurvy": "red",
        "rickets": "harbour",
        "rabies": "winter",
        "plague": "piano",
        "beriberi": "garden",
    }
    told = [
        f"{record.query}. The {wards[term]} ward: {term}."
        for record, term in zip(RECORDS, list(wards) * (len(RECORDS) // len(wards)), strict=True)
    ]
    (folder / "wards.txt").write_text("\n".join(wards))
    with open_store(f"lancedb:{folder}/notes#notes") as store:
        store.add(IDS, load_embedder("minilm").embed(told), [{"document": text} for text in told])
    code, found, printed = audited(
        folder,
        monkeypatch,
        capsys,
        "--store",
        "lancedb:notes#notes",
        "--terms",
        "wards.txt",
        "--fail-above",
        "0.1",
    )
    leakage = found["leakage"]
    assert leakage["floor"] > 0.9 * leakage["control"] and not found["attacks"][0]["separates"]
    assert code == 1 and leakage["absolute"] == pytest.approx(1.0) and "FAIL" in printed
    assert found["worst_case"]["released"] > 0.9


def test_the_oracle_names_no_more_than_chance_where_terms_are_found():
    """Before: 40 of 40 terms, found or not; whoever may ask names what the detector misses, then as now."""
    concept = Concept.from_terms("disease", DISEASES)
    others = [record.text for record in make_records(200, seed=12)]
    made = learn(
        others, concept, embedder=load_embedder("wordllama"), settings=LearnSettings(source="synthetic")
    )
    known = Concept.from_terms("disease", DISEASES[::2])
    half = replace(made, concepts=(known,), secret=Secret(bytes(32)))
    found = audit(TEXTS, concept, protector=half, settings=AuditSettings(fail_above=0.1)).oracle
    assert found.found.low <= found.chance <= found.found.high
    assert found.missed.value == 1.0
