"""How many candidates a store that ranks by less than a vector must hand over, measured.

What it hands over is ranked again with exact vectors, so a row of the exact first ten is in the answer if and
only if the store ranks it among so many. One pass over the queries gives the whole curve.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.sealing.cells.codebook import unit
from sfumato.sealing.cells.measuring import Oversampling, Wish, steps_up
from sfumato.sealing.cells.reaching import exact
from sfumato.types import Rows, Vectors

_SCORES = 1 << 24
"""Scores held in memory at a time."""


def fewest_ranked(
    vectors: Vectors,
    shown: Vectors,
    queries: Vectors,
    asked: Vectors,
    keep: str,
    *,
    own: Rows,
    alone: NDArray[np.bool_],
    record_bytes: int,
    most: int,
) -> Oversampling:
    """The fewest candidates that keep a share of exact search, with the lower end of the interval.

    Args:
        vectors: `[n, d]` the rows' own vectors, by which candidates are ranked again.
        shown: `[n, h]` what the store ranks rows by.
        queries: `[q, d]` vectors of queries.
        asked: `[q, h]` what it ranks them for.
        keep: such as recall@10=0.99 or ndcg@10=0.995.
        own: for each query the row it was taken from.
        alone: whether it is that row's own vector, and not that of one of its sentences. For `ndcg@k` it then
            looks for the row nearest to it, and a sentence for the row it was taken from.
        record_bytes: what one record costs.
        most: where the search ends.
    """
    wish, stored = Wish.parse(keep), unit(vectors)
    if len(stored) < 2 or not len(queries):
        raise InputError(f"A measurement needs rows and queries. Found {len(stored)} and {len(queries)}.")
    relevant = None
    left_out = own
    if wish.kind == "ndcg":
        wanted = np.where(alone, exact(queries, stored, 1, own)[:, 0], own)
        relevant = [{int(row): 1.0} for row in wanted]
        left_out = np.where(alone, own, -1)
    ranked = exact(queries, stored, wish.depth(relevant), left_out)
    found_at = ranks(asked, shown, ranked)
    most = min(most, len(stored))
    steps = steps_up(wish.k, most)
    fetched = np.broadcast_to(np.array(steps, np.intp), (len(queries), len(steps)))
    return wish.fewest(
        ranked, relevant, found_at, steps, fetched, every=len(stored), record_bytes=record_bytes
    )


def ranks(asked: Vectors, shown: Vectors, rows: Rows) -> Rows:
    """`[q, r]` how many rows the store ranks as high as each of these, itself among them."""
    found = np.empty(rows.shape, np.intp)
    step = max(1, _SCORES // len(shown))
    for first in range(0, len(asked), step):
        part = slice(first, min(first + step, len(asked)))
        scores = asked[part] @ shown.T
        own = np.take_along_axis(scores, rows[part], axis=1)
        scores.sort(axis=1)
        for at, (line, wanted) in enumerate(zip(scores, own, strict=True), first):
            found[at] = len(shown) - np.searchsorted(line, wanted, side="left")
    return found
