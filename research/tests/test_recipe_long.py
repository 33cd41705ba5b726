"""The recipe for longer texts: whole words out of single documents, nothing of the test, batches that fit."""

from __future__ import annotations

import gzip
import importlib
import json
import zipfile
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest
import torch

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato_research.sentences import ordinary_sentences

RECIPE = Path(__file__).parents[2] / "weights" / "recipe"
SECRET = "a heron stood in the reeds and watched nine small boats go by"


@pytest.fixture(scope="module")
def pieces() -> Wordpieces:
    return Wordpieces.minilm()


@pytest.fixture
def recipe(monkeypatch):
    monkeypatch.syspath_prepend(str(RECIPE))
    return importlib.import_module


def joined(texts: list[str], each: int) -> list[str]:
    return [" ".join(texts[start : start + each]) for start in range(0, len(texts), each)]


@pytest.fixture
def folder(recipe, pieces, tmp_path):
    """Documents of some sentences each, and a test, as documents.py writes them."""
    documents, prepare = recipe("documents"), recipe("prepare")
    texts = list(dict.fromkeys(ordinary_sentences(600, seed=4)))
    chosen = [(0, "own", text) for text in joined(texts, 12)]
    facts = documents.write_documents(tmp_path, chosen, pieces, 10**6)
    assert facts["documents"] == len(chosen) and facts["sources"] == {"own": len(chosen)}
    kept = prepare.Chosen([])
    for text in texts:
        kept.consider("own", text)
    prepare.write_parts(
        Namespace(out=tmp_path, each=10**6),
        kept,
        [len(kept.rows)] * 3,
        np.arange(len(kept.rows)) % 4 == 0,
        pieces,
    )
    begins = np.array([not piece.startswith("##") for piece in pieces.pieces()])
    held = {"test": [("own", texts[0])], "documents 64": [("own", chosen[0][2])]}
    documents.write_tests(tmp_path, pieces, begins, held)
    return tmp_path


def test_stretches_are_whole_words_of_one_document(recipe, pieces, folder):
    windows = recipe("windows")
    corpus = windows.LongCorpus(folder, "cpu", 0, (1.0, 0.0, 0.0), 64)
    kept = np.load(folder / "documents.npz")
    assert 0 < kept["part"].sum() < len(kept["part"])
    bounds = np.cumsum(kept["length"].astype(int))
    own = {part: [] for part in (0, 1)}
    for row, stop in enumerate(bounds):
        text = " ".join(map(str, kept["flat"][stop - kept["length"][row] : stop]))
        own[int(kept["part"][row])].append(f" {text} ")
    starts = pieces.pieces()
    for part, place in ((0, corpus.trained), (1, corpus.kept_back)):
        rows = corpus.stretches(place, 400, swapped=0.0)
        assert rows.shape == (400, 66) and torch.all((rows == 102).sum(1) == 1)
        lengths = (rows != 0).sum(1) - 2
        assert int(lengths.max()) > 55 and int(lengths.min()) < 16
        for row, length in zip(rows.tolist(), lengths.tolist(), strict=True):
            inner = row[1 : length + 1]
            text = f" {' '.join(map(str, inner))} "
            assert any(text in document for document in own[part]), "it stands in a document of its part"
            assert not starts[inner[0]].startswith("##")
    changed = corpus.stretches(corpus.trained, 400, swapped=1.0)
    assert (
        sum(
            f" {' '.join(map(str, [n for n in row if n > 102]))} " in "".join(own[0])
            for row in changed.tolist()
        )
        < 200
    )


def test_the_mix_holds_usual_texts_and_stretches(recipe, folder):
    corpus = recipe("windows").LongCorpus(folder, "cpu", 0, (1.0, 0.0, 0.0), 64, short=0.5)
    rows = corpus.mixed(200, (1.0, 0.0, 0.0, 0.0))
    assert rows.shape == (200, 66)
    long_ones = ((rows != 0).sum(1) > 34).float().mean()
    assert 0.15 < float(long_ones) < 0.5


def test_batches_hold_about_as_many_wordpieces_and_every_text(recipe):
    run = Namespace(options=Namespace(tokens=1000, batch=40))
    lengths = torch.tensor(sorted([5] * 70 + [30] * 30 + [130] * 21))
    parts = recipe("long").Long.parts(run, lengths, 40)
    assert [number for part in parts for number in range(part.start, part.stop)] == list(range(121))
    assert all((part.stop - part.start) * int(lengths[part.stop - 1]) <= 1000 for part in parts)
    assert max(part.stop - part.start for part in parts) == 40
    halves = recipe("long").Long.parts(run, lengths, 20)
    assert all((part.stop - part.start) * int(lengths[part.stop - 1]) <= 500 for part in halves)


def test_a_text_is_cut_between_words_as_it_is_written(recipe, pieces):
    documents = recipe("documents")
    begins = np.array([not piece.startswith("##") for piece in pieces.pieces()])
    text = "Dr. Hypothetically, of St. Moritz-Dorf, re-electroencephalographed three Patients."
    for most in (4, 9, 14, 200):
        found = documents.cut(pieces, begins, text, most)
        assert text.startswith(found) and len(pieces.numbers([found])[0]) <= most
        rest = text[len(found) :]
        assert not rest or not (found[-1].isalnum() and rest[0].isalnum())
    assert documents.cut(pieces, begins, text, 200) == text


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt") as handle:
        handle.write("\n".join(lines) + "\n")


def test_nothing_of_a_held_document_is_trained_on(recipe, pieces, tmp_path):
    documents = recipe("documents")
    texts = list(dict.fromkeys(ordinary_sentences(400, seed=5)))
    long_ones = [f"{text} {SECRET}." for text in joined(texts[:200], 20)]
    short = "Nobody ever came back to the old mill."
    for source, (file, field) in documents.HELD.items():
        rows = [*long_ones, short] if source == "squad_dev" else ["Too short to be tested on, and held back."]
        tsv = [f"1\t2\t3\t{row}" for row in rows]
        lines = (
            [json.dumps({field: row}) for row in rows] if ".jsonl" in file else [f"a\tb\tc\t{field}", *tsv]
        )
        write(tmp_path / source / file, lines)
    begins = np.array([not piece.startswith("##") for piece in pieces.pieces()])
    held, taboo, names = documents.held_documents(tmp_path, pieces, begins, 10)
    assert set(held) == {"documents 32", "documents 64", "documents 128"}
    first = held["documents 128"]
    assert 5 <= len(first) <= 10 and {source for source, _ in first} == {"squad_dev"}
    for (_, shorter), (_, longer) in zip(held["documents 32"], first, strict=True):
        assert longer.startswith(shorter) and len(shorter) < len(longer)
    taken = documents.Documents(taboo, names)
    fresh = "The gardener oils each hinge of the tall green gate in spring. It never squeaks in summer."
    for text in (f"Once {SECRET} again.", f"Quite new. {short}", fresh, fresh.upper(), long_ones[0]):
        taken.consider("more", text)
    assert [text for _, text in taken.rows] == [fresh] and taken.dropped == 3


def test_passages_end_where_something_else_stands(recipe):
    passages = recipe("passages")
    one = "This is about the weather in the north. It was cold and the wind was very strong all day."
    two = "The people had to stay at home for most of it. They read books and told some old stories."
    assert list(passages.passages_of(iter([one, two]))) == [f"{one} {two}"]
    assert list(passages.passages_of(iter([one, "{x = foo(bar);}", two]))) == []
    longer = f"{one} It was like this for many weeks before the sun came out again."
    assert list(passages.passages_of(iter([longer, "{x = foo(bar);}", longer + " So."])))[0] == longer
    assert list(passages.passages_of(iter(["Too short for a passage, as it is."]))) == []


@pytest.mark.parametrize(("module", "what"), [("gather", "sentences"), ("passages", "passages")])
def test_packages_are_gathered_once_with_their_licence(recipe, module, what, tmp_path, monkeypatch, capsys):
    text = (
        "This is about the weather in the north. It was cold and the wind was very strong all day. "
        "The people had to stay at home for most of it."
    )
    packages, out = tmp_path / "packages", tmp_path / "out"
    packages.mkdir()
    with zipfile.ZipFile(packages / "weather-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr("weather/readme.txt", f"{text}\n\n{text}\n")
        archive.writestr("weather-1.0.dist-info/METADATA", "Name: weather\nLicense: Apache-2.0\n")
    (packages / "broken-2.0.zip").write_bytes(b"no archive")
    made = recipe(module)
    monkeypatch.setattr("sys.argv", [module, "--packages", str(packages), "--out", str(out)])
    cut = made.sentences_in if module == "gather" else made.passages_of
    for _ in range(2):
        made.gather_packages("what it does", what, 100, cut)
    with gzip.open(out / "weather.tsv.gz", "rt") as handle:
        rows = handle.read().splitlines()
    whole = text.split(". ")
    assert rows[0] == "source\ttext" and len(rows) == 1 + (len(whole) if module == "gather" else 1)
    assert all(row.startswith("weather\t") for row in rows[1:])
    (facts,) = map(json.loads, (out / "licences.jsonl").read_text().splitlines())
    assert facts["licence"] == "Apache-2.0" and facts[what] == len(rows) - 1
    said = capsys.readouterr().out
    assert said.count("broken-2.0.zip: BadZipFile") == 2 and not (out / "broken.tsv.gz").exists()
