"""Brute force, in float64: what every other search is compared with."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from sfumato.stores.rows import Hit, Metric, Rows
from sfumato.types import Floats, Vectors

_AT_ONCE = 1 << 24


def distances(queries: Vectors, vectors: Vectors, metric: Metric) -> Floats:
    """`[q, n]` distances of each query to each vector; a smaller one is nearer."""
    near, far = queries.astype(np.float64), vectors.astype(np.float64)
    if metric == "l2":
        return _euclidean(near, far)
    if metric == "cosine":
        near = near / np.linalg.norm(near, axis=1, keepdims=True)
        far = far / np.linalg.norm(far, axis=1, keepdims=True)
        return np.asarray(1.0 - near @ far.T)
    return np.asarray(-(near @ far.T))


def _euclidean(near: Floats, far: Floats) -> Floats:
    squares = np.vecdot(near, near)[:, None] + np.vecdot(far, far)[None, :] - 2.0 * (near @ far.T)
    scale = np.vecdot(near, near)[:, None] + np.vecdot(far, far)[None, :]
    # Where the terms nearly cancel, the difference itself is measured.
    for row, column in zip(*np.nonzero(squares < 1e-6 * scale), strict=True):
        squares[row, column] = np.sum((near[row] - far[column]) ** 2)
    return np.asarray(np.sqrt(squares))


def nearest(
    queries: Vectors, vectors: Vectors, metric: Metric, k: int
) -> list[tuple[NDArray[np.intp], Floats]]:
    """For each query the places of its k nearest vectors, nearest first, and their distances."""
    found: list[tuple[NDArray[np.intp], Floats]] = []
    step = max(1, _AT_ONCE // max(1, len(vectors)))
    for start in range(0, len(queries), step):
        for row in distances(queries[start : start + step], vectors, metric):
            near = np.argpartition(row, k - 1)[:k] if k < len(row) else np.arange(len(row))
            # Equal distances in the order of the rows, so that a search repeats itself.
            places = near[np.lexsort((near, row[near]))]
            found.append((places, row[places]))
    return found


def nearest_of(listed: Iterable[Rows], queries: Vectors, metric: Metric, k: int) -> list[list[Hit]]:
    """For each query the k nearest rows out of all batches, with one batch and those k in memory."""
    best: list[list[Hit]] = [[] for _ in queries]
    for rows in listed:
        # What has no direction, or no end, is nobody's neighbour.
        fit = np.flatnonzero(np.isfinite(rows.vectors).all(axis=1) & rows.vectors.any(axis=1))
        for found, (places, measured) in zip(
            best, nearest(queries, rows.vectors[fit], metric, k), strict=True
        ):
            found += [
                Hit(rows.ids[fit[at]], float(far), rows.metadata[fit[at]])
                for at, far in zip(places, measured, strict=True)
            ]
            found.sort(key=lambda hit: hit.distance)
            del found[k:]
    return best
