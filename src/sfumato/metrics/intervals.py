"""Figures with their confidence intervals: Wilson's and the exact one for shares, a bootstrap for all else.

The bootstrap draws the test rows again: whole groups of near-duplicates, never single rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, ParameterError
from sfumato.numbers import finite_number, whole_number
from sfumato.randomness import generator
from sfumato.types import Floats

Interval = tuple[float, float]
"""Lower and upper end."""

_DRAWS_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class Figure:
    """A share or a mean, with an interval that covers the true one in about 95 of 100 samples like this."""

    metric: str
    value: float
    low: float
    high: float
    count: int
    """How many rows, or sensitive terms, it is an average of."""

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "metric": self.metric,
            "value": self.value,
            "interval": [self.low, self.high],
            "count": self.count,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Resampling:
    """How rows are drawn again; the same settings give the same interval."""

    groups: Any = None
    """`[n]` group numbers of the rows, as `near_duplicates` gives; None makes every row its own group."""
    resamples: int = 2000
    coverage: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        """Check every field but the groups, which have to fit the rows."""
        whole_number(self.resamples, "resamples", 20, 10**6)
        finite_number(self.coverage, "coverage", 0.5, 0.9999)
        whole_number(self.seed, "seed", 0, 2**63 - 1)


def group_sums(columns: Floats, groups: Any = None) -> Floats:
    """`[g, m]` sums of the rows of each group."""
    if groups is None:
        return columns
    numbers = np.asarray(groups)
    if numbers.shape != (len(columns),) or numbers.dtype.kind not in "iu":
        raise InputError(
            f"`groups` must hold one whole number a row, {len(columns)} in all. "
            f"Found shape {numbers.shape}, type {numbers.dtype}."
        )
    _, members = np.unique(numbers, return_inverse=True)
    return np.stack([np.bincount(members, column) for column in columns.T], axis=1)


def resampled_sums(columns: Any, how: Resampling | None = None) -> Floats:
    """`[resamples, m]` column sums of samples of as many groups, drawn with replacement.

    Rates, means, ratios and correlations are all functions of column sums, so one pass serves them jointly.
    """
    chosen = how or Resampling()
    table = np.asarray(columns, np.float64)
    if table.ndim != 2 or not table.size:
        raise InputError(f"There must be rows to draw from. Found shape {table.shape}.")
    sums = group_sums(table, chosen.groups)
    count, rng = len(sums), generator(chosen.seed)
    out = np.empty((chosen.resamples, sums.shape[1]))
    step = max(1, _DRAWS_AT_ONCE // count)
    for start in range(0, chosen.resamples, step):
        size = min(step, chosen.resamples - start)
        drawn = rng.integers(count, size=(size, count)) + np.arange(size)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=size * count).reshape(size, count)
        out[start : start + size] = times.astype(np.float64) @ sums
    return out


def percentile_interval(draws: NDArray[np.float64], coverage: float = 0.95) -> Interval | None:
    """The middle `coverage` of the draws; None when too many of them are undefined (NaN) to say.

    An undefined draw counts as beyond both ends, which can only widen the interval.
    """
    if not 0 < coverage < 1:
        raise ParameterError(f"`coverage` must be in (0, 1). Found {coverage:g}.")
    tail, undefined = (1 - coverage) / 2, np.isnan(draws)
    if undefined.mean() > tail / 2:
        return None
    low = np.quantile(np.where(undefined, -np.inf, draws), tail, method="lower")
    high = np.quantile(np.where(undefined, np.inf, draws), 1 - tail, method="higher")
    return (float(low), float(high)) if np.isfinite([low, high]).all() else None


def ratio_interval(found: Any, total: Any, how: Resampling | None = None) -> Interval | None:
    """The interval of one sum over another, such as hits over all there is, with rows drawn jointly."""
    chosen = how or Resampling()
    sums = resampled_sums(np.stack([found, total], axis=1), chosen)
    with np.errstate(divide="ignore", invalid="ignore"):
        return percentile_interval(sums[:, 0] / sums[:, 1], chosen.coverage)


def mean_interval(values: Any, how: Resampling | None = None) -> Interval | None:
    """The interval of a mean over rows."""
    return ratio_interval(values, np.ones(len(values)), how)


def share(metric: str, hits: int, count: int, *, z: float = 1.96) -> Figure:
    """A share with Wilson's interval (Wilson 1927); nothing of nothing is 0, anywhere between 0 and 1."""
    if not count:
        return Figure(metric, 0.0, 0.0, 1.0, 0)
    value, square = hits / count, z * z / count
    middle = (value + square / 2) / (1 + square)
    half = z / (1 + square) * math.sqrt(value * (1 - value) / count + square / (4 * count))
    return Figure(metric, value, max(0.0, middle - half), min(1.0, middle + half), count)


def exact_share(metric: str, hits: int, count: int) -> Figure:
    """A share with the exact interval of Clopper and Pearson (1934), which is never too narrow."""
    from scipy.stats import binomtest

    ends = binomtest(hits, count).proportion_ci(method="exact")
    return Figure(metric, hits / count, float(ends.low), float(ends.high), count)


def mean(metric: str, values: Any, how: Resampling | None = None) -> Figure:
    """A mean over rows with its bootstrap interval; of nothing it is 0, anywhere between 0 and 1."""
    array = np.asarray(values, np.float64)
    ends = mean_interval(array, how) if array.size else None
    value = float(array.mean()) if array.size else 0.0
    return Figure(metric, value, *(ends or (0.0, 1.0)), array.size)
