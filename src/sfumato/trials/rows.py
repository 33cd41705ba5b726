"""One row of an audit: one attack, what it got, and what that is to be compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.attacks.base import Reads
from sfumato.metrics.excess import measure_leakage
from sfumato.metrics.intervals import Interval, Resampling
from sfumato.metrics.leakage import Hits
from sfumato.trials.control import above
from sfumato.trials.finding import FoundAndMissed
from sfumato.trials.searched import NO_CHOICE, Searched

Floor = Literal["removed", "chance"]
"""The same attack on texts with the concept removed, or one in as many candidates."""


class LeftOut(Exception):
    """An attack cannot be run on this target; the audit goes on and says why."""


def percent(value: float) -> str:
    """A share as people write it; small ones with a digit more."""
    number = 100 * value
    return f"{number:.1f} %" if abs(number) < 9.95 else f"{number:.0f} %"


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRow:
    """What one attack got."""

    name: str
    reads: Reads
    """Terms, whole texts, or which of some known texts it is."""
    question: str
    """What it asks, in words."""
    control: float
    floor: float | None
    """None where it was not measured."""
    floor_is: Floor | None
    """What the floor is of; None where it was not measured."""
    prior: float
    released: float
    excess: float | None
    """(released - floor)/(control - floor); None without a floor or a control above it."""
    interval: Interval | None
    """Of the excess."""
    absolute: float | None
    """(released - prior)/(control - prior); None where the control is not above the prior."""
    absolute_interval: Interval | None
    works: bool
    """Whether it reads clean vectors clearly better than a constant guess."""
    separates: bool
    """Whether it reads clean vectors clearly better than its floor, so that the excess means something."""
    counts: bool
    """Whether the verdict rests on it."""
    only_fails: bool = False
    """Whether it can fail an audit and never pass one: it is not about reading vectors."""
    rows: int
    runs: int = 1
    note: str = ""
    finding: FoundAndMissed | None = None
    """The same where the protector found every term, and where it missed one; of trained attacks only."""
    searched: Searched = NO_CHOICE

    @property
    def by(self) -> Literal["excess", "absolute"]:
        """Which figure it is judged by: the excess, or where that means nothing, the absolute leakage."""
        return "excess" if self.separates and self.excess is not None else "absolute"

    @property
    def figure(self) -> float | None:
        """The figure it is judged by."""
        return self.excess if self.by == "excess" else self.absolute

    @property
    def figure_interval(self) -> Interval | None:
        """The interval of the figure it is judged by."""
        return self.interval if self.by == "excess" else self.absolute_interval

    @property
    def at_chance(self) -> bool:
        """Whether a choice among candidates cannot be told from guessing."""
        return self.floor_is == "chance" and self.interval is not None and self.interval[0] <= 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = (
            "name", "reads", "question", "control", "floor", "floor_is", "prior", "released", "excess",
            "interval", "absolute", "absolute_interval", "works", "separates", "counts", "rows", "runs",
            "note",
        )  # fmt: skip
        values = {name: getattr(self, name) for name in names}
        plain = {key: list(each) if isinstance(each, tuple) else each for key, each in values.items()}
        return plain | {"search": self.searched.search, "chosen": self.searched.chosen}


def row_of(
    name: str,
    reads: Reads,
    question: str,
    *,
    control: Sequence[Hits],
    floor: Sequence[Hits],
    floor_is: Floor,
    prior: Hits,
    released: Sequence[Hits],
    how: Resampling,
    counts: bool,
    note: str = "",
    finding: FoundAndMissed | None = None,
    searched: Searched = NO_CHOICE,
) -> AttackRow:
    """Measure an attack from its hits, row by row; an empty `floor` was not measured."""
    measured = bool(floor)
    found = measure_leakage(
        control=control, floor=floor or prior, released=released, prior=prior, attack=name, how=how
    )
    return AttackRow(
        name=name,
        reads=reads,
        question=question,
        control=found.control,
        floor=found.floor if measured else None,
        floor_is=floor_is if measured else None,
        prior=found.prior,
        released=found.released,
        excess=found.excess if measured else None,
        interval=found.interval if measured else None,
        absolute=found.absolute,
        absolute_interval=found.absolute_interval,
        works=above(control, prior, how),
        separates=measured and above(control, floor, how),
        counts=counts,
        rows=found.rows,
        runs=found.runs,
        note=note,
        finding=finding,
        searched=searched,
    )
