"""Rebuilt texts scored as sacrebleu and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import sacrebleu

from sfumato.embedders.fake import Fake
from sfumato.errors import InputError, MissingPackageError
from sfumato.metrics import Resampling, score_reconstruction
from sfumato.metrics.reconstruction import bleu_2, exact_match, rouge_l, text_figures, token_f1, tokens

TEXTS = ["the cat sat on the mat", "a man rides a horse", "Oslo is cold in winter."]
GUESSES = ["the cat sat on a mat", "A man rides a horse", "it rains"]


def test_bleu_is_sacrebleus():
    scores = score_reconstruction(TEXTS, GUESSES)
    assert scores.corpus_bleu == pytest.approx(sacrebleu.corpus_bleu(GUESSES, [TEXTS]).score, abs=1e-9)
    each = [sacrebleu.sentence_bleu(guess, [text]).score for text, guess in zip(TEXTS, GUESSES, strict=True)]
    assert scores.sentence_bleu == pytest.approx(each, abs=1e-9)
    # By hand: 5 of 6 words, 3 of 5 pairs, 2 of 4 triples and 1 of 3 quadruples; lengths are equal.
    assert scores.sentence_bleu[0] == pytest.approx(100 * (5 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25, abs=1e-9)
    # A short guess: "it rains" shares nothing, and brevity costs exp(1 - 6/2) on top.
    assert scores.sentence_bleu[2] < 100 * math.exp(-2)


def test_tokens_and_exact_matches():
    scores = score_reconstruction(TEXTS, GUESSES)
    assert scores.token_f1 == pytest.approx([10 / 12, 1.0, 0.0])
    # Case does not count.
    assert scores.exact.tolist() == [0, 1, 0]
    perfect = score_reconstruction(TEXTS, TEXTS).means()
    assert perfect == pytest.approx({"corpus_bleu": 100, "sentence_bleu": 100, "token_f1": 1, "exact": 1})


def test_cosines_and_intervals():
    embedder = Fake(dim=64)
    vectors, rebuilt = embedder.embed(TEXTS), embedder.embed(GUESSES)
    scores = score_reconstruction(TEXTS, GUESSES, vectors=vectors, recovered_vectors=rebuilt)
    assert scores.cosine == pytest.approx(np.vecdot(vectors, rebuilt).astype(float), abs=1e-6)
    intervals = scores.intervals(Resampling(resamples=200))
    assert set(intervals) == {"sentence_bleu", "token_f1", "exact", "cosine"}
    for name, (low, high) in intervals.items():
        assert low <= scores.means()[name] <= high


def test_refused(monkeypatch):
    with pytest.raises(InputError, match="one rebuilt text"):
        score_reconstruction(TEXTS, GUESSES[:1])
    with pytest.raises(InputError, match="vectors of both"):
        score_reconstruction(TEXTS, GUESSES, vectors=np.eye(3))
    monkeypatch.setitem(__import__("sys").modules, "sacrebleu.metrics.bleu", None)
    with pytest.raises(MissingPackageError, match="sacrebleu"):
        score_reconstruction(TEXTS, GUESSES)


def test_tokens_are_words_and_marks_in_lower_case():
    assert tokens("Dr. Ash's 2nd visit, today!") == [
        "dr",
        ".",
        "ash",
        "'",
        "s",
        "2nd",
        "visit",
        ",",
        "today",
        "!",
    ]
    assert tokens(" \n") == []


def test_token_f1():
    assert token_f1("a b c d", "a b") == pytest.approx(2 / 3)
    assert token_f1("the the cat", "the cat cat") == pytest.approx(2 / 3)  # bags, not sets
    assert token_f1("Paris!", "paris !") == 1.0
    assert token_f1("a", "b") == 0.0 and token_f1("", "a") == 0.0 and token_f1("", "") == 1.0


def test_exact_match_is_about_tokens_in_order():
    assert exact_match("He went to Paris.", "he went to paris .")
    assert not exact_match("a b", "b a") and not exact_match("a", "a a")


def test_figures_of_rebuilt_texts():
    f1, exact = text_figures(["He went.", "a b"], ["he went .", "a c"])
    assert (f1.metric, f1.value) == ("token F1", 0.75) and (exact.metric, exact.value) == ("exact match", 0.5)
    with pytest.raises(InputError, match="one rebuilt text a text"):
        text_figures(["a"], [])


def test_rouge_l_is_f1_of_the_longest_common_order():
    assert rouge_l("the cat sat on the mat", "the cat sat on the mat") == 1
    assert rouge_l("police killed the gunman", "police kill the gunman") == 0.75  # Lin 2004, section 3.1
    assert rouge_l("police killed the gunman", "the gunman kill police") == 0.5
    assert rouge_l("a b", "c d") == 0 and rouge_l("", "") == 1 and rouge_l("a", "") == 0


def test_bleu_2_by_hand():
    assert bleu_2("the cat sat", "The cat sat") == 1
    # Words 3 of 4, pairs 1 of 3, one word longer than the text: no penalty.
    assert bleu_2("a b c", "a b x c") == pytest.approx((3 / 4 * 1 / 3) ** 0.5)
    assert bleu_2("a b c d", "a b") == pytest.approx(np.exp(1 - 4 / 2))
    assert bleu_2("a b", "b") == pytest.approx(np.exp(-1)) and bleu_2("a b", "b a") == 0
    assert bleu_2("", "") == 1 and bleu_2("a", "") == 0
    # A word that is repeated counts as often as it stands in the text.
    assert bleu_2("the cat", "the the the") == 0
