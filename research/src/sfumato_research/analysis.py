"""How sensitive dimensions are to a concept, and how far masks agree (SPARSE, appendix A; DPPN, figure 5)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from sfumato.arrays import as_vectors
from sfumato.errors import ParameterError, VectorError
from sfumato.numbers import finite_number
from sfumato.sensitivity.mask import Mask
from sfumato.types import Floats

Measure = Literal["max", "mean", "all-pairs"]
"""Over what the change of a dimension is taken; see `sensitivities`."""


def sensitivities(plus: Any, minus: Any, measure: Measure = "max") -> Floats:
    """Return Delta_i, how much dimension i changes when the concept goes (SPARSE, eq. 7; DPPN, section 3.1).

    Args:
        plus: `(n, d)` embeddings of texts with the concept.
        minus: their twins, row by row, without it.
        measure: "max" is the largest change between a text and its twin, which is what the papers mean;
            "mean" their mean change, which one odd text cannot decide; "all-pairs" is eq. 7 to the letter,
            the largest change between any two texts of the two sets, which measures the spread of texts more
            than the concept.
    """
    if measure not in get_args(Measure):
        raise ParameterError(
            f"`measure` must be one of {', '.join(get_args(Measure))}. Found {measure!r:.40}."
        )
    with_it, without = _twins(plus, minus)
    if measure == "all-pairs":
        # The largest |a - b| over all a and b lies between opposite extremes.
        up, down = with_it.max(0) - without.min(0), without.max(0) - with_it.min(0)
        return np.asarray(np.maximum(up, down), np.float64)
    change = np.abs(with_it - without)
    return np.asarray(change.max(0) if measure == "max" else change.mean(0), np.float64)


def _twins(plus: Any, minus: Any) -> tuple[Floats, Floats]:
    with_it, without = (np.asarray(as_vectors(side), np.float64) for side in (plus, minus))
    if with_it.shape != without.shape or not len(with_it):
        raise VectorError(
            f"D+ and D- must have one row for each text and the same dimension. "
            f"Found {with_it.shape} and {without.shape}."
        )
    for rows, side in ((with_it, "D+"), (without, "D-")):
        good = np.isfinite(rows).all(axis=1)
        if not good.all():
            row = int(np.argmin(good))
            raise VectorError(f"Row {row} of {side} holds NaN or infinity. Every number must be finite.", row)
    return with_it, without


@dataclass(frozen=True, slots=True, eq=False)
class TopAndTail:
    """Sensitivity of the top dimensions beside that of the tail (SPARSE, figure 3; DPPN, figure 2)."""

    sensitivities: Floats
    """`[d]` Delta_i."""
    top: NDArray[np.intp]
    """`[k]` the highest-ranked dimensions, highest first."""
    tail: NDArray[np.intp]
    """`[k]` the lowest-ranked dimensions, lowest first."""
    top_mean: float
    tail_mean: float
    p_value: float
    """Two-sided Wilcoxon signed-rank test of the i-th from the top against the i-th from the end."""
    measure: Measure
    ranked_by: Literal["mask", "sensitivity"]
    pairs: int

    @property
    def circular(self) -> bool:
        """Whether dimensions are ranked by what they are compared by: any data then gives a tiny p-value."""
        return self.ranked_by == "sensitivity"

    @property
    def ratio(self) -> float:
        """How many times more sensitive the top is than the tail; infinite when the tail never moves."""
        return self.top_mean / self.tail_mean if self.tail_mean else float("inf")


def top_and_tail(
    plus: Any, minus: Any, *, mask: Mask | None = None, share: float = 0.1, measure: Measure = "max"
) -> TopAndTail:
    """Compare the top and tail `share` of dimensions as ranked by `mask`, or else by their own sensitivity.

    Without a mask learned from other texts the test is circular; SPARSE's appendix A ranks by sensitivity.
    """
    changes = sensitivities(plus, minus, measure)
    if mask is not None and mask.dim != changes.size:
        raise VectorError(f"The mask must have dimension {changes.size}. Found {mask.dim}.")
    share = finite_number(share, "share", 1e-9, 0.5)
    count = min(max(1, round(share * changes.size)), changes.size // 2)
    if count == 0:
        raise VectorError("At least 2 dimensions are needed for a top and a tail. Found 1.")
    order = np.argsort(-(changes if mask is None else mask.scores), kind="stable")
    top, tail = order[:count], order[::-1][:count]
    gaps = changes[top] - changes[tail]
    # Where nothing differs there is nothing to rank, and scipy would warn.
    p_value = float(stats.wilcoxon(gaps).pvalue) if gaps.any() else 1.0
    return TopAndTail(
        sensitivities=changes,
        top=top,
        tail=tail,
        top_mean=float(changes[top].mean()),
        tail_mean=float(changes[tail].mean()),
        p_value=p_value,
        measure=measure,
        ranked_by="sensitivity" if mask is None else "mask",
        pairs=len(plus),
    )


def top_overlap(first: Mask, second: Mask, share: float = 0.2) -> float:
    """Share of the top dimensions that two masks have in common (DPPN, figure 5); chance gives `share`."""
    _same_dim(first, second)
    count = max(1, round(finite_number(share, "share", 1e-9, 1.0) * first.dim))
    return np.intersect1d(first.top(count), second.top(count)).size / count


def rank_correlation(first: Mask, second: Mask) -> float:
    """Spearman's rank correlation of the scores of two masks."""
    _same_dim(first, second)
    for mask in (first, second):
        if np.ptp(mask.scores) == 0.0:
            raise ParameterError("A mask of equal scores ranks nothing, so it correlates with nothing.")
    return float(stats.spearmanr(first.scores, second.scores).statistic)


def _same_dim(first: Mask, second: Mask) -> None:
    if first.dim != second.dim:
        raise ParameterError(f"Masks must have one dimension. Found {first.dim} and {second.dim}.")
