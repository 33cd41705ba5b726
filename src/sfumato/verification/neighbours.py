"""Candidates that a mechanism's own law cannot tell apart, so that whatever does tell them apart is its bits.

Candidates far apart are no test of bits: at a large epsilon the honest noise lets the nearest one be found.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms import Gaussian, Mahalanobis, Mechanism, Projection, Suppression
from sfumato.sampling import Floats

LOSS = 0.05
"""The privacy loss between any two candidates is at most this."""

_BASE = 0.9
_FARTHEST = 0.05
"""Candidates lie around a vector of this share of the norm bound, and no farther from it than that share."""


def neighbours(mechanism: Mechanism, dim: int, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Draw `count` float32 vectors with a privacy loss of at most LOSS between any two."""
    vector = rng.standard_normal(dim)
    vector *= _BASE * mechanism.max_norm / np.linalg.norm(vector)
    moves = rng.standard_normal((count, dim))
    moves /= np.linalg.norm(moves, axis=1, keepdims=True)
    shift = _shift(mechanism, dim, moves)
    if mechanism.additive:
        return (vector + shift).astype(np.float32)
    turned = vector + shift * np.linalg.norm(vector)
    turned *= np.linalg.norm(vector) / np.linalg.norm(turned, axis=1, keepdims=True)
    return turned.astype(np.float32)


def _shift(mechanism: Mechanism, dim: int, moves: Floats) -> Floats:
    """Scale unit moves to half the loss each."""
    promise = mechanism.guarantee
    farthest = _FARTHEST * mechanism.max_norm
    if isinstance(mechanism, Mahalanobis):
        values, basis = np.linalg.eigh(mechanism.shape.covariance())
        coloured = (moves * np.sqrt(values)) @ basis.T * (LOSS / 2 / mechanism.epsilon)
        return np.asarray(coloured * min(1.0, farthest / float(np.linalg.norm(coloured, axis=1).max())))
    if isinstance(mechanism, Suppression):
        # Exponential noise counts the sum of moves, on its own axes; the others must not differ at all.
        inside = np.zeros_like(moves)
        inside[:, mechanism.axes] = moves[:, mechanism.axes]
        total = np.abs(inside).sum(axis=1, keepdims=True)
        return np.asarray(inside / total * min(LOSS / 2 / mechanism.rate, farthest))
    if isinstance(mechanism, Gaussian):
        # The loss is itself normal, with a standard deviation of distance/sigma.
        per_unit = 8 / mechanism.sigma
    elif isinstance(mechanism, Projection):
        per_unit = max(mechanism.epsilon, mechanism.worst_epsilon(dim))
    elif promise.is_private:
        # An angle exceeds its chord, here by far less than this.
        per_unit = promise.epsilon * 1.01
    else:
        per_unit = math.sqrt(dim) / mechanism.noise_sd(dim)
    return np.asarray(moves * min(LOSS / 2 / per_unit, farthest))
