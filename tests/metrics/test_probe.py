"""A linear probe's area under the curve: a guess where there is nothing, sure where a direction tells."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError
from sfumato.metrics.probe import probe_auc
from sfumato.randomness import generator


def rows(shift):
    rng = generator(3)
    labels = rng.random(600) < 0.4
    vectors = rng.standard_normal((600, 40)) * np.geomspace(0.01, 10, 40)
    vectors[labels, 0] += shift * 0.01  # in the direction of the least spread
    return vectors[:300], labels[:300], vectors[300:], labels[300:]


def test_it_guesses_noise_and_tells_a_direction_of_any_size():
    assert probe_auc(*rows(0.0)) == pytest.approx(0.5, abs=0.08)
    assert probe_auc(*rows(4.0)) > 0.98
    assert 0.6 < probe_auc(*rows(1.0)) < 0.9


def test_the_area_is_that_of_mann_and_whitney():
    train = np.array([[-1.0], [-1.1], [1.0], [1.1]])
    known = np.array([False, False, True, True])
    test = np.array([[0.0], [1.0], [1.0], [2.0]])
    # Of four pairs three are in order and one is tied.
    assert probe_auc(train, known, test, np.array([False, True, False, True])) == pytest.approx(3.5 / 4)


def test_one_kind_alone_is_refused():
    train, known, test, _ = rows(1.0)
    with pytest.raises(InputError, match="both among them"):
        probe_auc(train, known, test, np.ones(300, bool))
