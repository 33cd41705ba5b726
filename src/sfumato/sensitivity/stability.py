"""Whether an ellipsoid would come out the same from other texts of the same kind.

The pairs it was learned from are cut into two halves at random, an ellipsoid is learned from each, and they
are compared. In coordinates that whiten ordinary text an ellipsoid gives up a share t of each direction: T is
the matrix of these shares. The measure is the cosine between the two T, tr(AB) / sqrt(tr(AA) tr(BB)): 1 for
the same ellipsoid. Sampling errors shrink with the number of pairs, so where the halves agree to c, what is
learned from both together agrees to about sqrt(2c / (1 + c)) with what endless texts would give: .97 becomes
.992.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sfumato.sensitivity.ellipsoid import Ellipsoid
from sfumato.types import Floats

STABLE = 0.97
"""Agreement of the halves at which no more texts are drawn."""


def shares(ellipsoid: Ellipsoid, covariance: Floats) -> Floats:
    """The shares of each direction that are given up, in coordinates that whiten `covariance`."""
    values, axes = np.linalg.eigh(covariance)
    whitened = (axes / np.sqrt(np.maximum(values, 1e-300))).T
    noise, directions = np.linalg.eigh(whitened @ ellipsoid.covariance() @ whitened.T)
    return np.asarray((directions * (noise / (1 + noise))) @ directions.T)


def agreement(one: Ellipsoid, other: Ellipsoid) -> float:
    """How alike two ellipsoids are, up to 1 for the same."""
    between = (one.background.covariance + other.background.covariance) / 2
    left, right = shares(one, between), shares(other, between)
    return float((left * right).sum() / np.sqrt((left**2).sum() * (right**2).sum()))


def expected(halves: float) -> float:
    """How far the whole agrees with endless texts, where its halves agree so far."""
    return float(np.sqrt(2 * halves / (1 + halves))) if halves > 0 else 0.0


def wanted(rows: int, halves: float) -> int:
    """How many rows it takes until halves agree, from how far they do now; twice as many at most."""
    error = max(1 / max(halves, 0.05) - 1, 1e-6)
    return int(min(2.0, max(1.25, 1.1 * error / (1 / STABLE - 1))) * rows)


def halves_agree(fit: Callable[[list[Any]], Ellipsoid], moves: Sequence[Floats]) -> float:
    """Learn from the even and from the odd rows, which stand in random order, and compare.

    Args:
        fit: learns from moves, one array a concept.
        moves: concept differences.
    """
    return agreement(*(fit([each[start::2] for each in moves]) for start in (0, 1)))
