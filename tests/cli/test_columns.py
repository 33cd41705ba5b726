"""Other people's files: columns under other names, and the line that says which ones there are."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.cli.test_main import sfumato
from tests.encoders import stand_in_for_minilm
from tests.test_protector import PLACES, sentences

from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.inputs import ColumnNames, read

TEXTS = sentences(300)
VECTORS = Fake(dim=32).embed(TEXTS)
IDS = [f"n{row}" for row in range(len(TEXTS))]
TOKENS = ("--attack", "tokens", "--terms", "places.txt", "--set", "epochs=2", "--set", "copies=1")

pytestmark = pytest.mark.usefixtures("few_steps")


def labelled(text):
    place = next((place for place in PLACES if place in text), None)
    return [] if place is None else [
        {"start": text.index(place), "end": text.index(place) + len(place), "label": "PLACE"}
    ]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("columns")
    rows = [
        {"body": text, "uid": name, "spans": labelled(text)} for text, name in zip(TEXTS, IDS, strict=True)
    ]
    (path / "notes.jsonl").write_text("\n".join(map(json.dumps, rows)))
    lines = [f'{name},"{text}"' for text, name in zip(TEXTS, IDS, strict=True)]
    (path / "notes.csv").write_text("\n".join(["uid,body", *lines]))
    shuffled = np.random.default_rng(0).permutation(len(TEXTS))
    table = {"uid": [IDS[row] for row in shuffled], "vec": list(VECTORS[shuffled])}
    pq.write_table(pa.table(table), path / "vectors.parquet")
    pq.write_table(pa.table({"uid": IDS, "body": TEXTS, "vec": list(VECTORS)}), path / "both.parquet")
    (path / "places.txt").write_text("\n".join(PLACES))
    done = sfumato(
        "learn", "notes.csv", "--text-column", "body", "--terms", "places.txt", "--embedder", "fake:32",
        "-o", "protector", cwd=path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("learn", "notes.csv", "--terms", "places.txt", "-o", "p"), "--text-column"),
        (("learn", "notes.jsonl", "--terms", "places.txt", "-o", "p"), "--text-column"),
        (("protect", "both.parquet", "--mechanism", "laplace", "--epsilon", "9", "-o", "o.npy"), "-column"),
        (("protect", "vectors.parquet", "--vector-column", "v", "--mechanism", "laplace", "--epsilon", "9",
          "-o", "o.npy"), "--vector-column"),
        (("attack", "notes.csv", *TOKENS), "--text-column"),
        (("audit", "notes.csv", "--protector", "protector"), "--text-column"),
        (("audit", "notes.csv", "--text-column", "body", "--id-column", "id", "--protector", "protector"),
         "--id-column"),
        (("seal", "notes.csv", "--store", "memory:db#x", "--key", "k"), "--text-column"),
        (("rewrite", "notes.csv", "--epsilon", "5", "-o", "x.txt"), "--text-column"),
        (("explain", "protector", "--sample", "notes.csv", "--truth-spans", "PLACE"), "--text-column"),
    ],
)  # fmt: skip
def test_a_missing_column_is_answered_with_those_that_are_there(folder, words, said):
    with stand_in_for_minilm():
        done = sfumato(*words, cwd=folder)
    assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
    assert "It has: " in done.stderr and "uid" in done.stderr and said in done.stderr


def test_what_may_be_content_is_not_shown(tmp_path):
    (tmp_path / "a.csv").write_text("Zanzibar,17\nZanzibar,18\n")
    (tmp_path / "b.csv").write_text("Zanzibar,Smith\nTonga,Jones\n")
    (tmp_path / "c.jsonl").write_text('{"Zanzibar is far": 1}\n')
    for name in ("a.csv", "b.csv", "c.jsonl"):
        with pytest.raises(InputError, match="--text-column") as caught:
            list(read(tmp_path / name, need="text"))
        assert "Zanzibar" not in str(caught.value)


def test_a_column_of_the_usual_name_is_one_among_others(tmp_path):
    (tmp_path / "a.csv").write_text("text,body\na title,the words\n")
    (rows,) = read(tmp_path / "a.csv", names=ColumnNames(text="body"))
    assert rows.texts == ["the words"] and rows.columns == {"text": ["a title"]}


def test_one_column_is_not_two():
    with pytest.raises(InputError, match="different columns"):
        ColumnNames(text="body", vector="body")


@pytest.mark.parametrize("source", ["notes.csv", "both.parquet"])
def test_texts_of_another_column_are_protected(folder, source, tmp_path):
    out = tmp_path / "out.parquet"
    done = sfumato(
        "protect", source, "--text-column", "body", "--protector", "protector", "--keep-columns", "uid",
        "-o", out, cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    made = pq.read_table(out)
    assert made.column_names == ["uid", "embedding"] and made["uid"].to_pylist() == IDS


def test_vectors_of_another_column_are_protected_in_files_and_folders(folder, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.parquet").write_bytes((folder / "vectors.parquet").read_bytes())
    plain = ("--vector-column", "vec", "--mechanism", "laplace", "--epsilon", "1e4")
    for source, out in ((folder / "vectors.parquet", "o.npy"), (tmp_path / "in", "out")):
        done = sfumato("protect", source, *plain, "-o", tmp_path / out)
        assert done.returncode == 0, done.stderr
    made = pq.read_table(next((tmp_path / "out").glob("*.parquet")))
    given = np.array(pq.read_table(folder / "vectors.parquet")["vec"].to_pylist())
    assert np.allclose(np.load(tmp_path / "o.npy"), given, atol=0.02)
    assert np.allclose(np.array(made["embedding"].to_pylist()), given, atol=0.02)


def test_rows_of_a_file_have_accounts_by_their_ids(folder, tmp_path):
    spent = ("--mechanism", "laplace", "--epsilon", "9", "--secret", "s", "--ledger", "l", "--ceiling", "9")
    first = ("protect", folder / "vectors.parquet", "--vector-column", "vec", "--id-column", "uid")
    assert sfumato(*first, *spent, "-o", "a.npy", cwd=tmp_path).returncode == 0
    other = pq.read_table(folder / "vectors.parquet").slice(0, 3)
    moved = other.set_column(1, "vec", pa.array(list(VECTORS[10:13] * 0.5)))
    pq.write_table(moved, tmp_path / "other.parquet")
    again = ("protect", "other.parquet", "--vector-column", "vec", "--id-column", "uid")
    done = sfumato(*again, *spent, "-o", "b.npy", cwd=tmp_path)
    assert done.returncode == 2 and "ceiling" in done.stderr


def test_an_attack_joins_texts_and_vectors_by_id(folder, tmp_path):
    given = (
        "attack", "notes.jsonl", "--embeddings", "vectors.parquet", "--text-column", "body",
        "--vector-column", "vec", *TOKENS,
    )  # fmt: skip
    found = {}
    for name, more in (("joined", ("--id-column", "uid")), ("by row", ())):
        done = sfumato(*given, *more, "--json", tmp_path / "a.json", cwd=folder)
        assert done.returncode == 0, done.stderr
        found[name] = json.loads((tmp_path / "a.json").read_text())["figures"][0]["value"]
    assert found["joined"] > found["by row"] + 0.3


def test_an_attack_looks_for_labelled_spans(folder, tmp_path):
    given = ("attack", "notes.jsonl", "--text-column", "body", "--embedder", "fake:32", "--attack", "tokens",
             "--set", "epochs=2", "--set", "copies=1")  # fmt: skip
    done = sfumato(*given, "--spans", "PLACE", "--json", tmp_path / "a.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["figures"][0]["metric"] == "leakage" and found["figures"][0]["value"] > 0.5
    refused = sfumato(*given, "--spans", "NAME", cwd=folder)
    assert refused.returncode == 2 and "the labels PLACE" in refused.stderr


def test_a_protector_of_spans_is_attacked_with_them(folder, tmp_path):
    made = sfumato(
        "learn", "notes.jsonl", "--text-column", "body", "--spans", "PLACE", "--embedder", "fake:32",
        "-o", tmp_path / "p", cwd=folder,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    given = ("attack", "notes.jsonl", "--text-column", "body", "--protector", tmp_path / "p", "--attack",
             "tokens", "--set", "epochs=2", "--set", "copies=1", "--spans", "PLACE", "--json",
             tmp_path / "a.json")  # fmt: skip
    done = sfumato(*given, cwd=folder)
    assert done.returncode == 0, done.stderr
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["figures"][0]["value"] < 0.5 < found["control"]["value"]


def test_rewritten_texts_keep_their_ids(folder, tmp_path):
    done = sfumato(
        "rewrite", "notes.csv", "--text-column", "body", "--id-column", "uid", "--uniform", "200",
        "--vocabulary", "wordllama", "--words", "2000", "-o", tmp_path / "out.jsonl", cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert [row["uid"] for row in rows] == IDS


def test_sealed_texts_and_questions_come_from_other_columns(folder, tmp_path):
    place = ("--store", f"memory:{tmp_path}/store", "--key", tmp_path / "key")
    sealed = sfumato("seal", "notes.csv", "--text-column", "body", "--id-column", "uid", *place,
                     "--embedder", "fake:32", cwd=folder)  # fmt: skip
    assert sealed.returncode == 0, sealed.stderr
    (tmp_path / "ask.csv").write_text(f'q,words\nfirst,"{TEXTS[7]}"\n')
    done = sfumato("search", "--queries", "ask.csv", "--text-column", "words", "--id-column", "q", *place,
                   "--json", "found.json", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    (found,) = json.loads((tmp_path / "found.json").read_text())["results"]
    assert found["id"] == "first" and found["hits"][0]["text"] == TEXTS[7]


def test_longer_vectors_are_asked_for_and_their_row_is_named(tmp_path):
    long = np.array(VECTORS) * np.where(np.arange(len(VECTORS)) < 100, 1.0, 3.0)[:, None]
    np.save(tmp_path / "long.npy", long)
    plain = ("protect", "long.npy", "--mechanism", "laplace", "--noise-ratio", "0.1", "-o", "o.npy")
    refused = sfumato(*plain, "--batch", "64", cwd=tmp_path)
    assert refused.returncode == 2 and "Row 100 " in refused.stderr and "--max-norm" in refused.stderr
    done = sfumato(*plain, "--max-norm", "3", "--restart", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for keep in (("--keep", "recall@10=0.9"), ("--epsilon", "500")):
        again = (*plain[:4], *keep, "--max-norm", "3", "-o", "k.npy", "--restart")
        assert sfumato(*again, cwd=tmp_path).returncode == 0
    wrong = sfumato("protect", "long.npy", "--protector", "p", "--max-norm", "3", "-o", "x.npy", cwd=tmp_path)
    assert wrong.returncode == 2 and "--max-norm is for --mechanism" in wrong.stderr


def test_an_audit_says_at_once_what_it_cannot_use(folder, tmp_path, monkeypatch):
    def loaded(name):
        raise AssertionError("the encoder was loaded before the input was looked at")

    monkeypatch.setattr("sfumato.embedders.load_embedder", loaded)
    holed = np.array(VECTORS)
    holed[17, 3] = np.nan
    np.save(tmp_path / "holed.npy", holed)
    np.save(tmp_path / "whole.npy", VECTORS)
    (tmp_path / "ask.jsonl").write_text(json.dumps({"text": "a question", "relevant": 0}) + "\n")
    base = ("audit", "notes.jsonl", "--text-column", "body", "--terms", "places.txt", "--embeddings")
    done = sfumato(*base, tmp_path / "holed.npy", cwd=folder)
    assert done.returncode == 2 and "Row 17 of the released vectors holds NaN" in done.stderr
    done = sfumato(*base, tmp_path / "whole.npy", "--searches", tmp_path / "ask.jsonl", cwd=folder)
    assert done.returncode == 2 and "can only be looked up" in done.stderr and "--searches" in done.stderr
