"""Which releases belong together: rows so close that they must be one text, near-duplicates included."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.attacks.base import fresh_releases
from sfumato.errors import InputError
from sfumato.randomness import generator
from sfumato.release import Release
from sfumato.types import Floats, Rows, Vectors

_COMPARED = 1000
_AT_ONCE = 1 << 22
_ALIKE = 0.99


def checked_groups(groups: Any, count: int) -> Rows:
    """One group number a row, from 0, or refuse them."""
    found = np.asarray(groups)
    if found.shape != (count,):
        raise InputError(
            f"`groups` must say for each of the {count} rows which it belongs to. Found shape {found.shape}."
        )
    return np.asarray(np.unique(found, return_inverse=True)[1], np.intp)


def reach_of(release: Release | None, clean: Vectors, seed: int) -> float:
    """How far apart two releases of one text may be, from the attacker's own releases of public texts.

    It lies between what he sees of one text released twice and the smallest distance of two texts; where
    noise makes these overlap, at the latter, so that texts are rather left alone than taken for one another.
    """
    some = clean[generator(seed).permutation(len(clean))[:_COMPARED]]
    fresh = fresh_releases(release, seed)
    first, second = (np.asarray(fresh(some), np.float64) for _ in range(2))
    same = float(np.quantile(np.linalg.norm(first - second, axis=1), _ALIKE))
    different = _squares(first, second)
    np.fill_diagonal(different, np.inf)
    smallest = float(np.sqrt(different.min())) if len(some) > 1 else same
    return (same + smallest) / 2 if same < smallest else smallest


def find_groups(released: Any, reach: float) -> Rows:
    """`(n,)` the group of each row: rows within reach of one another, and of those within reach of them."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    rows = np.asarray(released, np.float64)
    height, left, right = max(1, _AT_ONCE // max(1, len(rows))), [], []
    for start in range(0, len(rows), height):
        near = _squares(rows[start : start + height], rows) <= reach**2
        here, there = np.nonzero(near)
        left.append(here + start)
        right.append(there)
    if not left:
        return np.zeros(0, np.intp)
    ends = np.concatenate(left), np.concatenate(right)
    graph = csr_array((np.ones(len(ends[0]), bool), ends), shape=(len(rows), len(rows)))
    return np.asarray(connected_components(graph, directed=False)[1], np.intp)


def _squares(one: Floats, other: Floats) -> Floats:
    """`(n, m)` squared distances."""
    sizes = np.square(one).sum(axis=1)[:, None] + np.square(other).sum(axis=1)
    return np.asarray(np.maximum(sizes - 2 * one @ other.T, 0.0))
