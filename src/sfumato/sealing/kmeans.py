"""k-means for many small cells: groups first, cells within each group, then all cells together.

Plain k-means (Lloyd 1982) compares every row with every cell. With a quarter as many cells as rows that grows
with the square of the rows, so rows are first put into about √cells groups, as in an inverted file's coarse
quantiser (Jégou, Douze, Schmid 2011); the last rounds let a row go to a cell of any group near to it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.sealing.nearest import group_count, in_groups
from sfumato.types import Floats, Rows, Vectors

ROUNDS = 8
"""Rounds of plain k-means."""
JOINT_ROUNDS = 3
"""Rounds in which rows may change their group."""
JOINT_VISITS = 8
"""Groups that a row looks into in those."""

_ROWS_A_GROUP = 64
_SAME = 1e-6

OnRound = Callable[[], object]
"""Called after each piece of work; `rounds` says how many there are."""


def rounds(cells: int) -> int:
    """How often `many_cells` calls `on_round` for so many cells."""
    groups = group_count(cells)
    return ROUNDS if groups == 1 else groups + JOINT_ROUNDS


def many_cells(
    vectors: Vectors, cells: int, rng: np.random.Generator, on_round: OnRound = lambda: None
) -> Vectors:
    """`[k, d]` centroids of at most `cells` cells, none of them empty; `vectors` has at least one row."""
    cells = min(cells, len(vectors))
    groups = group_count(cells)
    if groups == 1:
        return few_cells(vectors, cells, rng, on_round)
    own = grouped(vectors, groups, rng)
    sizes = np.bincount(own)
    order, ends = np.argsort(own, kind="stable"), np.cumsum(sizes)
    parts = []
    for group, share in enumerate(shares(sizes, cells)):
        rows = order[ends[group] - sizes[group] : ends[group]]
        parts.append(few_cells(vectors[rows], share, rng) if share else vectors[:0])
        on_round()
    home = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    return _joint(vectors, np.concatenate(parts), home, on_round)


def grouped(vectors: Vectors, groups: int, rng: np.random.Generator) -> Rows:
    """`[n]` the group of each row, by k-means of a sample of them."""
    sample = rng.choice(len(vectors), min(len(vectors), groups * _ROWS_A_GROUP), replace=False)
    return _assigned(vectors, few_cells(vectors[np.sort(sample)], groups, rng))[0]


def _joint(vectors: Vectors, centroids: Vectors, home: Rows, on_round: OnRound) -> Vectors:
    """Let each row go to the nearest cell of the groups nearest to it, and cells follow their rows."""
    ones = np.ones(len(centroids), np.float32)
    for last in (*[False] * (JOINT_ROUNDS - 1), True):
        own, scores = in_groups(centroids, ones, home).nearest(vectors, 1, JOINT_VISITS)
        centroids, held = _moved(vectors, own[:, 0], scores[:, 0], centroids, refill=not last)
        on_round()
    return centroids[held]


def few_cells(
    vectors: Vectors, cells: int, rng: np.random.Generator, on_round: OnRound = lambda: None
) -> Vectors:
    """`[k, d]` centroids by plain k-means from rows drawn at random; none of them is empty."""
    cells = min(cells, len(vectors))
    centroids = vectors[np.sort(rng.choice(len(vectors), cells, replace=False))]
    held = np.ones(cells, np.bool_)
    for last in (*[False] * (ROUNDS - 1), True):
        own, scores = _assigned(vectors, centroids)
        centroids, held = _moved(vectors, own, scores, centroids, refill=not last)
        on_round()
    return centroids[held]


def shares(sizes: Rows, cells: int) -> list[int]:
    """Share `cells` out in proportion to the sizes: at most one a row, at least one where there are rows."""
    held: Floats = np.asarray(sizes, np.float64)
    wanted = held * (cells / held.sum())
    out = np.clip(np.floor(wanted), np.minimum(held, 1), held).astype(np.intp)
    for _ in range(cells - int(out.sum())):
        out[np.argmax(np.where(out < sizes, wanted - out, -np.inf))] += 1
    for _ in range(int(out.sum()) - cells):
        out[np.argmax(np.where(out > 1, out - wanted, -np.inf))] -= 1
    return [int(share) for share in out]


def _assigned(vectors: Vectors, centroids: Vectors) -> tuple[Rows, Vectors]:
    ones = np.ones(len(centroids), np.float32)
    own, scores = in_groups(centroids, ones, np.zeros(len(centroids), np.intp)).nearest(vectors, 1)
    return own[:, 0], scores[:, 0]


def _moved(
    vectors: Vectors, own: Rows, scores: Vectors, centroids: Vectors, *, refill: bool
) -> tuple[Vectors, Rows]:
    """The mean of each cell's rows, and which cells have any; an empty one may begin again at a far row."""
    from scipy.sparse import csr_array

    count, cells = len(vectors), len(centroids)
    sizes = np.bincount(own, minlength=cells)
    membership = csr_array((np.ones(count, np.float32), (own, np.arange(count))), shape=(cells, count))
    means = np.asarray(membership @ vectors, np.float32) / np.maximum(sizes, 1).astype(np.float32)[:, None]
    empty = np.flatnonzero(sizes == 0)
    if refill and len(empty):
        distances = np.vecdot(vectors, vectors) - 2 * scores
        far = np.argsort(-distances, kind="stable")[: len(empty)]
        far = far[distances[far] > _SAME]
        means[empty[: len(far)]] = vectors[far]
    return means, np.flatnonzero(sizes)
