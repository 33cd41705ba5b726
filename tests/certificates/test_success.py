"""What attackers can do: never more than is said, and all of it where a bound is tight."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binomtest
from tests.certificates.simulated import DISTANCE, family, losses, pair

from sfumato.certificates import (
    bayes_security,
    binary_success,
    candidate_success,
    leaked_bits,
    success_from,
    trade_off,
)
from sfumato.certificates.tradeoff import ALIKE, TOLD_APART
from sfumato.errors import ParameterError
from sfumato.mechanisms import Gaussian, Laplace

CURVES = {
    "close": trade_off(Laplace(epsilon=4.0), 0.1, 64),
    "near": trade_off(Laplace(epsilon=274.0), 0.1, 384),
    "far": trade_off(Laplace(epsilon=274.0), 0.5, 384),
}


@pytest.mark.parametrize("prior", [0.5, 0.3, 0.1, 0.01, 1e-6, 0.9])
@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_two_inputs_with_any_prior_against_the_closed_form(prior, mu):
    threshold = math.log((1 - prior) / prior)
    alpha, beta = ndtr(threshold / mu - mu / 2), ndtr(-threshold / mu - mu / 2)
    wanted = 1 - prior * alpha - (1 - prior) * beta
    said = binary_success(trade_off(Gaussian(sigma=1.0), mu, 5), prior)
    assert wanted - 1e-12 <= said <= wanted + 1e-4


@pytest.mark.parametrize("name", CURVES)
def test_bounds_are_in_order_and_never_below_guessing(name):
    curve = CURVES[name]
    assert binary_success(curve) == pytest.approx((1 + curve.total_variation) / 2, abs=1e-9)
    assert binary_success(curve) == pytest.approx(candidate_success(curve, 2), abs=1e-9)
    assert bayes_security(curve) == pytest.approx(1 - curve.total_variation, abs=1e-9)
    before = 1.0
    for k in (2, 3, 5, 10, 100, 10_000, 10**6):
        now = candidate_success(curve, k)
        assert 1 / k <= now <= min(before, success_from(curve, 1 / k)) + 1e-12
        assert 0 <= leaked_bits(curve, k) <= math.log2(k)
        before = now
    assert [binary_success(curve, p) for p in (0.0, 1.0)] == [1.0, 1.0]
    assert binary_success(curve, 0.2) == pytest.approx(binary_success(curve, 0.8), abs=1e-9)


def test_the_ends():
    assert binary_success(ALIKE, 0.3) == pytest.approx(0.7)
    assert candidate_success(ALIKE, 8) == pytest.approx(1 / 8) and leaked_bits(ALIKE, 8) == pytest.approx(0)
    assert success_from(ALIKE, 0.25) == pytest.approx(0.25) and bayes_security(ALIKE) == 1
    assert binary_success(TOLD_APART, 0.3) == candidate_success(TOLD_APART, 8) == 1
    assert success_from(TOLD_APART, 0.25) == 1 and bayes_security(TOLD_APART) == 0
    assert leaked_bits(TOLD_APART, 8) == 3
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ParameterError, match="prior"):
            binary_success(ALIKE, bad)
        with pytest.raises(ParameterError, match="baseline"):
            success_from(ALIKE, bad)
    for none in (0, -3, 2.5, True):
        with pytest.raises(ParameterError, match="candidates"):
            candidate_success(ALIKE, none)


@pytest.mark.parametrize("name", sorted(family(64, 1.0)))
def test_the_informed_attacker_stays_below_between_two_and_comes_close(name):
    """He is right as often as the curve says: within the interval of Clopper and Pearson, from both sides."""
    dim, rows = 64, 10_000
    mechanism = family(dim, 1.0)[name]
    inputs = pair(mechanism, dim, DISTANCE, np.random.default_rng(3))
    found = losses(mechanism, inputs, rows // 2, seed=5)
    right = int((found[0] > 0).sum() + (found[1] < 0).sum())
    said = binary_success(trade_off(mechanism, DISTANCE, dim))
    interval = binomtest(right, rows).proportion_ci(1 - 1e-5, method="exact")
    assert interval.low <= said <= interval.high


@pytest.mark.parametrize("candidates", [3, 10, 40])
def test_the_informed_attacker_among_many_stays_below(candidates):
    """Candidates on a simplex, all equally far from each other: the best of them is the likeliest."""
    dim, rows, rng = 64, 4000, np.random.default_rng(candidates)
    mechanism = Laplace(epsilon=2 * math.sqrt(dim) / DISTANCE)
    corners = np.linalg.qr(rng.standard_normal((dim, candidates)))[0].T * DISTANCE / math.sqrt(2)
    truth = np.arange(rows) % candidates
    radius = rng.gamma(dim, 1 / mechanism.epsilon, rows)
    noise = rng.standard_normal((rows, dim))
    noise *= (radius / np.linalg.norm(noise, axis=1))[:, None]
    named = mechanism.log_densities(corners[truth] + noise, corners).argmax(axis=1)
    right = int((named == truth).sum())
    said = candidate_success(trade_off(mechanism, DISTANCE, dim), candidates)
    assert binomtest(right, rows).proportion_ci(1 - 1e-5, method="exact").low <= said < 1
    assert right / rows > 1.5 / candidates  # the attack works


def _groups(named, truth):
    """An attribute that 24 of the 40 texts have."""
    return (named < 24) == (truth < 24), 24 / 40


SUCCESSES = {
    "re-identification": lambda named, truth: (named == truth, 1 / 40),
    "attribute": _groups,
    "reconstruction": lambda named, truth: (np.abs(named - truth) <= 1, 3 / 40),
}
"""When a guess counts, and how often the best one does without a release."""


@pytest.mark.parametrize("strength", [0.5, 2.0])
@pytest.mark.parametrize("success", sorted(SUCCESSES))
def test_no_success_of_any_kind_passes_what_its_prior_becomes(success, strength):
    """By the best attacker there is: for each release the guess that is likeliest to count."""
    dim, count, rows, rng = 64, 40, 4000, np.random.default_rng(11)
    mechanism = Laplace(epsilon=strength * math.sqrt(dim) / DISTANCE)
    corners = np.linalg.qr(rng.standard_normal((dim, count)))[0].T * DISTANCE / math.sqrt(2)
    truth = np.arange(rows) % count
    noise = rng.standard_normal((rows, dim))
    noise *= (rng.gamma(dim, 1 / mechanism.epsilon, rows) / np.linalg.norm(noise, axis=1))[:, None]
    logs = mechanism.log_densities(corners[truth] + noise, corners)
    likely = np.exp(logs - logs.max(axis=1, keepdims=True))
    texts = np.arange(count)
    counts = np.stack([SUCCESSES[success](np.full(count, named), texts)[0] for named in texts])
    named = (likely @ counts.T.astype(float)).argmax(axis=1)
    right, prior = SUCCESSES[success](named, truth)
    most = counts.sum(axis=1).max() / count
    said = success_from(trade_off(mechanism, DISTANCE, dim), prior)
    assert most == pytest.approx(prior)  # without a release
    assert binomtest(int(right.sum()), rows).proportion_ci(1 - 1e-5, method="exact").low <= said < 1
    assert right.mean() >= prior and (strength < 2 or right.mean() > prior + 0.01)  # the attack works
