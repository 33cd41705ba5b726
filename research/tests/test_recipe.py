"""The recipe of the ready-made reader: its encoder is the encoder, its texts are cut between words."""

from __future__ import annotations

import importlib.util
import json
import sys
from argparse import Namespace
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
import torch

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.embedders import load_embedder
from sfumato_research.sentences import ordinary_sentences

RECIPE = Path(__file__).parents[2] / "weights" / "recipe"


def load(name: str):
    spec = importlib.util.spec_from_file_location(f"recipe_{name}", RECIPE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pieces() -> Wordpieces:
    return Wordpieces.minilm()


@pytest.fixture(scope="module")
def corpus(pieces, tmp_path_factory):
    """Sentences as prepare.py writes them, every fourth kept from the hypothesiser, in one file."""
    prepare, folder = load("prepare"), tmp_path_factory.mktemp("recipe")
    chosen = prepare.Chosen([])
    for text in ordinary_sentences(200, seed=1):
        chosen.consider("own", text)
    texts = [text for _, text in chosen.rows]
    honest = np.arange(len(texts)) % 4 == 0
    options = Namespace(out=folder, each=10**6)
    kept = prepare.write_parts(options, chosen, [len(texts) // 2, len(texts), len(texts)], honest, pieces)
    assert kept["sentences"] == len(texts) > 100
    prepare.write_tests(folder, pieces, chosen.rows[:4], [], [])
    prepare.write_encoder(folder)
    return texts, folder, load("corpus").Corpus(folder, "cpu", 0)


def test_its_encoder_is_the_encoder(pieces, corpus):
    _, folder, made = corpus
    tokens = made.texts(made.base, 20, (1.0, 0.0, 0.0, 0.0))
    found = load("encoder").Encoder(folder, "cpu")(tokens).numpy()
    expected = load_embedder("minilm").embed(pieces.decode(tokens.numpy()))
    assert np.vecdot(found, expected).min() > 0.99999


@pytest.mark.parametrize("kind", range(4))
def test_its_texts_are_made_of_whole_words(pieces, corpus, kind):
    texts, _, made = corpus
    mix = tuple(float(kind == number) for number in range(4))
    tokens = made.texts(made.base, 300, mix)
    assert torch.all((tokens == 102).sum(1) == 1) and torch.all(tokens[:, 0] == 101)
    starts = pieces.pieces()
    assert not any(starts[row[1]].startswith("##") for row in tokens.tolist())
    if kind == 0:
        own = {text for number, text in enumerate(pieces.decode(pieces.encode(texts, 32))) if number % 4}
        assert set(pieces.decode(tokens.numpy())) <= own


def test_a_sentence_close_to_the_test_is_left_out():
    prepare = load("prepare")
    chosen = prepare.Chosen([("own", "The quick brown fox jumps over the lazy dog today.")])
    for text in (
        "the quick brown fox jumps over the lazy dog, today",
        "Yesterday a quick brown fox jumps over the lazy dog again and again.",
        "The quick brown fox sleeps beside the lazy dog.",
        "The quick brown fox sleeps beside the lazy dog!",
    ):
        chosen.consider("more", text)
    assert [text for _, text in chosen.rows] == ["The quick brown fox sleeps beside the lazy dog."]
    assert chosen.dropped == 1 and chosen.counts == {"more": 1}


def test_scores_of_earlier_weights_keep_their_own_table(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(RECIPE))
    score = load("score")
    figures = {"rows": 2, "candidates": 3.0, "bleu": 1.0, "token_f1": 2.0, "exact": 3.0, "cosine": 0.5}
    fresh = {**figures, "intervals": {}}
    then = asdict(score.StudyTable("then", score.COLUMNS, score.table_rows({"old": fresh, "both": fresh})))
    study = tmp_path / "study.json"
    for title in ("any", score.FIRST):  # as it was written of them, and as it is written beside later ones
        tables = (
            [{**then, "title": title}] if title == "any" else [{**then, "rows": []}, {**then, "title": title}]
        )
        study.write_text(json.dumps({"parts": {"reader": {"tables": tables}}}))
        made = score.first_table({"both": {**fresh, "exact": 9.0}}, study)
        assert made["title"] == score.FIRST
        assert [row[0] for row in made["rows"]] == ["both", "old"]
        assert made["rows"][0][5]["value"] == 9.0
