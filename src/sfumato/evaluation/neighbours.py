"""Neighbour overlap: utility where there is no gold standard."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import VectorError
from sfumato.evaluation.cosines import AT_ONCE, checked, unit_rows
from sfumato.numbers import whole_number
from sfumato.types import Floats


def _nearest(unit: Floats, k: int) -> NDArray[np.intp]:
    """The k nearest other rows of every row by cosine, the nearest first."""
    found = np.empty((len(unit), k), np.intp)
    step = max(1, AT_ONCE // len(unit))
    for start in range(0, len(unit), step):
        block = unit[start : start + step]
        cosine = block @ unit.T
        cosine[np.arange(len(block)), np.arange(start, start + len(block))] = -np.inf
        near = np.argpartition(-cosine, k - 1, axis=1)[:, :k]
        order = np.argsort(-np.take_along_axis(cosine, near, axis=1), axis=1)
        found[start : start + len(block)] = np.take_along_axis(near, order, axis=1)
    return found


def _kept(vectors: Any, released: Any, k: int) -> NDArray[np.bool_]:
    """`[n, k]` whether each released neighbour, the nearest first, is one among clean vectors."""
    before, after = checked(vectors, "vectors"), checked(released, "released vectors")
    if len(before) != len(after):
        raise VectorError(f"A release must have one row a vector. Found {len(before)} and {len(after)} rows.")
    if len(before) < 2:
        raise VectorError(f"Neighbours need at least 2 rows. Found {len(before)}.")
    k = min(whole_number(k, "k", 1, 10**6), len(before) - 1)
    wanted, found = _nearest(unit_rows(before), k), _nearest(unit_rows(after), k)
    # Row numbers are made unique across rows, so that one look-up serves all of them.
    offset = np.arange(len(before))[:, None] * len(before)
    return np.isin(found + offset, wanted + offset)


def neighbour_ndcg(vectors: Any, released: Any, k: int = 10) -> float:
    """Return nDCG@k of searches among released vectors for the k nearest neighbours among clean ones."""
    kept = _kept(vectors, released, k)
    gains = 1 / np.log2(np.arange(2, kept.shape[1] + 2))
    return float((kept @ gains).mean() / gains.sum())


def neighbours_kept(vectors: Any, released: Any, k: int = 10) -> float:
    """Share of each row's k nearest neighbours by cosine that are still among them after the release."""
    return float(_kept(vectors, released, k).mean())
