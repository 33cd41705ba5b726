"""Gaussian: the analytic calibration against its definition and against published values."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from sfumato.arrays import NORM_TOLERANCE
from sfumato.errors import ParameterError
from sfumato.mechanisms import Gaussian
from sfumato.mechanisms.gaussian import analytic_sigma, gaussian_delta


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("sigma", [0.5, 1.0, 4.0])
def test_delta_is_the_hockey_stick_divergence(epsilon, sigma):
    # delta = integral of max(0, p - e^eps q) for two normals one apart.
    def excess(y):
        return max(0.0, norm.pdf(y, 0, sigma) - math.exp(epsilon) * norm.pdf(y, 1, sigma))

    edge = 0.5 - epsilon * sigma**2
    wanted = quad(excess, edge - 40 * sigma, edge, limit=400, points=[edge - 5 * sigma])[0]
    assert gaussian_delta(epsilon, 1.0, sigma) == pytest.approx(wanted, rel=1e-6, abs=1e-14)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.01, 1e-5), (1.0, 1e-6), (10.0, 1e-9), (500.0, 1e-6)])
def test_sigma_is_the_smallest_that_keeps_the_promise(epsilon, delta):
    sigma = analytic_sigma(epsilon, delta, 2.0)
    assert gaussian_delta(epsilon, 2.0, sigma) <= delta
    assert gaussian_delta(epsilon, 2.0, sigma * 0.9999) > delta


def test_beats_the_classical_formula():
    # Classical: sigma = distance sqrt(2 ln(1.25/delta))/epsilon, valid for epsilon < 1.
    classical = 2.0 * math.sqrt(2 * math.log(1.25 / 1e-5)) / 0.9
    assert 0.5 * classical < analytic_sigma(0.9, 1e-5, 2.0) < classical


def test_promise_covers_what_the_gate_lets_in():
    mechanism = Gaussian.analytic(epsilon=2.0, delta=1e-6)
    widest = 2.0 * (1 + NORM_TOLERANCE)
    assert gaussian_delta(2.0, widest, mechanism.sigma) <= 1e-6
    guarantee = mechanism.guarantee
    assert (guarantee.epsilon, guarantee.delta, guarantee.metric) == (2.0, 1e-6, "bounded")
    assert not Gaussian(sigma=mechanism.sigma).guarantee.is_private
    for bad in (
        {"epsilon": 0.0, "delta": 1e-6},
        {"epsilon": 1.0, "delta": 0.0},
        {"epsilon": 1.0, "delta": 1.0},
    ):
        with pytest.raises(ParameterError):
            Gaussian.analytic(**bad)


def test_log_density_is_the_normal_one():
    vectors = np.array([[0.6, 0.8], [0.0, 1.0]])
    released = np.array([[0.1, 0.2], [0.3, -0.4]])
    wanted = norm.logpdf(released, vectors, 0.3).sum(axis=1)
    assert np.allclose(Gaussian(sigma=0.3).log_density(released, vectors), wanted)
