"""Differences on the same texts, correlations and shares, each with the interval that decides."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.metrics.intervals import (
    Interval,
    mean_interval,
    percentile_interval,
    ratio_interval,
    resampled_sums,
)
from sfumato.metrics.similarity import correlation
from sfumato_research.studies.base import Cell


def gain(after: Any, before: Any) -> tuple[float, Interval]:
    """How much more the same rows have afterwards, with a 95 % interval over rows."""
    change = np.asarray(after, np.float64) - np.asarray(before, np.float64)
    return float(change.mean()), mean_interval(change) or (float("-inf"), float("inf"))


def above(after: Any, before: Any, by: float = 0.0) -> bool | None:
    """Whether the same rows have more by the whole interval, less by all of it, or neither (None)."""
    low, high = gain(after, before)[1]
    if low > by:
        return True
    return False if high < by else None


def written(after: Any, before: Any, form: str = "+.1f") -> str:
    """A difference with its interval, in words."""
    value, (low, high) = gain(after, before)
    return f"{value:{form}} [{low:{form}}, {high:{form}}]"


def correlated(one: Any, other: Any) -> tuple[float, Interval]:
    """Pearson's correlation with a 95 % interval, rows drawn again."""
    x, y = np.asarray(one, np.float64), np.asarray(other, np.float64)
    sums = resampled_sums(np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=1))
    count, a, b, aa, bb, ab = sums.T
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = (count * ab - a * b) / np.sqrt((count * aa - a * a) * (count * bb - b * b))
    return correlation(x, y), percentile_interval(draws) or (-1.0, 1.0)


def share_cell(found: Any, total: Any = None, form: str = ".0%") -> Cell:
    """Found over all there is, with its interval over rows."""
    hits = np.asarray(found, np.float64)
    whole = np.ones_like(hits) if total is None else np.asarray(total, np.float64)
    if not len(hits) or not whole.sum():
        return Cell(None, form=form)
    return Cell.between(float(hits.sum() / whole.sum()), ratio_interval(hits, whole), form)


def percent_cell(values: Any, printed: float | None = None) -> Cell:
    """A mean of shares in percent, with its interval over rows."""
    rows = 100 * np.asarray(values, np.float64)
    low, high = mean_interval(rows) or (None, None)
    return Cell(float(rows.mean()), low, high, ".1f", printed)


def apart(higher: Cell, lower: Cell) -> bool | None:
    """Whether one figure is larger than another by their intervals; None where these do not say."""
    if higher.low is None or higher.high is None or lower.low is None or lower.high is None:
        return None
    if higher.low > lower.high:
        return True
    return False if higher.high < lower.low else None


def described(cell: Cell) -> str:
    """A cell in words, for a finding."""
    if cell.value is None:
        return "none"
    if cell.low is None:
        return f"{cell.value:{cell.form}}"
    return f"{cell.value:{cell.form}} [{cell.low:{cell.form}}, {cell.high:{cell.form}}]"
