"""Which centroids are nearest to a vector.

How near a centroid c is to a unit vector x is x·c - |c|²/4: between the product, which prefers cells of equal
rows, and the distance, x·c - |c|²/2, which prefers loose cells. Of the three it needs the fewest records.

Queries are compared with every centroid. Filing many rows under many cells would grow with the square of the
rows: there, a row is compared with those of the groups nearest to it, and can miss one of a far group.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.types import Rows, Vectors

ALL = 1 << 14
"""Up to so many centroids are one group: rows are compared with each of them."""

_BLOCK = 2048
_SCORES = 1 << 23
"""Figures held in memory at a time."""
_FEWEST_VISITS = 12


@dataclass(frozen=True, slots=True, eq=False)
class Centroids:
    """Centroids as rows of float32, or of int8 with a scale each, and the groups they lie in."""

    points: NDArray[Any]
    """`[k, d]` group after group."""
    scales: NDArray[np.float32]
    """`[k]` what each row of points is multiplied by."""
    biases: NDArray[np.float32]
    """`[k]` a quarter of the squared length of each."""
    numbers: Rows
    """`[k]` each one's number."""
    starts: Rows
    """`[g + 1]` where each group begins."""
    centres: Vectors
    """`[g, d]` the mean of each group."""

    def __len__(self) -> int:
        return len(self.points)

    def nearest(self, vectors: Vectors, count: int) -> Rows:
        """`[n, count]` the nearest of all centroids to each vector, the nearest first; count <= k."""
        found = np.empty((len(vectors), count), np.intp)
        step = max(1, _SCORES // len(self))
        scores = np.empty((min(step, len(vectors)), len(self)), np.float32)
        for first in range(0, len(vectors), step):
            part = vectors[first : first + step]
            for low in range(0, len(self), _BLOCK):
                scores[: len(part), low : low + _BLOCK] = self._scores(part, low, low + _BLOCK)
            found[first : first + step] = self.numbers[_largest(scores[: len(part)], count)]
        return found

    def closest(self, vectors: Vectors, share: float) -> tuple[Rows, NDArray[np.float32]]:
        """`[n]` the nearest centroid of each vector within a share of the groups, and how near it is."""
        visits = min(len(self.centres), max(_FEWEST_VISITS, round(share * len(self.centres))))
        places = np.zeros(len(vectors), np.intp)
        best = np.full(len(vectors), -np.inf, np.float32)
        step = max(1, _SCORES // max(len(self.centres), visits))
        for first in range(0, len(vectors), step):
            part = slice(first, first + step)
            self._visit(vectors[part], visits, places[part], best[part])
        return self.numbers[places], best

    def _visit(self, vectors: Vectors, visits: int, places: Rows, best: NDArray[np.float32]) -> None:
        """Look into the groups nearest to each vector, and keep the best centroid in `places` and `best`."""
        groups = self._groups(vectors, visits)
        order = np.argsort(groups, axis=None, kind="stable")
        ends = np.searchsorted(groups.ravel()[order], np.arange(len(self.centres) + 1))
        for group in np.flatnonzero(np.diff(ends)):
            visitors = order[ends[group] : ends[group + 1]] // visits
            low, high = int(self.starts[group]), int(self.starts[group + 1])
            for rows in np.array_split(visitors, -(-len(visitors) * (high - low) // _SCORES)):
                scores = self._scores(vectors[rows], low, high)
                own = scores.argmax(axis=1)
                top = np.take_along_axis(scores, own[:, None], axis=1)[:, 0]
                better = top > best[rows]
                best[rows[better]], places[rows[better]] = top[better], own[better] + low

    def _scores(self, vectors: Vectors, low: int, high: int) -> Vectors:
        block = self.points[low:high].astype(np.float32, copy=False)
        return vectors @ block.T * self.scales[low:high] - self.biases[low:high]

    def _groups(self, vectors: Vectors, visits: int) -> Rows:
        if visits == len(self.centres):
            return np.tile(np.arange(visits), (len(vectors), 1))
        products = vectors @ self.centres.T - np.vecdot(self.centres, self.centres) / 4
        return np.argpartition(-products, visits - 1, axis=1)[:, :visits]


def _largest(scores: Vectors, count: int) -> Rows:
    """`[n, count]` where the largest of each row stand, the largest first."""
    if count == 1:
        return np.asarray(scores.argmax(axis=1)[:, None], np.intp)
    near = np.argpartition(-scores, min(count, scores.shape[1]) - 1, axis=1)[:, :count]
    order = np.argsort(-np.take_along_axis(scores, near, axis=1), axis=1)
    return np.take_along_axis(near, order, axis=1)


def in_one_group(points: NDArray[Any], scales: NDArray[np.float32]) -> Centroids:
    """Centroids as they are, for looking at all of them."""
    nowhere = np.zeros((1, points.shape[1]), np.float32)  # nobody asks where the only group is
    numbers, starts = np.arange(len(points)), np.array([0, len(points)])
    return Centroids(points, scales, _biases(points, scales), numbers, starts, nowhere)


def in_groups(points: NDArray[Any], scales: NDArray[np.float32], own: Rows) -> Centroids:
    """Lay centroids out by the group `own` says each is in; groups without any are left out."""
    order = np.argsort(own, kind="stable")
    points, scales = points[order], scales[order]
    starts = np.append(np.flatnonzero(np.diff(own[order], prepend=-1)), len(own))
    centres = np.empty((len(starts) - 1, points.shape[1]), np.float32)
    for group, (low, high) in enumerate(zip(starts[:-1], starts[1:], strict=True)):
        centres[group] = (points[low:high] * scales[low:high, None]).mean(axis=0)
    return Centroids(points, scales, _biases(points, scales), order, starts, centres)


def _biases(points: NDArray[Any], scales: NDArray[np.float32]) -> NDArray[np.float32]:
    out = np.empty(len(points), np.float32)
    for low in range(0, len(points), _BLOCK):
        block = points[low : low + _BLOCK].astype(np.float32, copy=False)
        out[low : low + _BLOCK] = np.vecdot(block, block) * scales[low : low + _BLOCK] ** 2 / 4
    return out


def group_count(cells: int) -> int:
    """Into how many groups so many centroids go: as many as each of them has members."""
    return 1 if cells <= ALL else round(math.sqrt(cells))
