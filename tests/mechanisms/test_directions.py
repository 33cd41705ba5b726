"""Polar and Purkayastha: densities that integrate to one, exact moments, and no trouble at the extremes."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ive
from tests.contracts.mechanism_cases import unit_vectors

from sfumato.errors import ParameterError, VectorError
from sfumato.mechanisms import Polar, Purkayastha
from sfumato.mechanisms.angles import angle_between

BOTH = pytest.mark.parametrize("kind", [Polar, Purkayastha])


def circle(count: int) -> tuple[np.ndarray, float]:
    angle = (np.arange(count) + 0.5) / count * 2 * math.pi
    return np.stack([np.cos(angle), np.sin(angle)], axis=1), 2 * math.pi / count


@BOTH
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 30.0])
def test_density_on_the_circle_integrates_to_one(kind, epsilon):
    points, width = circle(200_000)
    total = np.exp(kind(epsilon=epsilon).log_density(points, np.array([[0.6, 0.8]]))).sum() * width
    assert total == pytest.approx(1.0, abs=1e-6)


@BOTH
@pytest.mark.parametrize("epsilon", [0.5, 20.0])
def test_density_on_the_sphere_integrates_to_one(kind, epsilon):
    angle, width = np.linspace(0, math.pi, 200_001, retstep=True)
    points = np.stack([np.sin(angle), np.zeros_like(angle), np.cos(angle)], axis=1)
    density = np.exp(kind(epsilon=epsilon).log_density(points, np.array([[0.0, 0.0, 1.0]])))
    assert (density * 2 * math.pi * np.sin(angle)).sum() * width == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize(("dim", "kappa"), [(2, 3.0), (3, 10.0), (10, 50.0), (384, 400.0), (768, 2000.0)])
def test_polar_agrees_with_bessel_functions(dim, kappa):
    order = dim / 2 - 1
    constant = order * math.log(kappa) - dim / 2 * math.log(2 * math.pi) - math.log(ive(order, kappa)) - kappa
    point = np.eye(1, dim)
    assert Polar(epsilon=kappa).log_density(point, point)[0] == pytest.approx(constant + kappa, rel=1e-9)
    mean = ive(order + 1, kappa) / ive(order, kappa)
    assert Polar(epsilon=kappa).cosine_kept(dim) == pytest.approx(mean, rel=1e-9)


@BOTH
@pytest.mark.parametrize("dim", [2, 3, 768, 8192])
@pytest.mark.parametrize("epsilon", [1e-3, 400.0, 1000.0])
def test_extremes_neither_underflow_nor_bias(kind, dim, epsilon):
    vectors = unit_vectors(300, dim)
    released = kind(epsilon=epsilon).privatize(vectors)
    assert np.isfinite(released).all()
    assert np.linalg.norm(released, axis=1) == pytest.approx(np.ones(300), abs=0.01)
    cosine = np.cos(angle_between(released.astype(np.float64), vectors.astype(np.float64)))
    error = cosine.std() / math.sqrt(300) + 1e-6
    assert abs(cosine.mean() - kind(epsilon=epsilon).cosine_kept(dim)) < 6 * error


@BOTH
@pytest.mark.parametrize("dim", [2, 3, 4, 9])
def test_every_epsilon_gives_a_sound_table(kind, dim):
    """Cells next to pi can have no weight at all; they must not poison the table."""
    vectors = unit_vectors(20, dim)
    for epsilon in np.geomspace(1e-3, 3e3, 60):
        assert np.isfinite(kind(epsilon=float(epsilon)).privatize(vectors)).all()


@BOTH
def test_only_the_direction_matters(kind):
    mechanism = kind(epsilon=5.0, max_norm=10.0)
    point = np.array([[0.6, 0.8]])
    assert mechanism.log_density(point * 2, point * 3) == pytest.approx(mechanism.log_density(point, point))
    with pytest.raises(VectorError, match="2 to 8192 dimensions"):
        mechanism.privatize(np.ones((1, 1)))


def test_polar_radius_is_laplace_reflected_and_cut():
    vectors = unit_vectors(20_000, 8) * np.float32(0.5)
    mechanism = Polar(epsilon=1000.0, radius_epsilon=4.0)
    radius = np.linalg.norm(mechanism.privatize(vectors), axis=1)
    assert radius.max() <= 2.0 + 1e-3
    inside = radius[(radius > 0.25) & (radius < 1.5)]
    # Density on [0.25, 1.5]: the Laplace density plus its reflection at zero.
    grid = np.linspace(0.25, 1.5, 2001)
    density = np.exp(-4 * np.abs(grid - 0.5)) + np.exp(-4 * (grid + 0.5))
    cdf = np.cumsum(density) / density.sum()
    gap = np.abs(np.interp(np.sort(inside), grid, cdf) - np.arange(1, len(inside) + 1) / len(inside)).max()
    assert gap < 2.5 / math.sqrt(len(inside))
    with pytest.raises(ParameterError):
        Polar(epsilon=1.0, radius_epsilon=0.0)


def test_angles_are_accurate_at_both_ends():
    base = np.array([[1.0, 0.0]])
    for angle in (1e-9, 1e-4, 1.0, math.pi - 1e-9):
        turned = np.array([[math.cos(angle), math.sin(angle)]])
        assert angle_between(turned, base)[0] == pytest.approx(angle, rel=1e-7)
