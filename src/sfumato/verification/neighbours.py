"""Candidates that a mechanism's own law cannot tell apart, so that whatever does tell them apart is its bits.

Candidates far apart are no test of bits: at a large epsilon the honest noise lets the nearest one be found.
"""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms import Mechanism, Suppression
from sfumato.types import Floats

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


@singledispatch
def _shift(mechanism: Mechanism, dim: int, moves: Floats) -> Floats:
    """Scale unit moves to half the loss each."""
    promise, farthest = mechanism.guarantee, _FARTHEST * mechanism.max_norm
    ellipse = mechanism.ellipse(dim)
    if ellipse is None:
        # An angle exceeds its chord, here by far less than this.
        per_unit = promise.epsilon * 1.01 if promise.is_private else math.sqrt(dim) / mechanism.noise_sd(dim)
        return np.asarray(moves * min(LOSS / 2 / per_unit, farthest))
    seen = ellipse.whiten(mechanism.expected(np.eye(dim)))
    square = seen.shape == (dim, dim)
    shift = moves @ np.linalg.inv(seen) if square else moves / float(np.linalg.norm(seen, 2))
    # Where the density falls with the square the loss is normal, its deviation the whitened move's length.
    shift *= LOSS / 2 / (8 if ellipse.squared else 1)
    return np.asarray(shift * min(1.0, farthest / float(np.linalg.norm(shift, axis=1).max())))


@_shift.register
def _(mechanism: Suppression, dim: int, moves: Floats) -> Floats:
    # Exponential noise counts the sum of moves, on its own axes; the others must not differ at all.
    inside = np.zeros_like(moves)
    inside[:, mechanism.axes] = moves[:, mechanism.axes]
    total = np.abs(inside).sum(axis=1, keepdims=True)
    return np.asarray(inside / total * min(LOSS / 2 / mechanism.rate, _FARTHEST * mechanism.max_norm))
