"""Semantic textual similarity: does cosine still follow people's judgement?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import InputError, VectorError
from sfumato.evaluation.cosines import same_space, unit_rows
from sfumato.types import Floats

DIGITS = 12
"""Cosines are compared to this many digits."""

_ROWS = 1 << 14


@dataclass(frozen=True, slots=True, eq=False)
class Similarity:
    """Cosines of pairs beside the gold scores of the same pairs."""

    cosines: Floats
    """`[n]` cosine of each pair."""
    gold: Floats
    """`[n]` score people gave it."""

    @property
    def pearson(self) -> float:
        """Linear correlation; 0 where all cosines or all scores are the same."""
        return correlation(self.cosines, self.gold)

    @property
    def spearman(self) -> float:
        """Correlation of ranks, equal values sharing their mean rank."""
        from scipy.stats import rankdata

        return correlation(rankdata(self.cosines), rankdata(self.gold))

    def __len__(self) -> int:
        return len(self.gold)


def pair_cosines(first: Any, second: Any) -> Floats:
    """`[n]` cosine of each row of `first` with the same row of `second`, to 12 digits."""
    left, right = same_space(first, second, "pairs")
    if len(left) != len(right):
        raise VectorError(f"Pairs must match row by row. Found {len(left)} and {len(right)} rows.")
    out = np.empty(len(left))
    for start in range(0, len(left), _ROWS):
        part = slice(start, start + _ROWS)
        out[part] = np.vecdot(unit_rows(left[part]), unit_rows(right[part]))
    # Equal vectors have to tie, whatever the last bits of their products are.
    return out.round(DIGITS)


def sts(first: Any, second: Any, gold: Any) -> Similarity:
    """Compare the cosine of each pair of rows with its gold score."""
    cosines, scores = pair_cosines(first, second), np.asarray(gold, np.float64)
    if scores.shape != cosines.shape or not np.isfinite(scores).all() or len(scores) < 2:
        raise InputError(
            f"Gold scores must be finite, one a pair, for at least 2 pairs. "
            f"Found shape {scores.shape} for {len(cosines)} pairs."
        )
    return Similarity(cosines, scores)


def correlation(one: Floats, other: Floats) -> float:
    """Pearson's correlation; 0 where one of the two does not vary."""
    a, b = one - one.mean(), other - other.mean()
    lengths = float(np.linalg.norm(a)) * float(np.linalg.norm(b))
    return float(np.clip(a @ b / lengths, -1.0, 1.0)) if lengths > 0 else 0.0
