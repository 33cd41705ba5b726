"""Leakage beside its control, its floor and its prior: a number alone says nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from sfumato.errors import InputError
from sfumato.metrics.intervals import Interval, Resampling, percentile_interval, resampled_sums
from sfumato.metrics.leakage import Hits, Level, pool
from sfumato.types import Floats


@dataclass(frozen=True, slots=True)
class Leakage:
    """What one attack reads from released vectors, and what that is to be compared with."""

    control: float
    """The same attack on clean vectors: if this is low, the attack does not work and proves nothing."""
    floor: float
    """The same attack on texts with the concept removed before embedding: what the context gives away."""
    prior: float
    """The best constant guess."""
    released: float
    excess: float | None
    """(released - floor)/(control - floor); None where the control is not above the floor."""
    attack: str = ""
    level: Level = "span"
    rows: int = 0
    groups: int = 0
    """Groups of near-duplicates among the rows: the intervals draw groups."""
    runs: int = 1
    """Runs with other seeds that were pooled."""
    coverage: float = 0.95
    interval: Interval | None = None
    """Of the excess; None where it is undefined, in the figure itself or in too many resamples."""
    intervals: dict[str, Interval | None] = field(default_factory=dict)
    """Of control, floor, prior and released."""
    absolute: float | None = None
    """(released - prior)/(control - prior); None where the control is not above the prior."""
    absolute_interval: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def excess_leakage(*, control: float, floor: float, released: float) -> float | None:
    """Share of what hiding could take away that is still there: 0 at the floor, 1 at the control."""
    return (released - floor) / (control - floor) if control > floor else None


def absolute_leakage(*, control: float, prior: float, released: float) -> float | None:
    """Share of what a vector gives away beyond a constant guess that is still there: 0 at the guess."""
    return excess_leakage(control=control, floor=prior, released=released)


def measure_leakage(
    *,
    control: Hits | Sequence[Hits],
    floor: Hits | Sequence[Hits],
    released: Hits | Sequence[Hits],
    prior: Hits,
    attack: str = "",
    level: Level = "span",
    how: Resampling | None = None,
) -> Leakage:
    """Put one attack's figures together; the intervals draw the same rows for all of them.

    Args:
        control: hits on clean vectors; several runs with other seeds are pooled.
        floor: hits where the concept was removed from the text.
        released: hits on released vectors.
        prior: hits of the best constant guess, see `count_prior`.
        attack: its name, for the record.
        level: what was counted, for the record.
        how: groups, resamples, coverage and seed.
    """
    chosen = how or Resampling()
    named = {"control": control, "floor": floor, "prior": prior, "released": released}
    pooled = {name: pool(hits) for name, hits in named.items()}
    if len({len(hits) for hits in pooled.values()}) > 1:
        sizes = ", ".join(f"{name} {len(hits)}" for name, hits in pooled.items())
        raise InputError(f"All figures must be of the same rows. Found rows: {sizes}.")
    columns = np.stack([part for hits in pooled.values() for part in (hits.found, hits.total)], axis=1)
    if not columns[:, 1].any():
        raise InputError("There must be something sensitive in the rows. Found nothing.")
    draws = dict(zip(pooled, _rates(resampled_sums(columns, chosen)).T, strict=True))
    rates = {name: hits.rate for name, hits in pooled.items()}
    excess = excess_leakage(control=rates["control"], floor=rates["floor"], released=rates["released"])
    absolute = absolute_leakage(control=rates["control"], prior=rates["prior"], released=rates["released"])
    rows = len(columns)

    def interval(figure: float | None, below: str) -> Interval | None:
        gap = draws["control"] - draws[below]
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(gap > 0, (draws["released"] - draws[below]) / gap, np.nan)
        return None if figure is None else percentile_interval(ratio, chosen.coverage)

    return Leakage(
        **rates,
        excess=excess,
        attack=attack,
        level=level,
        rows=rows,
        groups=rows if chosen.groups is None else len(np.unique(chosen.groups)),
        runs=1 if isinstance(released, Hits) else len(released),
        coverage=chosen.coverage,
        interval=interval(excess, "floor"),
        intervals={name: percentile_interval(drawn, chosen.coverage) for name, drawn in draws.items()},
        absolute=absolute,
        absolute_interval=interval(absolute, "prior"),
    )


def _rates(sums: Floats) -> Floats:
    """`[b, m]` found over total, from columns found, total, found, total and so on."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[:, 0::2] / sums[:, 1::2])
