"""k-means for many small cells.

Lloyd's rounds (1982) from rows drawn at random; with few rows a cell, three of them do. Comparing every row
with every cell would grow with the square of the rows, so a row is compared with the cells of the groups
nearest to it, as in an inverted file (Jégou, Douze, Schmid 2011).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.sealing.cells.nearest import group_count, in_groups, in_one_group
from sfumato.types import Rows, Vectors

ROUNDS = 4
SHARE = 0.1
"""Share of the groups that a row looks into while cells are learned."""

_GROUPING_ROUNDS = 8
_ROWS_A_GROUP = 64
_SAME = 1e-6

OnRound = Callable[[], object]


def many_cells(
    vectors: Vectors, cells: int, rng: np.random.Generator, on_round: OnRound = lambda: None
) -> Vectors:
    """`[k, d]` centroids of at most `cells` cells, none of them empty; `vectors` has at least one row."""
    centroids = drawn_rows(vectors, cells, rng)
    groups = group_count(len(centroids))
    home = grouped(centroids, groups, rng) if groups > 1 else None
    return _lloyd(vectors, centroids, home, ROUNDS, on_round)


def grouped(vectors: Vectors, groups: int, rng: np.random.Generator) -> Rows:
    """`[n]` the group of each row, by k-means of a sample of them."""
    sample = drawn_rows(vectors, groups * _ROWS_A_GROUP, rng)
    centres = drawn_rows(sample, groups, rng)
    centres = _lloyd(sample, centres, None, _GROUPING_ROUNDS)
    return in_one_group(centres, np.ones(len(centres), np.float32)).closest(vectors, 1.0)[0]


def drawn_rows(vectors: Vectors, count: int, rng: np.random.Generator) -> Vectors:
    """So many rows, drawn without replacement; all of them where there are no more."""
    return vectors[np.sort(rng.choice(len(vectors), min(count, len(vectors)), replace=False))]


def _lloyd(
    vectors: Vectors, centroids: Vectors, home: Rows | None, rounds: int, on_round: OnRound = lambda: None
) -> Vectors:
    """Let rows go to the nearest centroid and centroids to the mean of their rows; empty ones are dropped."""
    ones, held = np.ones(len(centroids), np.float32), np.arange(len(centroids))
    for left in reversed(range(rounds)):
        laid = in_one_group(centroids, ones) if home is None else in_groups(centroids, ones, home)
        own, scores = laid.closest(vectors, SHARE)
        centroids, held = moved(vectors, own, scores, centroids, refill=left > 0)
        on_round()
    return centroids[held]


def moved(
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
        far = np.argsort(scores, kind="stable")[: len(empty)]
        apart = vectors[far] - centroids[own[far]]
        far = far[np.vecdot(apart, apart) > _SAME]
        means[empty[: len(far)]] = vectors[far]
    return means, np.flatnonzero(sizes)
