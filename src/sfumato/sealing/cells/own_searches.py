"""The fewest probes, measured with searches for the collection's own rows, where nobody has queries.

For `recall@k`, a query is a sentence of a row, or a short row itself, and the k rows nearest to it are to be
found. For `ndcg@k` it looks for one row, as people do: the row a sentence was taken from, filed without that
sentence, or, for a short row, the row nearest to it. What people ask may need more probes than either: where
there are real queries, measure with them.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.sealing.cells.filing import Filed, Place
from sfumato.sealing.cells.measuring import MOST_PROBES, QUERIES, Oversampling, drawn, fewest
from sfumato.sealing.cells.reaching import exact
from sfumato.types import Rows


def fewest_own(
    vectors: Any,
    rows: Filed,
    places: Sequence[Set[Place]],
    codebook: Codebook,
    keep: str = "recall@10=0.99",
    *,
    count: int = QUERIES,
    rng: np.random.Generator | None = None,
    record_bytes: int = 512,
    most_probes: int = MOST_PROBES,
) -> Oversampling:
    """What `fewest` finds with queries of the collection's own.

    Args:
        vectors: `[n, d]` the rows' own vectors, by which candidates are ranked.
        rows: what they are filed by.
        places: the cells each row is filed under.
        codebook: the cells themselves.
        keep: such as recall@10=0.99 or ndcg@10=0.995.
        count: how many queries, at most one a row.
        rng: draws the queries; None is seeded by the operating system.
        record_bytes: what one record costs.
        most_probes: where the search ends.
    """
    numbers, own = drawn(rows, count, rng)
    asked = rows.vectors[numbers]
    relevant, apart = None, None
    if keep.strip().startswith("ndcg"):
        apart = _without(rows, codebook, numbers, own)
        short = np.array([each is None for each in apart], np.bool_)
        wanted = own.copy()
        if short.any() and len(places) > 1:
            wanted[short] = exact(asked[short], unit(vectors), 1, own[short])[:, 0]
        relevant = [{int(row): 1.0} for row in wanted]
        own = np.where(short, own, -1)
    return fewest(
        vectors, places, codebook, asked, keep, own=own, relevant=relevant, apart=apart,
        record_bytes=record_bytes, most_probes=most_probes,
    )  # fmt: skip


def _without(rows: Filed, codebook: Codebook, numbers: Rows, own: Rows) -> list[set[Place] | None]:
    """Where each of these rows is filed without one of its vectors; None for a row that has no other."""
    order = np.argsort(rows.rows, kind="stable")
    lows, highs = np.searchsorted(rows.rows[order], [own, own + 1])
    members = [order[low:high] for low, high in zip(lows, highs, strict=True)]
    flat = np.concatenate([np.empty(0, np.intp), *members])
    cells = np.split(codebook.assign(rows.vectors[flat]), np.cumsum(highs - lows)[:-1])
    return [
        {place for line in held[kept != number].tolist() for place in enumerate(line)}
        if len(kept) > 1
        else None
        for number, kept, held in zip(numbers, members, cells, strict=True)
    ]
