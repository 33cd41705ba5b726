"""Timing that survives a busy machine: contenders take turns, and only figures of one round are compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.numbers import whole_number

Clock = Callable[[], float]
Contender = Callable[[], object]

WALL: Clock = time.perf_counter
"""Time on the wall; the only fair clock for more than one thread."""
CPU: Clock = time.process_time
"""Processor time of this process; leaves out the time that other programs took away from a single thread."""

MOST_ROUNDS = 10_000


@dataclass(frozen=True, slots=True)
class Spread:
    """A median between its quartiles."""

    median: float
    low: float
    high: float

    def times(self, factor: float) -> Spread:
        """The same spread in another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers for JSON."""
        return plain(self)


def plain(record: Any) -> dict[str, Any]:
    """The fields of a slotted record as plain values for JSON."""
    values = {name: getattr(record, name) for name in record.__slots__}
    return {name: value.to_dict() if isinstance(value, Spread) else value for name, value in values.items()}


def spread(values: list[float]) -> Spread:
    """Median and quartiles of `values`."""
    low, median, high = (float(value) for value in np.quantile(values, [0.25, 0.5, 0.75]))
    return Spread(median, low, high)


@dataclass(frozen=True, slots=True)
class Timing:
    """The laps of one contender, one a round, and how they compare with the baseline's."""

    laps: tuple[float, ...]
    """Seconds."""
    ratio: Spread
    """This contender's lap over the baseline's lap of the same round."""

    @property
    def best(self) -> float:
        """Seconds of the shortest lap."""
        return min(self.laps)

    @property
    def median(self) -> float:
        """Seconds of the median lap."""
        return float(np.median(self.laps))

    def over(self, other: Timing) -> Spread:
        """This contender's laps over those of `other`, round by round."""
        return _ratio(self.laps, other.laps)


def _ratio(laps: tuple[float, ...], base: tuple[float, ...]) -> Spread:
    # A coarse clock may call a tiny lap zero; a ratio must stay finite.
    return spread([max(lap, 1e-9) / max(other, 1e-9) for lap, other in zip(laps, base, strict=True)])


def interleave(
    contenders: Mapping[str, Contender],
    rounds: int,
    *,
    baseline: str | None = None,
    clock: Clock = WALL,
    on_round: Callable[[], object] | None = None,
) -> dict[str, Timing]:
    """Run every contender once a round, each round starting one place later, and drop the first round.

    Args:
        contenders: what to time, by name.
        rounds: rounds that count; one more is run first to warm caches.
        baseline: the contender that ratios refer to; the first one unless named.
        clock: WALL, or CPU for figures of one core.
        on_round: called after each round, the dropped one included.
    """
    rounds = whole_number(rounds, "rounds", 1, MOST_ROUNDS)
    names = list(contenders)
    if not names:
        raise ParameterError("`contenders` must name at least one thing to time. Found none.")
    base = names[0] if baseline is None else baseline
    if base not in contenders:
        raise ParameterError(f"`baseline` must be one of: {', '.join(names)}. Found {base!r}.")
    laps: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds + 1):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            run = contenders[name]
            start = clock()
            run()
            lap = clock() - start
            if number:
                laps[name].append(lap)
        if on_round is not None:
            on_round()
    done = {name: tuple(values) for name, values in laps.items()}
    return {name: Timing(values, _ratio(values, done[base])) for name, values in done.items()}
