"""The stopping rule of learning: what it measures, and that it foretells how close an ellipsoid is."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.randomness import generator
from sfumato.sensitivity import Background, EllipsoidLearner
from sfumato.sensitivity.stability import STABLE, agreement, expected, halves_agree, shares, wanted

DIM = 24
SPREAD = np.exp(-np.arange(DIM) / 8.0)
MOVED = np.exp(-np.arange(DIM)[::-1] / 3.0)


ORDINARY = Background.fit(generator(7).standard_normal((20_000, DIM)) * np.sqrt(SPREAD))


def drawn(rows, seed):
    """Moves of a concept whose covariance is known."""
    return generator(seed).standard_normal((rows, DIM)) * MOVED


def fit(moves):
    return EllipsoidLearner(strength=5.0).fit(list(moves), ORDINARY)


def whole(rows, seed):
    return fit([drawn(rows, seed)])


def test_the_same_ellipsoid_agrees_and_another_does_not():
    one, other = whole(4000, 0), whole(4000, 1)
    assert agreement(one, one) == pytest.approx(1.0)
    assert 0.99 < agreement(one, other) < 1 and agreement(one, other) == pytest.approx(agreement(other, one))
    assert agreement(one, fit([drawn(4000, 2)[:, ::-1]])) < 0.6
    found = np.linalg.eigvalsh(shares(one, one.background.covariance))
    assert 0 < found[0] and 0.99 < found[-1] < 1  # the cap of a direction


@pytest.mark.parametrize("rows", [100, 400, 1600])
def test_halves_foretell_how_close_the_whole_is(rows):
    truth = whole(200_000, 9)
    found, foretold = [], []
    for seed in range(12):
        moves = drawn(rows, seed)
        found.append(agreement(fit([moves]), truth))
        foretold.append(expected(halves_agree(fit, [moves])))
    assert np.mean(found) == pytest.approx(np.mean(foretold), abs=0.02)


def test_where_halves_agree_the_whole_is_close():
    truth = whole(200_000, 9)
    stopped = []
    for seed in range(8):
        rows = 50
        while True:
            moves = drawn(rows, 100 + seed)
            agreed = halves_agree(fit, [moves])
            if agreed >= STABLE:
                break
            rows = wanted(rows, agreed)
        stopped.append(agreement(fit([moves]), truth))
    assert min(stopped) > 0.96 and np.mean(stopped) > 0.975


def test_how_many_more_are_wanted():
    assert wanted(100, 0.0) == wanted(100, 0.5) == 200
    assert wanted(100, STABLE - 1e-9) == 125 and 125 < wanted(100, 0.955) < 200
    assert expected(1.0) == 1.0 and expected(-0.1) == 0.0 and expected(0.9) == pytest.approx(0.973, abs=1e-3)
