"""Several releases: against sums of real losses, closed forms, and releases that share their noise."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import ksone
from tests.certificates.simulated import losses, pair

from sfumato.certificates import candidate_success, composed_trade_off, trade_off
from sfumato.certificates.tradeoff import ALIKE, TOLD_APART
from sfumato.errors import ParameterError
from sfumato.mechanisms import Gaussian, Identity, Laplace, Polar, Purkayastha

RARE = 1e-6


def outside(curve, sums: np.ndarray) -> bool:
    """Whether sums of losses over releases of the first input contradict the band."""
    room = ksone.isf(RARE, len(sums))
    alpha = np.searchsorted(np.sort(sums), curve.losses, side="right") / len(sums)
    return bool((alpha < curve.low - room).any() or (alpha > curve.high + room).any())


def one_loss(dim: int, separation: float, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Losses of the Laplace law by simulation of radius and direction, without any integral."""
    radius = rng.gamma(dim, size=rows)
    direction = rng.standard_normal((rows, 2))
    rest = rng.chisquare(dim - 1, size=rows)
    along = direction[:, 0] / np.sqrt(direction[:, 0] ** 2 + rest)
    return np.sqrt(radius**2 - 2 * radius * separation * along + separation**2) - radius


@pytest.mark.parametrize(("count", "rows"), [(2, 20_000), (10, 20_000), (100, 4000), (1000, 1000)])
@pytest.mark.parametrize("dim", [16, 384])
def test_sums_of_simulated_losses_lie_in_the_band(count, rows, dim):
    rng = np.random.default_rng(count + dim)
    mechanism = Laplace(epsilon=1.0)
    distance = 1.5 * math.sqrt(dim / count)
    curve = composed_trade_off(mechanism, distance, count, dim)
    sums = np.zeros(rows)
    for _ in range(count):
        sums += one_loss(dim, distance, rows, rng)
    assert not outside(curve, sums)
    assert abs((1 - 2 * (sums <= 0).mean()) - curve.total_variation) < curve.error + 2 * ksone.isf(RARE, rows)
    assert curve.error < 0.03 and curve.mu == pytest.approx(1.5)
    # One release counted for all of them, and one too few in ten, are caught.
    assert outside(trade_off(mechanism, distance, dim), sums)
    assert outside(curve, one_loss(dim, distance, rows, rng) * count)


def test_releases_that_share_their_noise_are_caught():
    """Noise that is drawn once and used for every release adds up to another law."""
    mechanism, dim, count = Laplace(epsilon=80.0), 64, 4
    inputs = pair(mechanism, dim, 0.05, np.random.default_rng(2))
    curve = composed_trade_off(mechanism, 0.05, count, dim)
    fresh = sum(losses(mechanism, inputs, 3000, seed=10 * number)[0] for number in range(count))
    shared = losses(mechanism, inputs, 3000, seed=0)[0] * count
    assert not outside(curve, fresh)
    assert outside(curve, shared)


@pytest.mark.parametrize("count", [2, 30, 1000])
def test_normal_noise_composes_as_the_closed_form_says(count):
    mu = 1.2
    curve = composed_trade_off(Gaussian(sigma=1.0), mu / math.sqrt(count), count, 3)
    alpha = np.linspace(0, 1, 51)
    low, high = curve.bounds(alpha)
    assert curve.mu == pytest.approx(mu)
    assert (low <= curve.gaussian(alpha)).all() and (curve.gaussian(alpha) <= high).all()
    assert abs(curve.total_variation - (2 * ndtr(mu / 2) - 1)) < 1e-4 < curve.error < 0.01


def test_more_cells_make_the_band_narrower():
    made = [
        composed_trade_off(Polar(epsilon=300.0), 0.05, 20, 64, cells=cells) for cells in (512, 2048, 8192)
    ]
    errors = [curve.error for curve in made]
    assert errors == sorted(errors, reverse=True) and errors[-1] < errors[0] / 8
    for curve in made:
        assert abs(curve.total_variation - made[-1].total_variation) <= curve.error + errors[-1]


def test_k_releases_cost_about_the_root_of_k():
    single = trade_off(Purkayastha(epsilon=274.0), 0.02, 384)
    assert (
        composed_trade_off(Purkayastha(epsilon=274.0), 0.02, 1, 384).total_variation == single.total_variation
    )
    before = single.total_variation
    for count in (4, 16, 64):
        curve = composed_trade_off(Purkayastha(epsilon=274.0), 0.02, count, 384)
        assert curve.mu == pytest.approx(single.mu * math.sqrt(count))
        assert before < curve.total_variation
        assert curve.total_variation == pytest.approx(curve.gaussian_total_variation, abs=0.01)
        assert candidate_success(curve, 10) > candidate_success(single, 10)
        before = curve.total_variation


def test_what_is_alike_stays_so_and_counts_are_bounded():
    assert composed_trade_off(Laplace(epsilon=1.0), 0.0, 50, 8) is ALIKE
    assert composed_trade_off(Identity(), 0.1, 50, 8) is TOLD_APART
    for bad in (0, -1, 1.5, 10**6):
        with pytest.raises(ParameterError, match="releases"):
            composed_trade_off(Laplace(epsilon=1.0), 0.1, bad, 8)
    with pytest.raises(ParameterError, match="cells"):
        composed_trade_off(Laplace(epsilon=1.0), 0.1, 2, 8, cells=10**9)
