"""Scores against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks.scores import (
    calibration_error,
    confidence,
    cosine,
    exact_match,
    leaked,
    mean,
    random_order,
    ranked,
    ranks,
    share,
    text_figures,
    token_f1,
    tokens,
    top,
    top_share,
)
from sfumato.errors import InputError
from sfumato.randomness import generator


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


def test_leakage_gives_as_many_guesses_as_there_are_terms():
    truth = [{"Paris", "Rome"}, {"Oslo"}, set()]
    guesses = [["paris", "oslo", "rome"], ["oslo"], ["rome"]]
    figure = top_share(truth, guesses)
    assert figure.value == pytest.approx(2 / 3) and figure.count == 3
    assert figure.low < 2 / 3 < figure.high
    assert leaked([{"new york"}, {"york"}], ["He left New York.", "new yorker"]).value == 0.5
    with pytest.raises(InputError, match="one guess a row"):
        top_share(truth, guesses[:2])


def test_confidence_and_ranking():
    probabilities = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.3]])
    words = ["a", "b", "c"]
    assert ranked(probabilities, words, [1, 3]) == [["b"], ["a", "b", "c"]]
    assert confidence([{"b"}, {"a", "z"}], probabilities, words).value == pytest.approx((0.7 + 0.5 + 0) / 3)


def test_calibration_error_by_hand():
    given = np.array([0.9, 0.9, 0.1, 0.1])
    assert calibration_error(given, np.array([True, True, False, False]), bins=10) == pytest.approx(0.1)
    assert calibration_error(given, np.array([True, False, False, False]), bins=10) == pytest.approx(0.25)
    with pytest.raises(InputError):
        calibration_error(given, np.array([True]))


def test_wilson_and_bootstrap_intervals():
    figure = share("x", 8, 10)
    assert (figure.low, figure.high) == pytest.approx((0.4902, 0.9433), abs=1e-3)
    assert share("x", 0, 10).low == 0.0 and share("x", 10, 10).high == 1.0
    assert (share("x", 0, 0).low, share("x", 0, 0).high) == (0.0, 1.0)
    values = generator(0).normal(3.0, 1.0, 400)
    found = mean("x", values.tolist())
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.15)
    assert mean("x", []).count == 0
    assert text_figures(["a b"], ["a b"])[1].to_dict()["value"] == 1.0


def test_ranks_break_ties_by_chance_and_not_by_position():
    scores = np.zeros((2000, 5))
    found = ranks(scores, np.zeros(2000, np.intp))
    assert np.bincount(found, minlength=5) == pytest.approx(np.full(5, 400), abs=90)
    assert ranks(np.array([[3.0, 1.0, 2.0]]), np.array([2])).tolist() == [1]
    assert top("top-2", np.array([0, 1, 2, 3]), 2).value == 0.5
    order = random_order(np.tile([1.0, 2.0, 2.0 + 1e-9, -np.inf], (600, 1)), generator(0))
    assert set(order[:, 0].tolist()) == {1, 2} and (order[:, 2] == 0).all() and (order[:, 3] == 3).all()


def test_cosine_of_rows():
    assert cosine([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 0.0]]) == pytest.approx([0.5**0.5, 0.0])
    with pytest.raises(InputError):
        cosine([[1.0, 0.0]], [[1.0]])
