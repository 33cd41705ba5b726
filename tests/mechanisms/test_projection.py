"""Projection: the paper's dimensions, the three grounds for its sensitivity, and its utility bounds."""

from __future__ import annotations

import numpy as np
import pytest
from tests.contracts.mechanism_cases import unit_vectors

from sfumato.errors import ParameterError
from sfumato.mechanisms import Projection
from sfumato.mechanisms.projection import (
    distance_bound,
    inner_product_bound,
    linear_loss_bound,
    target_dim,
)
from sfumato.randomness import generator


@pytest.mark.parametrize(("beta", "printed"), [(0.93, 50), (0.66, 100), (0.468, 200)])
def test_dimensions_of_the_paper(beta, printed):
    assert abs(target_dim(300, 1e-6, beta) - printed) <= 2
    assert Projection(epsilon=1.0, beta=beta).output_dim(300) == target_dim(300, 1e-6, beta)


@pytest.mark.parametrize("sensitivity", ["width", "spectral", "orthonormal"])
def test_exact_modes_cover_every_direction(sensitivity):
    mechanism = Projection(epsilon=10.0, sensitivity=sensitivity, components=60)
    matrix = mechanism.matrix(300)
    stretched = float(np.linalg.norm(matrix, 2))
    assert mechanism.worst_epsilon(300) == pytest.approx(10.0 * stretched / mechanism.stretch(300), rel=1e-6)
    if sensitivity == "width":
        # The promise is conditional: some direction is stretched beyond 1 + beta, and that is said.
        assert stretched > mechanism.stretch(300) and mechanism.worst_epsilon(300) > 10.0
        assert mechanism.guarantee.proof == "conditional" and mechanism.guarantee.delta == 1e-6
    else:
        assert stretched <= mechanism.stretch(300) <= stretched * (1 + 1e-6)
        assert mechanism.guarantee.proof == "proved" and mechanism.guarantee.delta == 0
    if sensitivity == "orthonormal":
        assert np.allclose(matrix.T @ matrix, np.eye(60) * 300 / 60)


def test_the_matrix_is_public_and_repeatable():
    one, two = Projection(epsilon=1.0, seed=3), Projection(epsilon=9.0, seed=3)
    assert np.array_equal(one.matrix(100), two.matrix(100))
    assert not np.array_equal(one.matrix(100), Projection(epsilon=1.0, seed=4).matrix(100))
    entries = Projection(epsilon=1.0, components=200).matrix(500) * np.sqrt(200)
    assert abs(entries.mean()) < 0.02 and entries.std() == pytest.approx(1.0, abs=0.02)


def test_lengths_are_kept_on_average():
    vectors = unit_vectors(2000, 300)
    for sensitivity in ("width", "spectral", "orthonormal"):
        matrix = Projection(epsilon=1.0, sensitivity=sensitivity, components=100).matrix(300)
        assert np.linalg.norm(vectors @ matrix, axis=1).mean() == pytest.approx(1.0, abs=0.03)


@pytest.mark.parametrize("beta", [0.93, 0.468])
@pytest.mark.parametrize("epsilon", [5.0, 50.0, 500.0])
def test_utility_bounds_hold_and_are_not_empty(epsilon, beta):
    """Propositions 7 to 9: measured errors stay below the bounds, and the bounds grow as the paper says."""
    points, delta = 200, 1e-6
    vectors = unit_vectors(points, 300, seed=2)
    mechanism = Projection(epsilon=epsilon, beta=beta, delta=delta)
    released = mechanism.privatize(vectors).astype(np.float64)
    m = mechanism.output_dim(300)
    given = {"points": points, "m": m, "epsilon": epsilon, "delta": delta, "beta": beta}

    def distances(rows):
        return np.linalg.norm(rows[:, None] - rows[None], axis=2)

    distance_error = np.abs(distances(released) - distances(vectors.astype(np.float64))).max()
    product_error = np.abs(released @ released.T - vectors @ vectors.T)[~np.eye(points, dtype=bool)].max()
    assert distance_error <= distance_bound(**given)
    assert product_error <= inner_product_bound(**given)
    # A bound that never bites would pass everything: the noise it covers is really there.
    assert distance_error > 0.01 * distance_bound(**given)

    theta = generator(1).standard_normal(300)
    theta /= np.linalg.norm(theta)
    labels = np.sign(vectors @ theta)

    def hinge(scores):
        return np.maximum(0.0, 1.0 - labels * scores).mean()

    rise = hinge(released @ (mechanism.matrix(300).T @ theta)) - hinge(vectors @ theta)
    assert rise <= linear_loss_bound(**given, lipschitz=1.0, diameter=1.0)


def test_bounds_move_the_right_way():
    given = {"points": 100, "m": 50, "epsilon": 10.0, "delta": 1e-6, "beta": 0.5}
    for bound in (distance_bound, inner_product_bound):
        assert bound(**given) > bound(**{**given, "epsilon": 20.0})
        assert bound(**given) < bound(**{**given, "m": 100})
        assert bound(**given) < bound(**{**given, "points": 1000})


def test_bad_parameters():
    for bad in (
        {"beta": 0.0},
        {"beta": 1.0},
        {"delta": 0.0},
        {"delta": 0.9},
        {"sensitivity": "guess"},
        {"components": 0},
        {"seed": -1},
    ):
        with pytest.raises(ParameterError):
            Projection(epsilon=1.0, **bad)
    with pytest.raises(ParameterError, match="m <= n"):
        Projection(epsilon=1.0, sensitivity="orthonormal", components=10).privatize(unit_vectors(2, 5))
    with pytest.raises(ParameterError, match="Raise beta or delta"):
        Projection(epsilon=1.0, beta=0.01).output_dim(300)
