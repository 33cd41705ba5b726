"""The sizes of a run, and what one defence leaks and keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sfumato.metrics import Leakage, Utility
from sfumato.trials.suite import SUITES, Suite
from sfumato_research.studies.base import Cell, Setting

FULL = replace(SUITES["quick"], rows=2000, pool=4000, epochs=20, copies=3, seeds=2, draws=2, searches=2000)
QUICK = replace(SUITES["quick"], rows=400, pool=800, epochs=10, copies=1, seeds=1, draws=1, searches=400)


def sizes(setting: Setting, **changed: Any) -> Suite:
    """The sizes of a full or quick run, with what a study changes in a full one."""
    return QUICK if setting.quick else replace(FULL, **changed)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one defence leaks and keeps."""

    label: str
    leakage: Leakage
    confidence: Cell
    """Mean probability given to what is really there; empty where the attack gives none."""
    utility: Utility | None
    noise_ratio: float
    epsilon: float
    """Of the density, in the metric of its guarantee; infinite where there is no promise."""

    def leaked(self, printed: float | None = None) -> Cell:
        """The leakage as a cell."""
        low, high = self.leakage.intervals["released"] or (None, None)
        return Cell(self.leakage.released, low, high, printed=printed)

    def excess(self) -> Cell:
        """The excess leakage as a cell."""
        low, high = self.leakage.interval or (None, None)
        return Cell(self.leakage.excess, low, high, ".0%")

    def useful(self, printed: float | None = None) -> Cell:
        """The utility itself as a cell; what is kept of it has the interval."""
        return Cell(None if self.utility is None else self.utility.released, printed=printed)

    def kept(self, printed: float | None = None) -> Cell:
        """The share of clean utility that is kept, as a cell."""
        if self.utility is None:
            return Cell(None, form=".0%", printed=printed)
        low, high = self.utility.interval or (None, None)
        return Cell(self.utility.kept, low, high, ".0%", printed)
