"""Goodness of fit: p-values are uniform under the law, and closed forms agree with the integrals."""

import numpy as np
import pytest
from scipy.special import betainc, gammainc
from scipy.stats import vonmises

from sfumato.randomness import generator
from sfumato.verification.fit import direction_p, rows_p, uniform_p, unit_vectors
from sfumato.verification.pivots import _partial_radius_cdf, angle_cdf


def test_p_values_of_the_law_are_not_too_small():
    """Bonferroni makes them a little large; none may be far too small."""
    rng = generator()
    for dim in (1, 2, 3, 40):
        found = []
        for _ in range(100):
            directions, scores = unit_vectors(1_000, dim, rng), rng.random(1_000)
            found.append([direction_p(directions), rows_p(directions, [scores], rng), uniform_p(scores)])
        for values in np.array(found).T:
            # Chance of more than 40 below 0.1 in 100: about 1e-15.
            assert (values < 0.1).sum() <= 40
            assert values.min() > 1e-9


def test_as_many_ups_as_downs_is_no_fault():
    assert direction_p(np.tile([[1.0], [-1.0]], (500, 1))) == 1.0


def test_shift_spread_and_shape_of_scores_are_seen():
    rng = generator()
    for scores in (rng.beta(1.0, 1.2, 5_000), rng.beta(1.2, 1.2, 5_000), np.full(5_000, 0.5)):
        assert uniform_p(scores) < 1e-9


def test_directions_that_lean_are_seen():
    rng = generator()
    leaning = unit_vectors(5_000, 20, rng)
    leaning[:, 3] = np.abs(leaning[:, 3])
    assert direction_p(leaning) < 1e-9
    tilted = rng.standard_normal((5_000, 20))
    tilted[:, 0] += 0.3 * tilted[:, 1]
    assert direction_p(tilted / np.linalg.norm(tilted, axis=1, keepdims=True)) < 1e-9


def test_repeated_and_chained_rows_are_seen():
    rng = generator()
    directions, scores = unit_vectors(2_000, 50, rng), rng.random(2_000)
    assert rows_p(np.tile(directions[:1_000], (2, 1)), [scores], rng) < 1e-9
    assert rows_p(directions, [np.repeat(scores[:1_000], 2)], rng) < 1e-9
    assert rows_p(np.repeat(directions[:1_000], 2, axis=0), [scores], rng) < 1e-9


@pytest.mark.parametrize("kappa", [0.5, 4.0, 300.0])
def test_the_circle_is_von_mises(kappa):
    angles = np.linspace(1e-3, np.pi - 1e-3, 200)
    expected = 2 * (vonmises.cdf(angles, kappa) - 0.5)
    np.testing.assert_allclose(angle_cdf(2, lambda t: kappa * np.cos(t), angles), expected, atol=1e-6)


@pytest.mark.parametrize("kappa", [0.5, 4.0, 300.0])
def test_the_sphere_has_a_closed_form(kappa):
    angles = np.linspace(1e-3, np.pi - 1e-3, 200)
    expected = np.expm1(-kappa * (1 - np.cos(angles))) / np.expm1(-2 * kappa)
    np.testing.assert_allclose(angle_cdf(3, lambda t: kappa * np.cos(t), angles), expected, atol=1e-6)


def test_many_dimensions_without_a_tilt_are_a_beta_law():
    angles = np.linspace(1.3, 1.8, 50)
    half = 0.5 * betainc(383 / 2, 0.5, np.sin(angles) ** 2)
    expected = np.where(angles < np.pi / 2, half, 1 - half)
    np.testing.assert_allclose(angle_cdf(384, np.zeros_like, angles), expected, atol=1e-6)


def test_strong_tilts_in_many_dimensions_do_not_underflow():
    scores = angle_cdf(768, lambda t: -1000.0 * t, np.linspace(0.5, 0.8, 1_000))
    assert np.isfinite(scores).all()
    assert (np.diff(scores) >= 0).all()
    assert scores[0] < 1e-6
    assert scores[-1] > 1 - 1e-6


def test_the_radius_of_all_axes_is_the_gamma_law():
    radius = np.linspace(300.0, 480.0, 200)
    np.testing.assert_allclose(_partial_radius_cdf(384, 384, radius), gammainc(384, radius), atol=1e-5)


def test_the_radius_of_some_axes_is_that_of_a_part_of_the_noise():
    rng = generator()
    noise = unit_vectors(50_000, 10, rng) * rng.gamma(10, 1.0, (50_000, 1))
    assert uniform_p(_partial_radius_cdf(3, 10, np.linalg.norm(noise[:, :3], axis=1))) > 1e-9
    assert uniform_p(_partial_radius_cdf(3, 9, np.linalg.norm(noise[:, :3], axis=1))) < 1e-9
