"""Utility of a release beside that of the clean vectors: what is kept, and how sure that is."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from sfumato.errors import InputError
from sfumato.metrics.intervals import Interval, Resampling, percentile_interval, resampled_sums
from sfumato.metrics.retrieval import Retrieval
from sfumato.metrics.similarity import Similarity, correlation
from sfumato.types import Floats


@dataclass(frozen=True, slots=True)
class Utility:
    """One utility figure, clean and released."""

    metric: str
    clean: float
    released: float
    kept: float | None
    """released/clean; None where the clean vectors are of no use themselves."""
    rows: int
    coverage: float = 0.95
    interval: Interval | None = None
    """Of what is kept."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def compare_means(metric: str, clean: Any, released: Any, how: Resampling | None = None) -> Utility:
    """Compare the mean of a figure over the same rows: `[n]` right answers, nDCG of queries and so on."""
    before, after = _same_rows(clean, released)
    chosen = how or Resampling()
    sums = resampled_sums(np.stack([before, after], axis=1), chosen)
    return _utility(metric, float(before.mean()), float(after.mean()), sums[:, 0], sums[:, 1], chosen, before)


def compare_retrieval(
    clean: Retrieval,
    released: Retrieval,
    metric: Literal["ndcg", "recall", "reciprocal_rank"] = "ndcg",
    how: Resampling | None = None,
) -> Utility:
    """Compare searches for the same queries."""
    if clean.k != released.k or not np.array_equal(clean.rows, released.rows):
        raise InputError("Searches to be compared must be of the same queries and the same k.")
    name = f"{'mrr' if metric == 'reciprocal_rank' else metric}@{clean.k}"
    return compare_means(name, getattr(clean, metric), getattr(released, metric), how)


def compare_sts(
    clean: Similarity,
    released: Similarity,
    metric: Literal["pearson", "spearman"] = "pearson",
    how: Resampling | None = None,
) -> Utility:
    """Compare correlations on the same pairs; resamples keep the ranks of the whole set for Spearman's."""
    if not np.array_equal(clean.gold, released.gold):
        raise InputError("Similarities to be compared must be of the same pairs.")
    columns = [clean.gold, clean.cosines, released.cosines]
    if metric == "spearman":
        from scipy.stats import rankdata

        columns = [rankdata(column) for column in columns]
    gold, before, after = (column - column.mean() for column in columns)
    powers = [np.ones(len(gold)), gold, before, after, gold**2, before**2, after**2]
    chosen = how or Resampling()
    sums = resampled_sums(np.stack([*powers, gold * before, gold * after], axis=1), chosen)
    return _utility(
        metric,
        correlation(gold, before),
        correlation(gold, after),
        _correlations(sums, 2, 7),
        _correlations(sums, 3, 8),
        chosen,
        gold,
    )


def _same_rows(clean: Any, released: Any) -> tuple[Floats, Floats]:
    before, after = np.asarray(clean, np.float64), np.asarray(released, np.float64)
    if before.ndim != 1 or before.shape != after.shape or not len(before):
        raise InputError(f"Figures must be of the same rows. Found shapes {before.shape} and {after.shape}.")
    return before, after


def _correlations(sums: Floats, column: int, product: int) -> Floats:
    """Pearson's correlation of a column with the gold score, from resampled sums of powers."""
    count, gold, other = sums[:, 0], sums[:, 1], sums[:, column]
    shared = sums[:, product] - gold * other / count
    spread = (sums[:, 4] - gold**2 / count) * (sums[:, column + 3] - other**2 / count)
    return np.asarray(np.where(spread > 0, shared / np.sqrt(np.maximum(spread, 1e-300)), 0.0))


def _utility(
    metric: str, clean: float, released: float, before: Floats, after: Floats, how: Resampling, rows: Floats
) -> Utility:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(before > 0, after / before, np.nan)
    useful = clean > 0
    return Utility(
        metric,
        clean,
        released,
        released / clean if useful else None,
        len(rows),
        how.coverage,
        percentile_interval(ratio, how.coverage) if useful else None,
    )
