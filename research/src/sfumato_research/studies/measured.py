"""What a rig is told and what it tells: sizes of a run, and what one defence leaks and keeps."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sfumato.metrics import Leakage, Utility
from sfumato.trials.suite import SUITES, Suite
from sfumato_research.studies.base import Cell, Setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How much of everything a rig does."""

    rows: int
    """Most texts with the concept: 60 % the attacker learns from, the others are attacked."""
    others: int
    """Most texts without it, beside those that the gold standard needs."""
    epochs: int
    copies: int
    """Texts with another term put in that the attacker makes of each of his own."""
    seeds: int
    """Attackers trained, each with another seed."""
    draws: int
    """Releases that each of them reads."""
    gold: int
    """Most pairs or searches that utility is measured on."""

    def suite(self) -> Suite:
        """The same as an audit's suite."""
        return replace(
            SUITES["quick"],
            rows=self.rows,
            pool=self.rows + self.others,
            seeds=self.seeds,
            draws=self.draws,
            epochs=self.epochs,
            copies=self.copies,
            searches=self.gold,
        )


FULL = Effort(rows=2000, others=2000, epochs=20, copies=3, seeds=2, draws=2, gold=2000)
QUICK = Effort(rows=400, others=400, epochs=10, copies=1, seeds=1, draws=1, gold=400)


def effort(setting: Setting, **changed: int) -> Effort:
    """The effort of a full or quick run, with what a study changes in a full one."""
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
