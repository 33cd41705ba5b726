"""What an interval says about a sentence: yes, no, or no verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sfumato_research.frontier.nested import Nested
from sfumato_research.studies.base import Cell
from sfumato_research.studies.page import number

Verdict = bool | None
"""Yes and no by the ends of an interval; None where it cannot say, or where nothing was measured."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence on one cell: the verdict, and the figure that decided it."""

    verdict: Verdict
    figure: Cell
    measured: bool = True

    @property
    def words(self) -> str:
        """As it stands in a table."""
        if not self.measured or self.figure.value is None:
            return "–"
        form, ends = self.figure.form, (self.figure.low, self.figure.high)
        said = number(self.figure.value, form)
        if ends[0] is not None and ends[1] is not None:
            said += f" [{number(ends[0], form)}, {number(ends[1], form)}]"
        return f"{SAID[self.verdict]} {said}"


SAID = {True: "**yes**", False: "no", None: "?"}
NOT_MEASURED = Judged(None, Cell(None), measured=False)


def below(found: Nested | None, limit: float, form: str = ".0%", *, reached: bool = False) -> Judged:
    """Whether it lies below a limit, or at it where that counts, too."""
    if found is None or found.interval is None:
        return NOT_MEASURED
    low, high = found.interval
    yes, no = (high <= limit, low > limit) if reached else (high < limit, low >= limit)
    return Judged(True if yes else False if no else None, Cell.between(found.value, found.interval, form))


def least(found: Nested | None, limit: float, form: str = ".0%") -> Judged:
    """Whether it is at least so much."""
    if found is None or found.interval is None:
        return NOT_MEASURED
    low, high = found.interval
    verdict = True if low >= limit else False if high < limit else None
    return Judged(verdict, Cell.between(found.value, found.interval, form))


def above(found: Nested | None, limit: float, form: str = ".0%") -> Judged:
    """Whether it lies above a limit."""
    other = below(found, limit, form, reached=True)
    return Judged(None if other.verdict is None else not other.verdict, other.figure, other.measured)


def each_of(parts: Iterable[Judged]) -> Judged:
    """Yes when all are; the figure is that of the one that decides."""
    return _decided(list(parts), False)


def one_of(parts: Iterable[Judged]) -> Judged:
    """Yes when one is."""
    return _decided(list(parts), True)


def _decided(parts: list[Judged], enough: bool) -> Judged:
    if not parts or not all(each.measured for each in parts):
        return NOT_MEASURED
    for wanted in (enough, None):
        chosen = [each for each in parts if each.verdict is wanted]
        if chosen:
            return chosen[0]
    return parts[0]
