"""Telling two kinds apart by a score: the area under the curve, and what is found at few false alarms.

A rate of false alarms is only stated where there are rows enough to see one: 100 for 1 %, 1,000 for 0.1 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.metrics.intervals import Figure, exact_share, percentile_interval
from sfumato.randomness import generator
from sfumato.types import Floats

RATES = (0.01, 0.001)
"""Shares of false alarms at which it is said how much is found."""
_RESAMPLES = 1000
_STREAM = 1 << 47


@dataclass(frozen=True, slots=True)
class Roc:
    """How well a score tells yes from no."""

    auc: Figure
    """How often a yes has the higher score; half is a guess. Bootstrap interval over rows of either kind."""
    found: tuple[Figure, ...]
    """Of the yes, how many lie above all but a rate of the no; exact intervals (Clopper and Pearson), which
    take the threshold as given. A rate that there are too few rows for is left out."""

    def figures(self) -> list[Figure]:
        """The area first."""
        return [self.auc, *self.found]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"auc": self.auc.to_dict(), "found": [each.to_dict() for each in self.found]}


def area(scores: Any, wanted: NDArray[np.bool_]) -> float:
    """Mann and Whitney's statistic: how often a yes has the higher score; equal ones count half."""
    from scipy.stats import rankdata

    yes = int(wanted.sum())
    above = float(rankdata(scores)[wanted].sum()) - yes * (yes + 1) / 2
    return above / (yes * (len(wanted) - yes))


def roc(scores: Any, wanted: Any, *, rates: tuple[float, ...] = RATES, seed: int = 0) -> Roc:
    """Measure a score.

    Args:
        scores: `[n]` higher for a likelier yes.
        wanted: `[n]` which are.
        rates: shares of false alarms to state.
        seed: draws the rows again.
    """
    values, truth = np.asarray(scores, np.float64), np.asarray(wanted)
    if truth.dtype != bool or truth.shape != values.shape or truth.all() or not truth.any():
        raise InputError(
            f"There must be {len(values)} yes-or-no values, with both among them. "
            f"Found {truth.dtype} {truth.shape}."
        )
    if np.isnan(values).any():
        raise InputError("Scores must be numbers. Found some that are not.")
    yes, no = np.sort(values[truth]), np.sort(values[~truth])
    found = tuple(_found_at(yes, no, rate) for rate in rates if round(rate * len(no), 9) >= 1)
    return Roc(_auc(yes, no, area(values, truth), seed), found)


def _found_at(yes: Floats, no: Floats, rate: float) -> Figure:
    allowed = int(np.floor(rate * len(no) + 1e-9))
    threshold = no[len(no) - 1 - allowed] if allowed < len(no) else -np.inf
    return exact_share(f"found at {100 * rate:g} % false alarms", int((yes > threshold).sum()), len(yes))


def _auc(yes: Floats, no: Floats, value: float, seed: int) -> Figure:
    rng = generator(_STREAM + seed)
    draws = np.zeros(_RESAMPLES)
    for number in range(_RESAMPLES):
        above = yes[rng.integers(len(yes), size=len(yes))]
        below = np.sort(no[rng.integers(len(no), size=len(no))])
        places = np.searchsorted(below, above, "left") + np.searchsorted(below, above, "right")
        draws[number] = places.mean() / (2 * len(no))
    low, high = percentile_interval(draws, 0.95) or (0.0, 1.0)
    # Where nothing was mistaken every draw says so too: the exact bound of as many rows does not.
    fewer = min(len(yes), len(no))
    low = min(low, exact_share("", fewer, fewer).low) if value == 1.0 else low
    high = max(high, exact_share("", 0, fewer).high) if value == 0.0 else high
    return Figure("AUC", value, low, high, len(yes) + len(no))
