"""Vectors of other texts are refused, however they came to stand in the wrong rows; noise alone is not."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.auditing import SUITES
from sfumato.concepts import Concept
from sfumato.embedders import load_embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.randomness import generator
from sfumato.records import DISEASES, make_records
from sfumato.trials.questions.belonging import misfit
from sfumato.trials.split import gather

TEXTS = [record.text for record in make_records(440, seed=7)]
CONCEPT = Concept.from_terms("disease", DISEASES)
RNG = generator(3)


@pytest.fixture(scope="module")
def material():
    encoder = RememberingEmbedder(load_embedder("wordllama"))
    return gather(
        TEXTS, CONCEPT, SUITES["quick"], spans=None, embedder=encoder, clean=None, needed=(), seed=0
    )


def noised(vectors, size):
    return (vectors + size * RNG.standard_normal(vectors.shape) / np.sqrt(vectors.shape[1])).astype(
        np.float32
    )


def by_name(vectors):
    """note-0, note-1, note-10: the order in which a file browser lists them."""
    return vectors[np.argsort([f"note-{row}" for row in range(len(vectors))])]


ORDERS = {
    "by name": by_name,
    "one row further": lambda vectors: np.roll(vectors, 1, axis=0),
    "three rows back": lambda vectors: np.roll(vectors, -3, axis=0),
    "shuffled": lambda vectors: vectors[RNG.permutation(len(vectors))],
    "upside down": lambda vectors: vectors[::-1],
}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", [0.0, 0.5, 2.0])
def test_other_orders_are_refused_clean_or_noised(material, order, size):
    reason = misfit(ORDERS[order](noised(material.clean, size)), material, seed=0)
    assert reason.startswith("these vectors do not belong to these texts: ")


@pytest.mark.parametrize("size", [0.0, 0.5, 1.0, 2.0, 4.0])
def test_the_right_order_is_not_refused_even_with_much_noise(material, size):
    assert misfit(noised(material.clean, size), material, seed=0) == ""


def test_turned_and_projected_vectors_are_known_by_their_neighbours(material):
    dim = material.clean.shape[1]
    turn = np.linalg.qr(RNG.standard_normal((dim, dim)))[0]
    turned = (material.clean @ turn).astype(np.float32)
    for kept in (turned, turned[:, :100]):
        assert misfit(kept, material, seed=0) == ""
        assert "do not belong" in misfit(kept[RNG.permutation(len(kept))], material, seed=0)


def test_nothing_but_noise_cannot_be_told_from_vectors_of_other_texts(material):
    noise = RNG.standard_normal(material.clean.shape).astype(np.float32)
    reason = misfit(noise, material, seed=0)
    assert "chance gives 50 %" in reason and "audit its protector instead" in reason


def test_shuffled_vectors_are_hardly_ever_taken_for_their_own(material):
    taken = [
        misfit(noised(material.clean[RNG.permutation(len(TEXTS))], 1.0), material, seed=seed) == ""
        for seed in range(30)
    ]
    assert not any(taken)
