"""Trade-off curves: against real releases, other ways to compute them, and mechanisms that say untruths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammainc, gammaincinv, ndtr
from scipy.stats import ksone
from tests.certificates.simulated import DIMS, DISTANCE, family, losses, pair

import sfumato as sf
from sfumato.certificates.tradeoff import ALIKE, TOLD_APART, TradeOff, trade_off
from sfumato.errors import ParameterError
from sfumato.mechanisms import Gaussian, Identity, Laplace, Mahalanobis, Polar, Purkayastha, Suppression
from sfumato.mechanisms.losses import laplace_loss, upper_cap
from sfumato.sampling import gammas

NAMES = sorted(family(64, 1.0))
STRENGTHS = (0.3, 1.0, 2.0, 4.0)
ROWS = 1500
RARE = 1e-6
"""A sound curve fails one of these checks about once in ten thousand runs of all of them."""


def held_to(mechanism, curve: TradeOff, found: np.ndarray) -> list[str]:
    """What of a curve the measured losses of both inputs contradict."""
    rows = found.shape[1]
    room = ksone.isf(RARE, rows)
    wrong = []
    advantage = (found[0] > 0).mean() - (found[1] > 0).mean()
    if abs(advantage - curve.total_variation) > curve.error + 2 * room:
        wrong.append(f"total variation {advantage:.3f}, not {curve.total_variation:.3f}")
    # Alpha and beta at every threshold, against the band.
    alpha = np.searchsorted(np.sort(found[0]), curve.losses, side="right") / rows
    beta = 1 - np.searchsorted(np.sort(found[1]), curve.losses, side="right") / rows
    for measured, low, high in ((alpha, curve.low, curve.high), (beta, curve.low[::-1], curve.high[::-1])):
        if (measured < low - room).any() or (measured > high + room).any():
            wrong.append("an error of the best test lies outside the band")
    return wrong


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("strength", STRENGTHS)
@pytest.mark.parametrize("name", NAMES)
def test_real_releases_lie_on_the_curve(name, strength, dim):
    mechanism = family(dim, strength)[name]
    inputs = pair(mechanism, dim, DISTANCE, np.random.default_rng(dim))
    curve = trade_off(mechanism, DISTANCE, dim)
    assert curve.error < 1e-9
    found = losses(mechanism, inputs, ROWS, seed=dim)
    assert held_to(mechanism, curve, found) == []
    # No loss is larger than the nominal bound says, and few come near it.
    if name != "gaussian":
        assert np.abs(found).max() <= mechanism.loss_law(DISTANCE, dim).largest * (1 + 1e-3)


class OneDimensionalRadius(Laplace):
    """The radius is exponential, as if the noise had one dimension."""

    def _release(self, vectors, draws, step):
        plain = np.zeros_like(vectors)
        noise = super()._release(plain, draws, step)
        noise /= np.linalg.norm(noise, axis=1, keepdims=True)
        radius = gammas(draws, 1.0) * vectors.shape[1] / self.epsilon
        return noise * (radius / step)[:, None] + vectors / step


class NormalRadius(Laplace):
    """Of the right variance, with the radius of a normal law."""

    def _release(self, vectors, draws, step):
        return Gaussian(sigma=self.noise_sd(vectors.shape[1]))._release(vectors, draws, step)


def too_little(mechanism):
    return type(mechanism)(epsilon=mechanism.epsilon * 1.15)


@pytest.mark.parametrize("dim", [8, 64])
def test_a_wrong_radius_law_is_caught(dim):
    epsilon = math.sqrt(dim) / DISTANCE * 2
    mechanism = Laplace(epsilon=epsilon)
    inputs = pair(mechanism, dim, DISTANCE, np.random.default_rng(1))
    curve = trade_off(mechanism, DISTANCE, dim)
    assert held_to(mechanism, curve, losses(mechanism, inputs, 20_000, 1)) == []
    wrong = losses(mechanism, inputs, 20_000, 1, OneDimensionalRadius(epsilon=epsilon))
    assert held_to(mechanism, curve, wrong)
    if dim == 8:  # in many dimensions the two laws of the loss meet, which is what mu says
        assert held_to(mechanism, curve, losses(mechanism, inputs, 20_000, 1, NormalRadius(epsilon=epsilon)))


@pytest.mark.parametrize("kind", [Laplace, Purkayastha, Polar])
def test_a_wrong_scale_is_caught(kind):
    mechanism = kind(epsilon=274.0)
    inputs = pair(mechanism, 384, DISTANCE, np.random.default_rng(1))
    curve = trade_off(mechanism, DISTANCE, 384)
    assert held_to(mechanism, curve, losses(mechanism, inputs, 10_000, 1)) == []
    assert held_to(mechanism, curve, losses(mechanism, inputs, 10_000, 1, too_little(mechanism)))


def test_the_nominal_bound_overstates_what_is_lost():
    curve = sf.certificates.trade_off(Laplace(epsilon=274.0), 0.1, 384)
    assert curve.total_variation == pytest.approx(0.517, abs=2e-3)
    assert curve.total_variation == pytest.approx(0.515671, abs=1e-6)
    assert curve.gaussian_total_variation == pytest.approx(0.515526, abs=1e-6)
    assert math.tanh(27.4 / 2) > 0.999998  # the same from epsilon alone
    elliptical = Mahalanobis(epsilon=274.0, shape=np.linspace(0.1, 3.0, 384))
    assert trade_off(elliptical, 0.1).total_variation == curve.total_variation


@pytest.mark.parametrize(("dim", "separation"), [(2, 1.0), (3, 4.0), (5, 2.0), (64, 10.0), (384, 27.4)])
def test_the_integral_lies_between_sums_that_bound_it(dim, separation):
    """The threshold falls with the radius, so that sums over cells of known mass bound the integral."""
    law = laplace_loss(separation, dim)
    at = np.linspace(-0.9, 0.9, 7) * separation
    value, error = law.cdf(at)
    edges = gammaincinv(dim, np.linspace(0, 1, 4001))
    mass = np.diff(gammainc(dim, edges))
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = upper_cap(np.nan_to_num(law.threshold(edges, at[:, None]), nan=2.0), dim)
    assert (heights[:, :-1] @ mass <= value + error).all()
    assert (heights[:, 1:] @ mass >= value - error).all()
    assert (heights[:, 1:] - heights[:, :-1] >= -1e-12).all()


def test_one_dimension_is_the_plain_laplace_law():
    curve = trade_off(Laplace(epsilon=1.0), 2.0, 1)
    assert abs(curve.total_variation - (1 - math.exp(-1.0))) <= curve.error < 0.1
    # T(1/2) = exp(-2)/2 (Dong, Roth and Su 2019, eq. 8).
    low, high = curve.bounds(0.5)
    assert low[0] <= math.exp(-2.0) / 2 <= high[0]


def test_two_and_three_dimensions_against_an_adaptive_rule():
    for dim in (2, 3):
        curve = trade_off(Laplace(epsilon=2.0), 1.0, dim)

        def held(radius: float, dim: int = dim) -> float:
            ratio = min(1.0 / radius, 1.0)
            within = 2 / math.pi * math.asin(ratio) if dim == 2 else ratio
            return radius ** (dim - 1) * math.exp(-radius) / math.factorial(dim - 1) * within

        wanted = quad(held, 0, 60, points=[1.0], limit=200)[0]
        assert abs(curve.total_variation - wanted) <= curve.error < 5e-3


def test_a_gaussian_has_the_gaussian_curve():
    alpha = np.linspace(0, 1, 101)
    for distance in (1e-3, 0.5, 1.0, 6.0):
        curve = trade_off(Gaussian(sigma=1.0), distance, 7)
        low, high = curve.bounds(alpha)
        assert (low <= curve.gaussian(alpha) + 1e-12).all() and (curve.gaussian(alpha) <= high + 1e-12).all()
        assert (high - low).max() < 1e-4
        assert curve.total_variation == pytest.approx(2 * ndtr(distance / 2) - 1, abs=1e-11)


def test_many_dimensions_come_close_to_the_gaussian_curve():
    gaps = []
    for dim in (16, 64, 384, 1536):
        curve = trade_off(Laplace(epsilon=math.sqrt(dim)), 1.0, dim)
        assert curve.mu == pytest.approx(1.0)
        alpha = np.linspace(0, 1, 201)
        gaps.append(np.abs(curve.beta(alpha) - curve.gaussian(alpha)).max())
    assert gaps == sorted(gaps, reverse=True) and gaps[-1] < 1e-3


@pytest.mark.parametrize("name", NAMES)
def test_a_curve_is_convex_falls_and_is_lower_the_further_apart(name):
    alpha = np.linspace(0, 1, 200)
    mechanism, below = family(64, 1.0)[name], np.ones(200)
    for distance in (1e-7, 0.01, 0.1, 0.5, 1.5):
        curve = trade_off(mechanism, distance, 64)
        low, high = curve.bounds(alpha)
        assert (low <= high).all() and (np.diff(high) <= 1e-12).all() and (np.diff(low, 2) >= -1e-9).all()
        assert (low <= below + 1e-9).all()
        below = high


def test_nothing_apart_and_nothing_promised():
    assert trade_off(Laplace(epsilon=5.0), 0.0, 8) is ALIKE
    assert ALIKE.total_variation == 0 and ALIKE.beta(0.3)[0] == pytest.approx(0.7)
    for mechanism in (Identity(), Suppression.example(8)):
        curve = trade_off(mechanism, 0.1, 8)
        assert curve is TOLD_APART and curve.total_variation == 1 and curve.beta(1e-9)[0] == 0


@pytest.mark.parametrize("distance", [-0.1, math.nan, math.inf, "0.1", True])
def test_a_distance_that_is_none_is_refused(distance):
    with pytest.raises(ParameterError, match="`distance` must be"):
        trade_off(Laplace(epsilon=1.0), distance, 8)


def test_distances_that_a_metric_does_not_have_are_refused():
    with pytest.raises(ParameterError, match="distance"):
        trade_off(Purkayastha(epsilon=1.0), 3.2, 8)
    with pytest.raises(ParameterError, match="distance"):
        trade_off(Polar(epsilon=1.0), 2.1, 8)
    with pytest.raises(ParameterError, match="released radius"):
        trade_off(Polar(epsilon=1.0, radius_epsilon=3.0), 0.1, 8)
    with pytest.raises(ParameterError, match="`dim` must be given"):
        trade_off(Laplace(epsilon=1.0), 0.1)
    # The ends that there are.
    for mechanism, end in ((Purkayastha(epsilon=50.0), math.pi), (Polar(epsilon=50.0), 2.0)):
        curve = trade_off(mechanism, end, 8)
        assert curve.worst_total_variation > 0.999 > curve.total_variation > 0.95
