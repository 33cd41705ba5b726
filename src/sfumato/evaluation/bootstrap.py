"""Confidence intervals by drawing the test rows again: whole groups of near-duplicates, never single rows."""

from __future__ import annotations

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
