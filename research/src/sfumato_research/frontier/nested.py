"""Intervals over cuts and, within each cut, over groups: drawn together for every column of a row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.metrics.intervals import Interval, group_sums, percentile_interval
from sfumato.randomness import generator
from sfumato.types import Floats

DRAWS = 2000
Statistic = Callable[[Floats], Floats]
"""`[draws, columns]` sums in, one figure a draw out."""


@dataclass(frozen=True, slots=True)
class Nested:
    """A figure over all cuts, with its interval."""

    value: float
    interval: Interval | None

    @property
    def high(self) -> float:
        """The upper end, or the worst there is where it cannot be said."""
        return float("inf") if self.interval is None else self.interval[1]

    @property
    def low(self) -> float:
        """The lower end, or the worst there is."""
        return float("-inf") if self.interval is None else self.interval[0]


def nested(
    tables: Sequence[Floats],
    groups: Sequence[NDArray[np.integer]] | None,
    figure: Statistic,
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Nested:
    """A function of column sums over all cuts.

    Args:
        tables: for each cut `[n, columns]` figures of its rows.
        groups: for each cut `[n]` what is drawn together; rows by themselves where it is left out.
        figure: from sums to the figure.
        draws: how many samples.
        seed: draws them.
    """
    sums = [
        group_sums(np.asarray(table, np.float64), None if groups is None else np.asarray(groups[number]))
        for number, table in enumerate(tables)
    ]
    rng = generator(seed)
    total = np.zeros((draws, sums[0].shape[1]))
    for _ in sums:
        for number, chosen in enumerate(_by_cut(rng.integers(len(sums), size=draws), len(sums))):
            total[chosen] += _drawn(sums[number], len(chosen), rng)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = figure(np.sum([each.sum(axis=0) for each in sums], axis=0)[None])[0]
        return Nested(float(value), percentile_interval(figure(total)))


def _by_cut(drawn: NDArray[np.integer], cuts: int) -> list[NDArray[np.intp]]:
    return [np.flatnonzero(drawn == cut) for cut in range(cuts)]


def _drawn(sums: Floats, samples: int, rng: np.random.Generator) -> Floats:
    """`[samples, columns]` sums of as many groups, with replacement."""
    out = np.empty((samples, sums.shape[1]))
    for start in range(0, samples, 64):
        size = min(64, samples - start)
        places = rng.integers(len(sums), size=(size, len(sums))) + np.arange(size)[:, None] * len(sums)
        times = np.bincount(places.ravel(), minlength=size * len(sums)).reshape(size, len(sums))
        out[start : start + size] = times @ sums
    return out


def share(sums: Floats) -> Floats:
    """The first column over the second."""
    return sums[:, 0] / sums[:, 1]


def correlation_kept(sums: Floats) -> Floats:
    """Pearson's correlation of the release over the clean one's, of `correlation_columns`."""
    count, gold, square = sums[:, 0], sums[:, 1], sums[:, 2]

    def pearson(at: int) -> Floats:
        one, own, both = sums[:, at], sums[:, at + 1], sums[:, at + 2]
        spread = np.sqrt((own - one**2 / count) * (square - gold**2 / count))
        return (both - one * gold / count) / spread

    return pearson(6) / pearson(3)


def correlation_columns(clean: Floats, released: Floats, gold: Floats) -> Floats:
    """What Pearson's correlation is made of, clean and released."""
    columns = [np.ones(len(gold)), gold, gold**2]
    for each in (clean, released):
        columns += [each, each**2, each * gold]
    return np.stack(columns, axis=1).astype(np.float64)


def auc(
    scores: Sequence[Floats],
    yes: Sequence[NDArray[np.bool_]],
    groups: Sequence[NDArray[np.integer]] | None = None,
    *,
    draws: int = 400,
    seed: int = 0,
) -> Nested:
    """Area under the curve, mean over cuts; samples draw cuts, then groups."""
    rng = generator(seed)
    members = [
        rows_by_group(np.arange(len(each)) if groups is None else np.asarray(groups[number]))
        for number, each in enumerate(scores)
    ]

    def once(cut: int) -> float:
        own = members[cut]
        rows = np.concatenate([own[place] for place in rng.integers(len(own), size=len(own))])
        return area(np.asarray(scores[cut])[rows], np.asarray(yes[cut])[rows])

    value = float(np.mean([area(*each) for each in zip(scores, yes, strict=True)]))
    found = [
        float(np.mean([once(cut) for cut in rng.integers(len(scores), size=len(scores))]))
        for _ in range(draws)
    ]
    return Nested(value, percentile_interval(np.array(found)))


def area(scores: Floats, yes: NDArray[np.bool_]) -> float:
    """How often a yes is ranked above a no; ties count one half."""
    from scipy.stats import rankdata

    ranks, count = rankdata(scores), int(yes.sum())
    others = len(yes) - count
    return (
        float("nan")
        if not count or not others
        else float((ranks[yes].sum() - count * (count + 1) / 2) / (count * others))
    )


def rows_by_group(groups: NDArray[np.integer]) -> list[NDArray[np.intp]]:
    """The rows of each group."""
    order = np.argsort(groups, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(np.asarray(groups)[order])) + 1)
