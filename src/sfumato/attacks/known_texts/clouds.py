"""Two clouds of vectors laid over each other without a single known pair.

Whatever turns or reflects a space leaves the cloud's own shape: its principal axes, the third moments along
them (which say which way an axis points), and who is whose neighbour. The leading axes are matched first, by
third moments; mutual nearest neighbours along those then stand in for pairs, and each round of pairs gives a
rotation of more axes than the last, until all are placed.

The idea of laying linear spaces over each other from structure alone, then refining by neighbours, is that of
mini-vec2vec (Dar 2025, arXiv 2510.02348). It starts from matched clusters; axes and third moments are what
started it reliably here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.attacks.known_texts.leastsquares import LinearMap
from sfumato.errors import InputError
from sfumato.metrics.similarity import unit_rows
from sfumato.types import Floats, Rows

LEAST = 32
"""Rows below which a cloud has no shape to speak of."""
_FIRST = (3, 4, 5, 6, 7, 8, 10, 12)
"""How many leading axes a start matches."""
_GROWTH, _ROUNDS = 1.4, 2
_JUDGED = 16
"""Axes along which starts are compared."""
_WAYS, _TRIES, _FEW = 8, 24, 2000
"""Sign patterns kept of each start, random patterns tried, and rows that starts are compared by."""


@dataclass(frozen=True, slots=True, eq=False)
class Cloud:
    """Rows in their own principal axes, the widest first."""

    rows: Floats
    """`(n, k)` coordinates."""
    axes: Floats
    """`(d, k)`"""
    middle: Floats
    widths: Floats
    """`(k,)` standard deviation along each axis."""

    @classmethod
    def of(cls, vectors: Floats, spread: Floats | None = None) -> Cloud:
        """Find the axes; `spread` is the covariance of noise that only the other cloud carries."""
        if len(vectors) < LEAST:
            raise InputError(f"A cloud needs at least {LEAST} vectors to be matched. Found {len(vectors)}.")
        middle = vectors.mean(axis=0)
        centred = vectors - middle
        moment = centred.T @ centred / len(centred)
        values, axes = np.linalg.eigh(moment if spread is None else moment + spread)
        real = np.flatnonzero(values > max(float(values[-1]), 1e-300) * 1e-9)[::-1]
        return cls(centred @ axes[:, real], axes[:, real], middle, np.sqrt(values[real]))

    def sample(self, count: int, rng: np.random.Generator) -> Floats:
        """Coordinates of some of the rows."""
        if len(self.rows) <= count:
            return self.rows
        return np.asarray(self.rows[np.sort(rng.permutation(len(self.rows))[:count])])


def overlay(
    stolen: Floats,
    public: Floats,
    rng: np.random.Generator,
    *,
    spread: Floats | None = None,
    most: int = 6000,
) -> LinearMap:
    """The map of one cloud onto the other, a rotation as far as both have the axes for one.

    Args:
        stolen: `(n, d)` vectors of one space.
        public: `(m, e)` vectors of the other, of other texts.
        rng: draws rows and sign patterns.
        spread: `(e, e)` covariance of the noise that the stolen vectors are known to carry.
        most: rows of each cloud that are compared with each other at a time.
    """
    here, there = Cloud.of(stolen), Cloud.of(public, spread)
    few = here.sample(_FEW, rng), there.sample(_FEW, rng)
    grown = [grow(*few, start, _JUDGED) for start in _starts(here, there, rng)]
    if not grown:
        raise InputError(f"A cloud must be spread along {_FIRST[0]} axes or more. Found fewer.")
    best = max(grown, key=lambda turn: closeness(*few, turn))
    sizes = len(here.widths), len(there.widths)
    turn = grow(here.sample(most, rng), there.sample(most, rng), best, max(sizes))
    length = float(
        np.sqrt(np.square(there.rows).sum(axis=1).mean() / np.square(here.rows).sum(axis=1).mean())
    )
    matrix = here.axes[:, : len(turn)] @ turn @ there.axes[:, : turn.shape[1]].T
    return LinearMap(matrix * length, here.middle, there.middle)


def _starts(here: Cloud, there: Cloud, rng: np.random.Generator) -> list[Floats]:
    """Rotations of the leading axes: every axis onto its like, in the directions that third moments give."""
    shared = min(len(here.widths), len(there.widths))
    found = []
    for count in (each for each in _FIRST if each <= shared):
        one, other = (_third_moments(cloud.rows[:, :count] / cloud.widths[:count]) for cloud in (here, there))
        found += [np.diag(signs) for signs in _signs(one * other, rng)]
    return found


def _third_moments(rows: Floats) -> Floats:
    count = rows.shape[1]
    pairs = (rows[:, :, None] * rows[:, None, :]).reshape(len(rows), -1)
    return np.asarray((pairs.T @ rows).reshape(count, count, count) / len(rows))


def _signs(agreement: Floats, rng: np.random.Generator) -> list[Floats]:
    """The sign patterns under which third moments agree best, by single flips from several starts."""
    count = len(agreement)
    flips = 1 - 2 * np.eye(count)
    found: dict[tuple[float, ...], float] = {}
    for trial in range(_TRIES):
        signs = np.sign(np.einsum("iii->i", agreement)) if not trial else rng.choice([-1.0, 1.0], count)
        signs = np.where(signs == 0, 1.0, signs)
        value = _agreed(agreement, signs[None])[0]
        for _ in range(4 * count):
            tried = signs * flips
            values = _agreed(agreement, tried)
            if values.max() <= value:
                break
            signs, value = tried[values.argmax()], values.max()
        found[tuple(signs.tolist())] = float(value)
    return [np.array(each) for each in sorted(found, key=lambda key: -found[key])[:_WAYS]]


def _agreed(agreement: Floats, signs: Floats) -> Floats:
    return np.asarray(np.einsum("ijk,ti,tj,tk->t", agreement, signs, signs, signs, optimize=True))


def grow(one: Floats, other: Floats, turn: Floats, axes: int) -> Floats:
    """Refine a rotation of leading axes by its mutual nearest neighbours, over more axes each time."""
    while True:
        for _ in range(_ROUNDS):
            mine, theirs = mutual(one[:, : len(turn)] @ turn, other[:, : turn.shape[1]])
            if len(mine) < min(turn.shape):
                return turn
            turn = orthogonal(one[mine, : len(turn)], other[theirs, : turn.shape[1]])
        ahead = int(max(turn.shape) * _GROWTH) + 1
        sizes = [min(ahead, axes, each.shape[1]) for each in (one, other)]
        if sizes == list(turn.shape):
            return turn
        turn = orthogonal(one[mine, : sizes[0]], other[theirs, : sizes[1]])


def closeness(one: Floats, other: Floats, turn: Floats) -> float:
    """Mean cosine of each row and the nearest one of the other cloud, both ways, along `_JUDGED` axes."""
    scores = cosines(one[:, : len(turn)] @ turn, other[:, : turn.shape[1]])
    return float(scores.max(axis=1).mean() + scores.max(axis=0).mean())


def cosines(one: Floats, other: Floats) -> Floats:
    """`(n, m)` between every two rows, in float32."""
    left, right = (unit_rows(each).astype(np.float32) for each in (one, other))
    return np.asarray(left @ right.T)


def mutual(one: Floats, other: Floats) -> tuple[Rows, Rows]:
    """Rows that are each other's nearest, by cosine."""
    return mutual_best(cosines(one, other))


def mutual_best(scores: Floats) -> tuple[Rows, Rows]:
    """Rows and columns that choose each other in a table of scores."""
    forth, back = scores.argmax(axis=1), scores.argmax(axis=0)
    both = np.flatnonzero(back[forth] == np.arange(len(scores)))
    return both, forth[both]


def orthogonal(one: Floats, other: Floats) -> Floats:
    """The rotation, or part of one, that brings rows closest to their counterparts (Schoenemann 1966)."""
    left, _, right = np.linalg.svd(one.T @ other, full_matrices=False)
    return np.asarray(left @ right)
