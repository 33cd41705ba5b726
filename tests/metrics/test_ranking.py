"""Ranks and stated chances against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.metrics.ranking import calibration_error, random_order, ranked, ranks, top
from sfumato.randomness import generator


def test_the_likeliest_terms_come_first_each_once():
    probabilities = np.array([[0.1, 0.7, 0.2], [0.5, 0.3, 0.3]])
    assert ranked(probabilities, ["a", "b", "c"], [1, 3]) == [["b"], ["a", "b", "c"]]
    spellings = ["St. Louis", "rome", "st louis"]
    assert ranked(probabilities, spellings, [2, 2]) == [["rome", "st louis"], ["St. Louis", "rome"]]
    assert ranked(probabilities, spellings, [3, 0]) == [["rome", "st louis"], []]


def test_calibration_error_by_hand():
    given = np.array([0.9, 0.9, 0.1, 0.1])
    assert calibration_error(given, np.array([True, True, False, False]), bins=10) == pytest.approx(0.1)
    assert calibration_error(given, np.array([True, False, False, False]), bins=10) == pytest.approx(0.25)
    with pytest.raises(InputError):
        calibration_error(given, np.array([True]))


def test_ranks_break_ties_by_chance_and_not_by_position():
    scores = np.zeros((2000, 5))
    found = ranks(scores, np.zeros(2000, np.intp))
    assert np.bincount(found, minlength=5) == pytest.approx(np.full(5, 400), abs=90)
    assert ranks(np.array([[3.0, 1.0, 2.0]]), np.array([2])).tolist() == [1]
    assert top("top-2", np.array([0, 1, 2, 3]), 2).value == 0.5
    order = random_order(np.tile([1.0, 2.0, 2.0 + 1e-9, -np.inf], (600, 1)), generator(0))
    assert set(order[:, 0].tolist()) == {1, 2} and (order[:, 2] == 0).all() and (order[:, 3] == 3).all()
