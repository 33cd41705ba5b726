"""The oracle attack: it finds noise that is keyed by the sentence, and guesses where answers are alike."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from sfumato.attacks.known_texts.oracle import name_by_asking
from sfumato.errors import InputError
from sfumato.randomness import generator

TERMS = ("asthma", "gout", "measles", "mumps", "rickets")
SENTENCES = [[f"note {row} on {term}" for term in TERMS] for row in range(60)]
TRUTH = generator(5).integers(len(TERMS), size=60)
OWN = [sentences[own] for sentences, own in zip(SENTENCES, TRUTH, strict=True)]


def sentence_vector(text):
    """What is embedded: the sentence without its term."""
    return generator(zlib.crc32(text.rpartition(" ")[0].encode())).standard_normal(8)


def keyed_by_raw_text(texts):
    """The same vector for every candidate, under noise of its own."""
    noise = [generator(zlib.crc32(text.encode())).standard_normal(8) for text in texts]
    return np.array([sentence_vector(text) for text in texts]) + 0.3 * np.array(noise)


def keyed_by_what_is_embedded(texts):
    """One answer for every candidate."""
    return np.array([sentence_vector(text) for text in texts])


def test_noise_that_is_keyed_by_the_raw_text_names_every_term():
    named = name_by_asking(keyed_by_raw_text, keyed_by_raw_text(OWN), SENTENCES)
    assert (named == TRUTH).all()


@pytest.mark.parametrize("rounding", [0.0, 1e-6])
def test_answers_that_are_alike_are_a_guess_and_not_the_first(rounding):
    """Also where an encoder rounds one text otherwise than another."""

    def ask(texts):
        return keyed_by_what_is_embedded(texts) + rounding * generator(1).standard_normal((len(texts), 8))

    hits = [(name_by_asking(ask, ask(OWN), SENTENCES, seed=seed) == TRUTH).mean() for seed in range(20)]
    assert abs(np.mean(hits) - 1 / len(TERMS)) < 0.05
    first = [(name_by_asking(ask, ask(OWN), SENTENCES, seed=seed) == 0).mean() for seed in range(20)]
    assert abs(np.mean(first) - 1 / len(TERMS)) < 0.05


def test_every_release_needs_candidates():
    with pytest.raises(InputError, match="candidates"):
        name_by_asking(keyed_by_raw_text, keyed_by_raw_text(OWN), SENTENCES[:3])
    with pytest.raises(InputError, match="candidates"):
        name_by_asking(keyed_by_raw_text, keyed_by_raw_text(OWN[:1]), [[]])
