"""Linear maps between two spaces of vectors, fitted to pairs: least squares with a ridge, or a rotation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.release import Release
from sfumato.sensitivity import Background
from sfumato.types import Floats, Vectors

RIDGES = tuple(10.0**power for power in range(-8, 3))
"""Tried when none is given, as shares of the inputs' mean variance in a direction."""

_FOLDS = 5
_SIMULATED = 8192
"""About how many releases are drawn where their mean and spread have no closed form."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearMap:
    """y = (x - origin) matrix + target."""

    matrix: Floats
    """`(d_in, d_out)`"""
    origin: Floats
    target: Floats

    def __call__(self, vectors: Any) -> Floats:
        """Map rows."""
        return np.asarray((np.asarray(vectors, np.float64) - self.origin) @ self.matrix + self.target)


def fit_ridge(
    inputs: Any,
    outputs: Any,
    *,
    ridge: float | None = None,
    noise: Floats | None = None,
    centre: bool = True,
) -> LinearMap:
    """The linear map with the least squared error, its weights held small by a ridge.

    Inputs that will carry noise of covariance N when the map is used, and carry none here, cost
    E|(X + Z) W - Y|^2 = |X W - Y|^2 + n tr(W' N W): the noise is itself a ridge, n N in the normal equations
    (Bishop 1995, "Training with noise is equivalent to Tikhonov regularization"). Few pairs need one besides.

    Args:
        inputs: `(n, d_in)`.
        outputs: `(n, d_out)` their counterparts.
        ridge: a share of the inputs' mean variance in a direction; None for the best of `RIDGES` by
            leave-one-out, 0 for the pseudo-inverse of ALGEN (section 3.3).
        noise: `(d_in, d_in)` covariance of the noise that only later inputs carry.
        centre: whether the map goes through the two means instead of the two origins.
    """
    x, y = _pair(inputs, outputs)
    share = LeaveOneOut(x, y, centre=centre).best() if ridge is None else ridge
    origin = x.mean(axis=0) if centre else np.zeros(x.shape[1])
    target = y.mean(axis=0) if centre else np.zeros(y.shape[1])
    x, y = x - origin, y - target
    penalty = np.eye(x.shape[1]) * (share * np.square(x).sum() / x.shape[1])
    if noise is not None:
        penalty = penalty + len(x) * noise
    # Stacked rather than as normal equations, which square the condition number.
    stacked = np.concatenate([x, _root(penalty)])
    wanted = np.concatenate([y, np.zeros((x.shape[1], y.shape[1]))])
    matrix = np.linalg.lstsq(stacked, wanted, rcond=None)[0]
    return LinearMap(matrix, origin, target)


class LeaveOneOut:
    """Errors of a ridge fit on pairs left out one at a time.

    The error of pair i when it is left out is that of the whole fit over 1 - h_i, with h_i the i-th diagonal
    entry of the hat matrix; a mean that is taken out first adds 1/n to it.
    """

    def __init__(self, inputs: Any, outputs: Any, *, centre: bool = True) -> None:
        x, y = _pair(inputs, outputs)
        x, y = (x - x.mean(axis=0), y - y.mean(axis=0)) if centre else (x, y)
        left, sizes, _ = np.linalg.svd(x, full_matrices=False)
        real = sizes > max(x.shape) * np.finfo(np.float64).eps * max(float(sizes[0]), 1e-300)
        self._left, self._sizes = left[:, real], sizes[real]
        self._turned = self._left.T @ y
        self._outside = y - self._left @ self._turned
        self._mean, self._start = np.square(x).sum() / x.shape[1], 1 / len(x) if centre else 0.0

    def errors(self, ridge: float) -> Floats:
        """`(n, d_out)` the error of each pair."""
        lost = ridge * self._mean / np.maximum(self._sizes**2 + ridge * self._mean, 1e-300)
        squares = np.square(self._left)
        # 1 - h_i from what is lost, not from what is kept: with few pairs it is tiny, and so is the residual.
        room = np.maximum(1 - squares.sum(axis=1) - self._start, 0.0) + squares @ lost
        residuals = self._outside + self._left @ (self._turned * lost[:, None])
        return np.asarray(residuals / np.maximum(room, 1e-12)[:, None])

    def best(self) -> float:
        """The share among `RIDGES` with the least squared error."""
        return min(RIDGES, key=lambda share: float(np.square(self.errors(share)).sum()))


def fit_procrustes(inputs: Any, outputs: Any) -> LinearMap:
    """The orthogonal map that comes closest (Schoenemann 1966); between dimensions, it pads or projects.

    Directions that fewer pairs than dimensions leave open are mapped to nothing, not at random.
    """
    x, y = _pair(inputs, outputs)
    left, sizes, right = np.linalg.svd(x.T @ y, full_matrices=False)
    known = sizes > sizes[0] * max(x.shape[1], y.shape[1]) * np.finfo(np.float32).eps
    return LinearMap(left[:, known] @ right[known], np.zeros(x.shape[1]), np.zeros(y.shape[1]))


def crossed_errors(fit: Callable[[Floats, Floats], LinearMap], inputs: Any, outputs: Any) -> Floats:
    """`(n, d_out)` the error of each pair under the map fitted to those of the other folds."""
    x, y = _pair(inputs, outputs)
    errors = np.array(y)
    for fold in range(min(_FOLDS, len(x)) if len(x) > 1 else 0):
        test = np.arange(len(x)) % _FOLDS == fold
        errors[test] -= fit(x[~test], y[~test])(x[test])
    return errors


def _pair(inputs: Any, outputs: Any) -> tuple[Floats, Floats]:
    x, y = np.asarray(inputs, np.float64), np.asarray(outputs, np.float64)
    if len(x) != len(y) or not len(x):
        raise InputError(f"There must be as many inputs as outputs, and some. Found {len(x)} and {len(y)}.")
    return x, y


def _root(penalty: Floats) -> Floats:
    """R with R'R = penalty, also where it is singular."""
    values, vectors = np.linalg.eigh(penalty)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


def moments(release: Release | None, clean: Vectors, seed: int) -> tuple[Floats, Floats | None]:
    """What is released for each vector on average, and the covariance around that, pooled where it varies."""
    if release is None:
        return clean.astype(np.float64), None
    mechanism, dim = release.mechanism, clean.shape[1]
    if adds_alike(release, dim) and not release.normalise:
        noise, matrix = mechanism.noise_covariance(dim), release.linear
        return release.expected(clean), noise if matrix is None else matrix @ noise @ matrix.T
    fresh = release.fresh(seed)
    copies = max(4, math.ceil(_SIMULATED / len(clean)))
    total, outer = np.zeros(()), np.zeros(())
    for _ in range(copies):
        drawn = fresh(clean).astype(np.float64)
        total, outer = total + drawn, outer + drawn.T @ drawn
    mean = np.asarray(total / copies)
    return mean, (outer - copies * mean.T @ mean) / ((copies - 1) * len(clean))


def adds_alike(release: Release, dim: int) -> bool:
    """Whether a release is the vector and noise of one covariance, all of it public."""
    mechanism = release.mechanism
    return mechanism.additive and mechanism.steady and release.output_dim(dim) == dim


def covariance_of(errors: Floats) -> Floats:
    """Of errors around zero, drawn towards equal spread in every direction as far as few of them ask for."""
    mean = max(float(np.square(errors).mean()), 1e-12)
    if len(errors) < 2 or not errors.any():
        return np.eye(errors.shape[1]) * mean
    return Background.fit(errors).covariance
