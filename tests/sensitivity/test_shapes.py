"""Shapes: three ways to hold a covariance that agree with one another, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.mechanisms import Mahalanobis
from sfumato.mechanisms.moments import chi_mean, coloured_norm_mean
from sfumato.randomness import Source, generator
from sfumato.sensitivity import Dense, Diagonal, Factored, Mask
from sfumato.workspace import Workspace

DIM = 12
VARIANCES = np.linspace(0.2, 3.0, DIM)
FACTORS = generator(1).standard_normal((DIM, 3))
SHAPES = {
    "diagonal": Diagonal(VARIANCES),
    "dense": Dense(np.diag(VARIANCES) + FACTORS @ FACTORS.T),
    "factored": Factored(VARIANCES, FACTORS),
}
every = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


@every
def test_normals_have_the_covariance(shape):
    draws = Source().blocks([(0, 200_000)])(0, Workspace())
    sample = np.cov(shape.normals(draws).T)
    # In whitened coordinates every entry of the covariance has the same standard error.
    white = np.linalg.solve(np.linalg.cholesky(shape.covariance()), sample)
    white = np.linalg.solve(np.linalg.cholesky(shape.covariance()), white.T)
    assert np.abs(white - np.eye(DIM)).max() < 6 * np.sqrt(2 / 200_000)


@every
def test_whitening_gives_the_mahalanobis_norm(shape):
    rows = generator(2).standard_normal((20, DIM))
    wanted = np.sqrt(np.einsum("ij,jk,ik->i", rows, np.linalg.inv(shape.covariance()), rows))
    assert np.allclose(np.linalg.norm(shape.whiten(rows), axis=1), wanted)
    assert np.allclose(np.sort(shape.eigenvalues), np.linalg.eigvalsh(shape.covariance()))


def test_dense_and_factored_are_one_mechanism():
    dense = Mahalanobis(epsilon=5.0, shape=SHAPES["dense"])
    factored = Mahalanobis(epsilon=5.0, shape=SHAPES["factored"])
    rows = generator(3).standard_normal((9, DIM)) * 0.1
    assert np.allclose(dense.log_density(rows, rows[:1]), factored.log_density(rows, rows[:1]))
    assert dense.noise_ratio() == pytest.approx(factored.noise_ratio())
    assert dense.guarantee.worst_case_l2 == pytest.approx(factored.guarantee.worst_case_l2)
    assert dense.fingerprint() != factored.fingerprint()


def test_mask_becomes_the_papers_covariance():
    mask = Mask(np.array([1.0, 0.0, 0.5, 0.0]))
    variances = mask.variances()
    assert variances.sum() == pytest.approx(4.0)
    assert variances[1] / variances[0] == pytest.approx(1e-6 / (1 + 1e-6))
    # The worst case in l2 is eps/sqrt(lambda_min): about a thousand times epsilon.
    guarantee = Mahalanobis(epsilon=2.0, shape=mask).guarantee
    assert guarantee.worst_case_l2 == pytest.approx(2.0 / np.sqrt(variances.min()))
    assert 500 < guarantee.worst_case_l2 / 2.0 < 2000
    assert mask.top(2).tolist() == [0, 2]
    with pytest.raises(ValueError, match="read-only"):
        mask.scores[0] = 3.0


def test_mean_length_of_a_coloured_normal():
    assert coloured_norm_mean(np.ones(50)) == pytest.approx(chi_mean(50), rel=1e-12)
    assert coloured_norm_mean(np.array([4.0])) == pytest.approx(2 * chi_mean(1), rel=1e-12)
    sample = generator(5).standard_normal((400_000, DIM)) * np.sqrt(VARIANCES)
    assert coloured_norm_mean(VARIANCES) == pytest.approx(np.linalg.norm(sample, axis=1).mean(), rel=0.003)
    assert coloured_norm_mean(np.r_[np.full(383, 1e-6), 384.0]) == pytest.approx(
        np.sqrt(384) * chi_mean(1), rel=1e-3
    )


@pytest.mark.parametrize(
    "bad",
    [
        np.zeros(3),
        np.array([1.0, -1.0]),
        np.array([1.0, np.nan]),
        np.array([1.0, 1e-13]),
        np.ones((2, 3)),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.array([[1.0, 0.5], [0.1, 1.0]]),
        np.array([[1.0, np.inf], [np.inf, 1.0]]),
        np.ones((2, 2, 2)),
        np.array([]),
        "mask",
        None,
    ],
)
def test_bad_shapes_are_refused(bad):
    with pytest.raises(ParameterError):
        Mahalanobis(epsilon=1.0, shape=bad)


def test_bad_masks_and_factors_are_refused():
    for bad in ([-1.0, 2.0], [np.nan, 1.0], [0.0, 0.0], [[1.0]], []):
        with pytest.raises(ParameterError):
            Mask(np.array(bad))
    for variances, factors in (
        (np.ones(3), np.ones((2, 1))),
        (np.ones(3), np.ones(3)),
        (np.ones(2), np.full((2, 1), np.nan)),
    ):
        with pytest.raises(ParameterError):
            Factored(variances, factors)
    with pytest.raises(ParameterError):
        Mask(np.ones(3)).top(4)
