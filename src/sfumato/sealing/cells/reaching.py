"""What exact search finds, and with how many probes a query reaches it."""

from __future__ import annotations

from collections.abc import Sequence, Set

import numpy as np
from numpy.typing import NDArray

from sfumato.sealing.cells.filing import Place
from sfumato.types import Rows, Vectors

_SCORES = 1 << 24
"""Cosines held in memory at a time."""


def exact(asked: Vectors, stored: Vectors, count: int, own: Rows | None = None) -> Rows:
    """`[q, count]` the rows nearest to each query by cosine, the nearest first, without its own row."""
    count = min(count, len(stored) - (own is not None))
    out = np.empty((len(asked), max(0, count)), np.intp)
    if count < 1:
        return out
    step = max(1, _SCORES // len(stored))
    for first in range(0, len(asked), step):
        part = slice(first, min(first + step, len(asked)))
        cosines = asked[part] @ stored.T
        if own is not None:
            here = np.flatnonzero(own[part] >= 0)
            cosines[here, own[part][here]] = -np.inf
        near = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        order = np.argsort(-np.take_along_axis(cosines, near, axis=1), axis=1)
        out[part] = np.take_along_axis(near, order, axis=1)
    return out


def reached(
    ranked: Rows, places: Sequence[Set[Place]], routed: Rows, cells: Sequence[int]
) -> tuple[Rows, Rows]:
    """`[q, r]` the probes that reach each ranked row, one more than there are if none; `[q, p]` records.

    `routed` is `[q, tables, p]`; records are those fetched with so many probes, over all tables.
    """
    tables, probes = routed.shape[1:]
    # Numbers of cells after the last hold nothing, so every table has room for them.
    first = np.cumsum([0, *(count + probes for count in cells)])
    counts = np.array([len(each) for each in places])
    flat = np.fromiter(
        (first[table] + cell for each in places for table, cell in each), np.intp, int(counts.sum())
    )
    begins = np.cumsum(counts) - counts
    sizes = np.bincount(flat, minlength=int(first[-1]))
    asked = routed + first[:tables, None]
    fetched = np.cumsum(sizes[asked].sum(axis=1), axis=1)
    found_at = np.full(ranked.shape, probes + 1, np.intp)
    when = np.full(int(first[-1]), probes + 1, np.intp)
    turn = np.broadcast_to(np.arange(1, probes + 1), (tables, probes))
    for query, rows in enumerate(ranked):
        when[asked[query]] = turn
        for number, row in enumerate(rows):
            found_at[query, number] = when[flat[begins[row] : begins[row] + counts[row]]].min()
        when[asked[query]] = probes + 1
    return found_at, fetched


def set_apart(
    found_at: Rows, wanted: NDArray[np.bool_], routed: Rows, apart: Sequence[Set[Place] | None]
) -> None:
    """Say of wanted rows when their places apart are reached, in place of those they are filed under."""
    for query, places in enumerate(apart):
        if places is not None:
            turns = [
                int(turn)
                for table, cell in places
                for turn in np.flatnonzero(routed[query, table] == cell)[:1]
            ]
            found_at[query, wanted[query]] = 1 + min(turns, default=routed.shape[2])
