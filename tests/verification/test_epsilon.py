"""The bound on the privacy loss: right on laws that are known, and in the guarantee's own metric."""

import math

import numpy as np
import pytest
from scipy.stats import beta

from sfumato.mechanisms import Gaussian, Laplace, Mahalanobis, Polar, Projection, Purkayastha
from sfumato.randomness import Source, generator
from sfumato.verification.cases import Case, covariance
from sfumato.verification.density import total_mass
from sfumato.verification.epsilon import check_epsilon, loss_bound, lower_bound, make_pair


def test_loss_bound_is_clopper_and_pearson():
    for hits, others in ((0, 5), (1, 0), (700, 300), (1000, 1000), (1000, 0)):
        low = beta.ppf(0.0005, hits, 1001 - hits) if hits else 1e-300
        high = beta.ppf(0.9995, others + 1, 1000 - others) if others < 1000 else 1.0
        assert loss_bound(hits, others, 1000, alpha=1e-3) == pytest.approx(math.log(low / high), rel=1e-9)


def test_delta_is_taken_off():
    low = beta.ppf(0.0005, 700, 301)
    high = beta.ppf(0.9995, 301, 700)
    expected = math.log((low - 0.1) / high)
    assert loss_bound(700, 300, 1000, delta=0.1, alpha=1e-3) == pytest.approx(expected, rel=1e-9)


def test_randomised_response_is_bounded_closely_from_below():
    """A coin that says the truth three times in four loses log 3, on either side of the threshold."""
    rng = generator()
    first, second = (rng.random(200_000) < 0.75) * 1.0, (rng.random(200_000) < 0.25) * 1.0
    for one, other in ((first, second), (second, first)):
        assert 0.93 * math.log(3) < lower_bound(one, other) <= math.log(3)


def test_equal_samples_show_no_loss():
    rng = generator()
    assert lower_bound(rng.normal(size=20_000), rng.normal(size=20_000)) == 0.0


@pytest.mark.parametrize(
    ("mechanism", "dim", "distance"),
    [
        (Laplace(epsilon=5.0), 3, lambda x, y: np.linalg.norm(x - y)),
        (
            Mahalanobis(epsilon=5.0, shape=covariance(3)),
            3,
            lambda x, y: math.sqrt((x - y) @ np.linalg.solve(covariance(3).matrix, x - y)),
        ),
        (Polar(epsilon=5.0), 3, lambda x, y: np.linalg.norm(x - y)),
        (Purkayastha(epsilon=5.0), 3, lambda x, y: math.acos(x @ y)),
        (
            Projection(epsilon=5.0, sensitivity="spectral", components=2),
            3,
            lambda x, y: np.linalg.norm(x - y),
        ),
        (Gaussian.analytic(epsilon=5.0, delta=1e-3), 3, lambda x, y: 1.0),
        (
            Polar(epsilon=5.0, radius_epsilon=2.0),
            3,
            lambda x, y: (
                np.linalg.norm(x / np.linalg.norm(x) - y / np.linalg.norm(y))
                + abs(np.linalg.norm(x) - np.linalg.norm(y))
            ),
        ),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_the_claim_is_the_guarantee_at_the_pair_s_own_distance(mechanism, dim, distance):
    pair = make_pair(mechanism, dim)
    claim = mechanism.guarantee.loss(distance(pair.first, pair.second))
    assert pair.loss == pytest.approx(claim, rel=1e-9)
    assert pair.loss == pytest.approx(1.0 if mechanism.guarantee.metric != "bounded" else 5.0, abs=1e-3)


def test_width_is_held_to_what_the_public_matrix_really_does():
    mechanism = Projection(epsilon=1.0, beta=0.1, components=2)
    pair = make_pair(mechanism, 8)
    stretched = np.linalg.norm((pair.first - pair.second) @ mechanism.matrix(8)) / mechanism.stretch(8)
    assert pair.loss >= stretched > 1.2


class TooSure(Laplace):
    """Its density is not normalised."""

    def log_density(self, released, vectors):
        return super().log_density(released, vectors) + 0.01


class NoDensity(Laplace):
    def ellipse(self, dim):
        return None


def test_a_density_that_does_not_integrate_to_1_fails():
    assert total_mass(TooSure(epsilon=2.0), np.array([0.3, 0.1])) == pytest.approx(math.exp(0.01), rel=1e-9)
    rows = check_epsilon(Case(TooSure(epsilon=1.0), 1, "epsilon"), 2_000, Source())
    assert [row.check for row in rows if not row.passed] == ["density integrates to 1"]


def test_distances_alone_are_enough_without_a_density():
    rows = check_epsilon(Case(NoDensity(epsilon=1.0), 1, "epsilon"), 20_000, Source())
    assert [row.check for row in rows] == ["loss between two inputs"]
    assert rows[0].passed
    assert rows[0].value > 0
