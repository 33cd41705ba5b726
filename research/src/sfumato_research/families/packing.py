"""The arrays of a cut made small: nothing twice, and no more digits than the figures need."""

from __future__ import annotations

import hashlib
import json

import numpy as np
from numpy.typing import NDArray

from sfumato_research.frontier.measure import Arrays

STEPS = 127
"""A cosine is kept in so many steps either side of 0."""
LEVELS = 256
"""A score of which only the order counts is kept as one of so many levels."""
_SAME = "same"
_COSINES = ("sts.cosine", "sts.clean")
_RANKED = ("presence.network", "members.near")


def packed(arrays: Arrays) -> Arrays:
    """Small arrays, each once; which other names stand for one of them is written beside."""
    kept: Arrays = {}
    first: dict[str, str] = {}
    same: dict[str, str] = {}
    for key, array in arrays.items():
        small = _small(key.partition("|")[2] or key, np.asarray(array))
        digest = hashlib.blake2b(f"{small.dtype} {small.shape}".encode() + small.tobytes()).hexdigest()
        if digest in first:
            same[key] = first[digest]
        else:
            first[digest], kept[key] = key, small
    kept[_SAME] = np.frombuffer(json.dumps(same).encode(), np.uint8)
    return kept


def unpacked(kept: Arrays) -> Arrays:
    """Every array under its name again; of what is missing nothing is said."""
    same: dict[str, str] = json.loads(kept[_SAME].tobytes()) if _SAME in kept else {}
    found = {key: _large(key, array) for key, array in kept.items() if key != _SAME}
    return found | {key: found[other] for key, other in same.items() if other in found}


def _small(name: str, array: NDArray[np.generic]) -> NDArray[np.generic]:
    if name in _COSINES:
        return np.asarray(np.rint(np.clip(array.astype(float), -1, 1) * STEPS), np.int8)
    if name in _RANKED:
        from scipy.stats import rankdata

        ranks = (rankdata(array) - 0.5) / max(1, array.size)
        return np.asarray(np.minimum(np.floor(ranks * LEVELS), LEVELS - 1), np.uint8)
    if name == "hits":
        return np.asarray(array.astype(float).mean(axis=0, keepdims=True), np.float32)
    if array.dtype.kind == "f":
        return array.astype(np.float16) if name.endswith("ndcg") else array.astype(np.float32)
    return array.astype(np.int32) if array.dtype.kind in "iu" and array.dtype.itemsize > 4 else array


def _large(key: str, array: NDArray[np.generic]) -> NDArray[np.generic]:
    if key.partition("|")[2] in _COSINES:
        return array.astype(np.float64) / STEPS
    return array.astype(np.float64) if array.dtype == np.float16 else array
