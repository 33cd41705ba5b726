"""Ellipsoids find a concept in any direction, cost little where it is not, and come with their filter."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from sfumato.errors import ParameterError
from sfumato.mechanisms import Mahalanobis
from sfumato.randomness import generator
from sfumato.sensitivity import Background, Ellipsoid, EllipsoidLearner
from sfumato.sensitivity.background import BackgroundFitter
from sfumato.sensitivity.ellipsoid import differences

DIM, RANK = 64, 6


def planted(seed=0, rows=4000):
    """Vectors with uneven spread, and a concept in a rotated subspace that no axis shows."""
    rng = generator(seed)
    rotation = np.linalg.qr(rng.standard_normal((DIM, DIM)))[0]
    spread = rotation * np.sqrt(np.linspace(0.1, 1.0, DIM) / DIM)
    basis = np.linalg.qr(rng.standard_normal((DIM, RANK)))[0]
    background = rng.standard_normal((rows, DIM)) @ spread.T
    moves = rng.standard_normal((rows, RANK)) @ basis.T * 0.3 + 0.002 * rng.standard_normal((rows, DIM))
    return background, moves, basis


@pytest.mark.parametrize("kind", ["sharp", "water", "blend"])
def test_top_directions_are_the_planted_subspace(kind):
    background, moves, basis = planted()
    ellipsoid = EllipsoidLearner(kind=kind).fit(moves, Background.fit(background))
    top = np.linalg.eigh(ellipsoid.covariance())[1][:, -RANK:]
    assert np.degrees(scipy.linalg.subspace_angles(top, basis)).max() < 10


def test_no_mask_could_have_found_it():
    _, moves, basis = planted()
    energy = np.sort((moves**2).mean(axis=0))[::-1]
    # The best RANK axes hold a small part of what the best RANK directions hold.
    assert energy[:RANK].sum() / energy.sum() < 0.35
    values = np.linalg.eigvalsh(moves.T @ moves)
    assert values[-RANK:].sum() / values.sum() > 0.95


@pytest.mark.parametrize("kind", ["sharp", "water", "blend"])
def test_the_mechanism_has_the_covariance_that_was_learned(kind):
    background, moves, _ = planted()
    ellipsoid = EllipsoidLearner(kind=kind).fit(moves, Background.fit(background), source="synthetic")
    mechanism = Mahalanobis(epsilon=ellipsoid.epsilon, shape=ellipsoid)
    vectors = np.full((60_000, DIM), 1 / np.sqrt(DIM))
    noise = mechanism.privatize(vectors) - vectors
    wanted = ellipsoid.covariance()
    white = np.linalg.inv(np.linalg.cholesky(wanted))
    assert np.abs(white @ np.cov(noise.T) @ white.T - np.eye(DIM)).max() < 0.1
    assert "synthetic" in mechanism.guarantee.notes[0]


def test_the_filter_is_the_best_linear_one():
    background, moves, _ = planted()
    spread = Background.fit(background)
    ellipsoid = EllipsoidLearner().fit(moves, spread)
    noisy = (
        background
        + generator(5).standard_normal(background.shape) @ np.linalg.cholesky(ellipsoid.covariance()).T
    )

    def error(matrix):
        return (((noisy - spread.mean) @ matrix.T + spread.mean - background) ** 2).sum(axis=1).mean()

    best = error(ellipsoid.filter())
    assert (
        best < error(np.eye(DIM))
        and best < error(0.9 * ellipsoid.filter())
        and best < error(1.1 * ellipsoid.filter())
    )
    # Half the epsilon is four times the covariance, and its own filter.
    stronger = ellipsoid.filter(ellipsoid.epsilon / 2)
    wanted = spread.covariance @ np.linalg.inv(spread.covariance + 4 * ellipsoid.covariance())
    assert np.allclose(stronger, wanted)


def test_more_strength_hides_more_and_keeps_less():
    background, moves, _ = planted()
    spread = Background.fit(background)
    signal, kept = [], []
    for strength in (1.0, 3.0, 10.0, 100.0):
        ellipsoid = EllipsoidLearner(kind="water", strength=strength).fit(moves, spread)
        signal.append(np.trace(moves.T @ moves @ np.linalg.inv(ellipsoid.covariance())))
        kept.append(np.trace(ellipsoid.filter()))
    assert signal == sorted(signal, reverse=True) and kept == sorted(kept, reverse=True)


def test_several_concepts_weigh_the_same():
    rng = generator(2)
    spread = Background.fit(rng.standard_normal((4000, DIM)) / 8)
    loud, quiet = np.zeros((500, DIM)), np.zeros((500, DIM))
    loud[:, 0], quiet[:, 1] = rng.standard_normal(500) * 10, rng.standard_normal(500) * 0.01
    both = EllipsoidLearner().fit([loud, quiet], spread).covariance()
    assert both[0, 0] == pytest.approx(both[1, 1], rel=0.1) and both[0, 0] > 20 * both[2, 2]


def test_background_streams_and_shrinks():
    rows = generator(1).standard_normal((3000, 20)) * np.linspace(0.5, 2, 20)
    fitter = BackgroundFitter()
    for piece in np.array_split(rows, 7):
        fitter.update(piece)
    streamed, whole = fitter.finish(), Background.fit(rows)
    assert np.allclose(streamed.covariance, whole.covariance) and streamed.rows == 3000
    assert np.allclose(whole.covariance, np.cov(rows.T), atol=0.1)
    # Fewer rows than dimensions: still invertible.
    few = Background.fit(generator(1).standard_normal((10, 50)))
    assert np.linalg.eigvalsh(few.covariance).min() > 0
    for bad in (np.ones((5, 3)), np.ones((1, 3)), np.full((5, 3), np.nan)):
        with pytest.raises(ParameterError):
            Background.fit(bad)


def test_bad_input_is_refused():
    background, moves, _ = planted(rows=300)
    spread = Background.fit(background)
    for bad in ({"kind": "round"}, {"strength": 0.0}, {"floor": 0.0}, {"rank": 0}):
        with pytest.raises(ParameterError):
            EllipsoidLearner(**bad)
    for rows in (np.zeros_like(moves), np.full_like(moves, np.nan)):
        with pytest.raises(ParameterError):
            EllipsoidLearner().fit(rows, spread)
    with pytest.raises(ParameterError):
        differences(moves, moves[:-1])
    assert isinstance(EllipsoidLearner(rank=2).fit(moves, spread), Ellipsoid)
    assert EllipsoidLearner(rank=2).fit(moves, spread).factors.shape == (DIM, 2)
