"""Real releases of two inputs at a distance, and the privacy loss of each by the mechanism's own density."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.mechanisms import (
    Gaussian,
    Laplace,
    Mahalanobis,
    Mechanism,
    Polar,
    Projection,
    Purkayastha,
)
from sfumato.randomness import InsecureSeedWarning
from sfumato.types import Floats

DIMS = (64, 384, 1536)
DISTANCE = 0.1


def family(dim: int, strength: float) -> dict[str, Mechanism]:
    """Every mechanism with a law of its loss, so strong that mu is about `strength` at DISTANCE."""
    epsilon = strength * math.sqrt(dim) / DISTANCE
    return {
        "laplace": Laplace(epsilon=epsilon),
        "mahalanobis": Mahalanobis(epsilon=epsilon, shape=np.linspace(0.2, 2.0, dim)),
        "gaussian": Gaussian(sigma=DISTANCE / strength),
        "purkayastha": Purkayastha(epsilon=epsilon),
        "polar": Polar(epsilon=epsilon),
        "projection": Projection(epsilon=epsilon, sensitivity="orthonormal", components=dim // 2),
    }


def pair(mechanism: Mechanism, dim: int, distance: float, rng: np.random.Generator) -> Floats:
    """`[2, dim]` inputs that are `distance` apart in the mechanism's metric, in its worst direction."""
    first, second = np.linalg.qr(rng.standard_normal((dim, 2)))[0].T
    if not mechanism.additive:
        angle = distance if mechanism.guarantee.metric == "angular" else 2 * math.asin(distance / 2)
        return np.stack([first, math.cos(angle) * first + math.sin(angle) * second])
    if isinstance(mechanism, Mahalanobis):
        second = second * np.sqrt(np.diag(mechanism.shape.covariance()))
    if isinstance(mechanism, Projection):
        second = np.linalg.svd(mechanism.matrix(dim))[0][:, 0]
    return first / 2 + np.stack([-second, second]) * distance / 2


def losses(
    mechanism: Mechanism, inputs: Floats, rows: int, seed: int, truth: Mechanism | None = None
) -> Floats:
    """`[2, rows]` log-ratios of the first input's density over the second's, on releases of each.

    `truth` is what really makes the releases, where that is another.
    """
    made = truth or mechanism
    found = []
    for number, row in enumerate(inputs):
        with pytest.warns(InsecureSeedWarning):
            released = made.privatize(np.repeat(row[None], rows, axis=0), seed + number, threads=1)
        table = [mechanism.log_density(released, other[None]) for other in inputs]
        found.append(table[0] - table[1])
    return np.stack(found)
