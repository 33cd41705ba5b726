"""The informed attacker beside a certificate: how often he really names the input of a release.

He weighs candidates that lie as far apart as the certificate says, in the directions in which the mechanism
hides least, by the mechanism's own density: no attack on one release does better.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.mechanisms.base import Mechanism
from sfumato.metrics.intervals import Figure, exact_share
from sfumato.numbers import whole_number
from sfumato.randomness import generator
from sfumato.release import Release
from sfumato.types import Floats

MOST_TRIALS = 1_000_000
_AT_ONCE = 1 << 22
"""Numbers of releases that are weighed at a time."""


@dataclass(frozen=True, slots=True)
class InformedTrials:
    """What the informed attacker got, with the exact interval of Clopper and Pearson (95 %)."""

    trials: int
    candidates: int
    success: Mapping[str, Figure | None]
    """By the pairs of the certificate; None where candidates so far apart do not exist."""
    where: str = "candidates made as far apart as each pair, in the directions in which the noise hides least"

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "attacker": "informed",
            "where": self.where,
            "trials": self.trials,
            "candidates": self.candidates,
            "success": {
                name: None if each is None else {"value": each.value, "interval": [each.low, each.high]}
                for name, each in self.success.items()
            },
        }


def informed_success(
    mechanism: Mechanism,
    distance: float,
    *,
    candidates: int = 2,
    trials: int = 1000,
    dim: int | None = None,
    seed: int | None = None,
) -> Figure | None:
    """How often he names the right one of some candidates; None where there are none so far apart.

    Args:
        mechanism: whose releases he reads.
        distance: between any two candidates, in the mechanism's metric.
        candidates: how many there are, all alike likely.
        trials: how many releases he reads.
        dim: of the vectors, where the mechanism fixes none.
        seed: for a run that can be repeated; otherwise noise is drawn as for any release.
    """
    count = whole_number(trials, "trials", 1, MOST_TRIALS)
    whole_number(candidates, "candidates", 2, 10**9)
    inputs = candidates_apart(mechanism, distance, candidates, dim, seed or 0)
    if inputs is None:
        return None
    known = Release(mechanism, normalise=False).likelihood(inputs.shape[1], seed=seed or 0)
    draw = generator(seed)
    right, done = 0, 0
    step = max(1, _AT_ONCE // inputs.size)
    while done < count:
        truth = draw.integers(candidates, size=min(step, count - done))
        noise = None if seed is None else int(draw.integers(1 << 60))
        released = mechanism.privatize(inputs[truth], noise).astype(np.float64)
        table = known(released, inputs)
        # Equally likely ones are chosen from at random.
        best = table >= table.max(axis=1, keepdims=True)
        named = np.where(best, draw.random(table.shape), -1.0).argmax(axis=1)
        right += int((named == truth).sum())
        done += len(truth)
    return exact_share("informed", right, count)


def candidates_apart(
    mechanism: Mechanism, distance: float, count: int, dim: int | None = None, seed: int = 0
) -> Floats | None:
    """`[count, d]` inputs, any two of them as far apart as the law of the loss at this distance speaks of.

    None where vectors of the mechanism's length and dimension cannot lie so.
    """
    width = mechanism.dim if dim is None else dim
    law = mechanism.loss_law(distance, width) if distance > 0 else None
    if width is None or count > width or distance <= 0:
        return None
    # Corners of a simplex around 0, any two of them 1 apart.
    corners = (np.eye(count) - 1 / count) / math.sqrt(2)
    if not mechanism.additive:
        return _on_sphere(mechanism, distance, corners, width, seed)
    ellipse = mechanism.ellipse(width)
    if ellipse is None or law is None:
        found = corners @ np.eye(width)[:count] * distance
    else:
        images = ellipse.whiten(mechanism.expected(np.eye(width) * mechanism.max_norm)) / mechanism.max_norm
        axes = _most_stretched(images, count)
        if axes is None:
            return None
        apart = law.mu if ellipse.squared else law.largest
        found = corners @ axes * apart
    longest = float(np.linalg.norm(found, axis=1).max())
    return found if longest <= mechanism.max_norm else None


def _most_stretched(images: Floats, count: int) -> Floats | None:
    """`[count, d]` inputs whose images are orthonormal, the shortest there are; None where there are fewer.

    Args:
        images: `[d, m]` what a linear map makes of each axis.
        count: how many.
    """
    if count > min(images.shape):
        return None
    diagonal = np.diagonal(images)
    if images.shape[0] == images.shape[1] and np.count_nonzero(images) == np.count_nonzero(diagonal):
        order = np.argsort(-np.abs(diagonal))[:count]
        return np.asarray(np.eye(len(images))[order] / diagonal[order, None])
    left, stretches, _ = np.linalg.svd(images, full_matrices=False)
    return np.asarray((left[:, :count] / stretches[:count]).T)


def _on_sphere(
    mechanism: Mechanism, distance: float, corners: Floats, width: int, seed: int
) -> Floats | None:
    """Directions around one in the middle, any two of them the same angle or chord apart."""
    chord = 2 * math.sin(distance / 2) if mechanism.guarantee.metric == "angular" else distance
    count = len(corners)
    if count >= width:
        return None
    around = corners * chord
    height = 1 - float(around[0] @ around[0])
    if height < 0:
        return None
    axes = np.linalg.qr(generator(seed).standard_normal((width, count + 1)))[0].T
    return np.asarray((around @ axes[:count] + math.sqrt(height) * axes[count]) * mechanism.max_norm)
