"""The candidate-exclusion attack works on plain float32 sums and on nothing that is released here."""

import numpy as np
import pytest

from sfumato.errors import ParameterError, VectorError
from sfumato.mechanisms import Gaussian, Laplace, Mahalanobis, Polar, Projection, Purkayastha, Suppression
from sfumato.randomness import generator
from sfumato.sensitivity import Mask
from sfumato.verification import excluded, identified, identify
from sfumato.verification.bits import is_power_of_two, off_grid
from sfumato.verification.cases import covariance, factored, mask_scores
from sfumato.verification.neighbours import neighbours
from tests.verification.mutants import Float32Sum

DIM, CANDIDATES, RELEASES = 384, 1_000, 200
EPSILONS = (1.0, 10.0, 50.0, 500.0)
DENSE, FACTORED, MASK = covariance(DIM), factored(DIM), Mask(mask_scores(DIM))
SPARSE = Mask(np.where(np.arange(DIM) % 5 == 0, 1.0, 0.0))

EVEN = {
    "laplace": lambda epsilon: Laplace(epsilon=epsilon),
    "mask": lambda epsilon: Mahalanobis(epsilon=epsilon, shape=MASK),
    "dense": lambda epsilon: Mahalanobis(epsilon=epsilon, shape=DENSE),
    "factored": lambda epsilon: Mahalanobis(epsilon=epsilon, shape=FACTORED),
    "gaussian": lambda epsilon: Gaussian(sigma=np.sqrt(DIM + 1) / epsilon),
}
"""Additive mechanisms whose honest noise hides a unit vector among a thousand at these strengths."""

OTHERS = {
    "sparse mask": lambda epsilon: Mahalanobis(epsilon=epsilon, shape=SPARSE),
    "analytic": lambda epsilon: Gaussian.analytic(epsilon=epsilon, delta=1e-6),
    "projection": lambda epsilon: Projection(epsilon=epsilon),
    "suppression": lambda epsilon: Suppression(epsilon=epsilon, mask=MASK),
    "polar": lambda epsilon: Polar(epsilon=epsilon),
    "purkayastha": lambda epsilon: Purkayastha(epsilon=epsilon),
}


def unit_candidates():
    vectors = generator().standard_normal((CANDIDATES, DIM))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def named(mechanism, candidates):
    """How many of the releases the attack gives the right name to."""
    truth = generator().integers(0, CANDIDATES, RELEASES)
    released = mechanism.privatize(candidates[truth])
    middles = mechanism.expected(candidates).astype(np.float32)
    return identified(identify(released, middles), truth)


def test_a_float32_sum_names_its_text():
    assert named(Float32Sum(epsilon=10.0), unit_candidates()) >= 190


def test_a_float32_sum_names_its_text_among_neighbours():
    mechanism = Float32Sum(epsilon=10.0)
    assert named(mechanism, neighbours(mechanism, DIM, CANDIDATES, generator())) >= 190


def test_the_truth_is_never_ruled_out_of_a_float32_sum():
    candidates = unit_candidates()
    survivors = identify(Float32Sum(epsilon=10.0).privatize(candidates[:RELEASES]), candidates)
    assert survivors[np.arange(RELEASES), np.arange(RELEASES)].all()


def test_float64_sums_are_attacked_in_their_own_type():
    rng, candidates = generator(), unit_candidates().astype(np.float64)
    released = candidates[:50] + rng.laplace(size=(50, DIM))
    survivors = identify(released, candidates, np.float64)
    assert identified(survivors, np.arange(50)) >= 45


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", EVEN)
def test_releases_name_nobody_among_unit_vectors(name, epsilon):
    assert named(EVEN[name](epsilon), unit_candidates()) <= 3


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", EVEN | OTHERS)
def test_releases_name_nobody_among_neighbours(name, epsilon):
    mechanism = (EVEN | OTHERS)[name](epsilon)
    assert named(mechanism, neighbours(mechanism, DIM, CANDIDATES, generator())) <= 3


def test_what_distant_candidates_give_away_is_the_law_and_not_the_bits():
    """At epsilon 500 in 55 dimensions the nearest candidate is the right one: that is what epsilon says."""
    mechanism, candidates = Projection(epsilon=500.0), unit_candidates()
    middles = mechanism.expected(candidates)
    released = mechanism.privatize(candidates[:RELEASES])
    distances = ((released[:, None, :] - middles[None]) ** 2).sum(axis=2)
    assert (distances.argmin(axis=1) == np.arange(RELEASES)).mean() > 0.95


def test_excluded_agrees_with_trying_every_number_around():
    rng = generator()
    inputs = rng.normal(size=2_000).astype(np.float32) * np.float32(0.05)
    others = rng.normal(size=2_000).astype(np.float32) * np.float32(0.05)
    released = inputs + rng.normal(size=2_000).astype(np.float32)
    assert not excluded(released, inputs).any()
    possible = np.zeros(2_000, bool)
    noise = released - others
    for _ in range(40):
        noise = np.nextafter(noise, np.float32(-np.inf))
    for _ in range(81):
        possible |= others + noise == released
        noise = np.nextafter(noise, np.float32(np.inf))
    np.testing.assert_array_equal(excluded(released, others), ~possible)


def test_off_grid_counts_strays_and_negative_zeros():
    values = np.array([[0.25, -0.5, 0.0, -0.0, 0.26]], np.float32)
    assert off_grid(values, 0.25) == 2
    assert off_grid(np.array([[2.0**25]], np.float32), 1.0) == 1


def test_powers_of_two():
    assert is_power_of_two(2.0**-10)
    assert not any(is_power_of_two(step) for step in (0.0, -0.5, 0.3, float("inf"), float("nan")))


def test_bad_input_is_refused():
    candidates = np.ones((2, 3), np.float32)
    with pytest.raises(ParameterError, match="float16"):
        excluded(candidates, candidates, np.float16)
    with pytest.raises(VectorError, match="4 dimensions"):
        identify(np.ones((1, 4), np.float32), candidates)
