"""Cosines, and semantic textual similarity: do they still follow people's judgement?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.arrays import as_vectors, check_finite
from sfumato.errors import InputError, VectorError
from sfumato.types import Floats

AT_ONCE = 1 << 22
"""Cosines held in memory at a time."""
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


def checked(vectors: Any, what: str) -> Any:
    """The vectors as an `(n, d)` float array, or refuse them."""
    array = as_vectors(vectors)
    check_finite(array, f"the {what}")
    return array


def unit_rows(vectors: Any) -> Floats:
    """Rows scaled to length 1 in float64; a zero row stays zero, so that its cosines are 0."""
    wide = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return np.asarray(wide / np.where(lengths > 0, lengths, 1.0))


def unit_blocks(vectors: Any, rows: int) -> Iterator[tuple[int, Floats]]:
    """Yield `(first row, unit rows)` pieces of at most `rows` rows."""
    for start in range(0, len(vectors), rows):
        yield start, unit_rows(vectors[start : start + rows])


def same_space(first: Any, second: Any, what: str) -> tuple[Any, Any]:
    """Both as checked arrays of one dimension, or refuse them."""
    left, right = checked(first, what), checked(second, what)
    if left.shape[1] != right.shape[1]:
        raise VectorError(
            f"The {what} must live in one space. Found {left.shape[1]} and {right.shape[1]} dimensions."
        )
    return left, right


def pair_cosines(first: Any, second: Any) -> Floats:
    """`[n]` cosine of each row of `first` with its counterpart, to 12 digits; 0 where one is zero."""
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
