"""Which centroids are nearest to a vector, without looking at all of them where there are many.

Centroids lie in groups; a vector looks into the groups nearest to it. Up to `ALL` centroids form one group,
so that the answer is exact; with more of them a nearest one can be missed where it lies in a far group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.types import Rows, Vectors

ALL = 4096
"""So many centroids are compared with every vector; more of them are put into groups."""
VISITS = 24
"""Groups that a vector looks into."""

_SCORES = 1 << 22
"""Products held in memory at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Centroids:
    """Centroids as rows of float32, or of int8 with a scale each, and the groups they lie in."""

    points: NDArray[Any]
    """`[k, d]` group after group."""
    scales: NDArray[np.float32]
    """`[k]` what each row of points is multiplied by."""
    halves: NDArray[np.float32]
    """`[k]` half the squared length of each, which makes a product a distance."""
    numbers: Rows
    """`[k]` each one's number."""
    starts: Rows
    """`[g + 1]` where each group begins."""
    centres: Vectors
    """`[g, d]` the mean of each group."""

    def __len__(self) -> int:
        return len(self.points)

    def nearest(self, vectors: Vectors, count: int, visits: int = VISITS) -> tuple[Rows, Vectors]:
        """`[n, count]` the nearest of each vector, the nearest first, and x·c - |c|²/2 of each."""
        groups = len(self.centres)
        visits = min(groups, max(visits, self._enough(count)))
        found = np.empty((len(vectors), count), np.intp)
        scores = np.empty((len(vectors), count), np.float32)
        widest = max(len(self) if groups == 1 else groups, visits * count)
        step = max(1, _SCORES // widest)
        for first in range(0, len(vectors), step):
            part = slice(first, first + step)
            found[part], scores[part] = self._looked_up(vectors[part], count, visits)
        return found, scores

    def _enough(self, count: int) -> int:
        """How many groups hold `count` centroids, whichever they are."""
        held = np.cumsum(np.sort(np.diff(self.starts)))
        return int(np.searchsorted(held, count)) + 1

    def _looked_up(self, vectors: Vectors, count: int, visits: int) -> tuple[Rows, Vectors]:
        groups = self._groups(vectors, visits)
        places = np.zeros((len(vectors), visits, count), np.intp)
        scores = np.full((len(vectors), visits, count), -np.inf, np.float32)
        order = np.argsort(groups, axis=None, kind="stable")
        ends = np.searchsorted(groups.ravel()[order], np.arange(len(self.centres) + 1))
        for group in np.flatnonzero(np.diff(ends)):
            rows, visit = np.divmod(order[ends[group] : ends[group + 1]], visits)
            low, high = self.starts[group], self.starts[group + 1]
            block = self.points[low:high].astype(np.float32, copy=False)
            products = vectors[rows] @ block.T * self.scales[low:high] - self.halves[low:high]
            best = _largest(products, min(count, high - low))
            places[rows, visit, : best.shape[1]] = best + low
            scores[rows, visit, : best.shape[1]] = np.take_along_axis(products, best, axis=1)
        places, scores = places.reshape(len(vectors), -1), scores.reshape(len(vectors), -1)
        best = _largest(scores, count)
        chosen = self.numbers[np.take_along_axis(places, best, axis=1)]
        return chosen, np.take_along_axis(scores, best, axis=1)

    def _groups(self, vectors: Vectors, visits: int) -> Rows:
        if visits == len(self.centres):
            return np.tile(np.arange(visits), (len(vectors), 1))
        products = vectors @ self.centres.T - np.vecdot(self.centres, self.centres) / 2
        return np.argpartition(-products, visits - 1, axis=1)[:, :visits]


def _largest(scores: Vectors, count: int) -> Rows:
    """`[n, count]` where the largest of each row stand, the largest first, the first of equal ones."""
    if count == 1:
        return scores.argmax(axis=1)[:, None]
    if count < scores.shape[1]:
        near = np.sort(np.argpartition(-scores, count - 1, axis=1)[:, :count], axis=1)
    else:
        near = np.broadcast_to(np.arange(count), scores.shape)
    order = np.argsort(-np.take_along_axis(scores, near, axis=1), axis=1, kind="stable")
    return np.take_along_axis(near, order, axis=1)


def in_groups(points: NDArray[Any], scales: NDArray[np.float32], own: Rows) -> Centroids:
    """Lay centroids out by the group `own` says each is in; groups without any are left out."""
    order = np.argsort(own, kind="stable")
    points, scales = points[order], scales[order]
    starts = np.append(np.flatnonzero(np.diff(own[order], prepend=-1)), len(own))
    halves = np.empty(len(own), np.float32)
    centres = np.empty((len(starts) - 1, points.shape[1]), np.float32)
    for group, (low, high) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        block = points[low:high] * scales[low:high, None]
        halves[low:high] = np.vecdot(block, block) / 2
        centres[group] = block.mean(axis=0)
    return Centroids(points, scales, halves, order, starts, centres)


def group_count(cells: int) -> int:
    """Into how many groups so many centroids go: as many as each of them has members."""
    return 1 if cells <= ALL else round(math.sqrt(cells))
