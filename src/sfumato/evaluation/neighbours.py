"""Neighbour overlap: utility where there is no gold standard."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors, row_blocks, whole_number
from sfumato.errors import VectorError


def _unit(vectors: Any) -> NDArray[np.float64]:
    array = as_vectors(vectors).astype(np.float64)
    return np.asarray(array / np.maximum(np.linalg.norm(array, axis=1, keepdims=True), 1e-300))


def _nearest(unit: NDArray[np.float64], k: int) -> NDArray[np.intp]:
    """The k nearest other rows of every row by cosine, in no order."""
    found = np.empty((len(unit), k), np.intp)
    for start, block in row_blocks(unit, 1 << 18):
        cosine = block @ unit.T
        cosine[np.arange(len(block)), np.arange(start, start + len(block))] = -np.inf
        found[start : start + len(block)] = np.argpartition(-cosine, k - 1, axis=1)[:, :k]
    return found


def _checked(vectors: Any, released: Any, k: int) -> tuple[NDArray[np.float64], NDArray[np.float64], int]:
    before, after = _unit(vectors), _unit(released)
    if len(before) != len(after):
        raise VectorError(f"A release must have one row a vector. Found {len(before)} and {len(after)} rows.")
    if len(before) < 2:
        raise VectorError(f"Neighbours need at least 2 rows. Found {len(before)}.")
    return before, after, min(whole_number(k, "k", 1, 10**6), len(before) - 1)


def neighbour_ndcg(vectors: Any, released: Any, k: int = 10) -> float:
    """Return nDCG@k of searches among released vectors for the k nearest neighbours among clean ones."""
    before, after, k = _checked(vectors, released, k)
    gains = 1 / np.log2(np.arange(2, k + 2))
    total = 0.0
    for row, (wanted, found) in enumerate(zip(_nearest(before, k), _nearest(after, k), strict=True)):
        order = found[np.argsort(-(after[found] @ after[row]))]
        total += float(gains[np.isin(order, wanted)].sum())
    return total / len(before) / float(gains.sum())


def neighbours_kept(vectors: Any, released: Any, k: int = 10) -> float:
    """Share of each row's k nearest neighbours by cosine that are still among them after the release."""
    before, after, k = _checked(vectors, released, k)
    pairs = zip(_nearest(before, k), _nearest(after, k), strict=True)
    return float(np.mean([len(np.intersect1d(a, b, assume_unique=True)) / k for a, b in pairs]))
