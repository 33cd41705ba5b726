"""One row of an audit: one attack, what it got, and what that is to be compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sfumato.auditing.control import works
from sfumato.evaluation.bootstrap import Interval, Resampling
from sfumato.evaluation.leakage import Leakage, measure_leakage
from sfumato.evaluation.privacy import Hits

Reads = Literal["terms", "text", "row"]


class LeftOut(Exception):
    """An attack cannot be run on this target; the audit goes on and says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackRow:
    """What one attack got."""

    name: str
    reads: Reads
    """Terms, whole texts, or which of some known texts it is."""
    question: str
    """What it asks, in words."""
    control: float
    floor: float
    prior: float
    released: float
    excess: float | None
    interval: Interval | None
    """Of the excess."""
    works: bool
    """Whether it reads clean vectors clearly better than there is to guess."""
    counts: bool
    """Whether the verdict rests on it."""
    rows: int
    runs: int = 1
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = (
            "name", "reads", "question", "control", "floor", "prior", "released", "excess", "interval",
            "works", "counts", "rows", "runs", "note",
        )  # fmt: skip
        values = {name: getattr(self, name) for name in names}
        return values | {"interval": None if self.interval is None else list(self.interval)}


def row_of(
    name: str,
    reads: Reads,
    question: str,
    *,
    control: Sequence[Hits],
    floor: Sequence[Hits],
    prior: Hits,
    released: Sequence[Hits],
    how: Resampling,
    counts: bool,
    note: str = "",
) -> AttackRow:
    """Measure an attack from its hits, row by row."""
    found = measure_leakage(
        control=control, floor=floor, released=released, prior=prior, attack=name, how=how
    )
    return from_leakage(
        found, reads, question, works=works(control, floor, prior, how), counts=counts, note=note
    )


def from_leakage(
    found: Leakage, reads: Reads, question: str, *, works: bool, counts: bool, note: str = ""
) -> AttackRow:
    """The row of a figure that is already measured."""
    return AttackRow(
        name=found.attack,
        reads=reads,
        question=question,
        control=found.control,
        floor=found.floor,
        prior=found.prior,
        released=found.released,
        excess=found.excess,
        interval=found.interval,
        works=works,
        counts=counts,
        rows=found.rows,
        runs=found.runs,
        note=note,
    )
