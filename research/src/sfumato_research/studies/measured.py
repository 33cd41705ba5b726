"""The sizes of a run, and what one defence leaks and keeps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from statistics import stdev
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
    runs: tuple[float, ...] = ()
    """Leakage of each run: an attacker with a seed of his own who reads a release of its own."""

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

    def spread(self) -> Cell:
        """Standard deviation of the leakage of single runs, where there are several."""
        return Cell(stdev(self.runs) if len(self.runs) > 1 else None)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Measured:
        """What was written, read back."""
        leakage, utility = dict(kept["leakage"]), kept["utility"]
        for name in ("interval", "absolute_interval"):
            leakage[name] = _pair(leakage[name])
        leakage["intervals"] = {name: _pair(each) for name, each in leakage["intervals"].items()}
        return cls(
            kept["label"],
            Leakage(**leakage),
            Cell(**kept["confidence"]),
            None if utility is None else Utility(**{**utility, "interval": _pair(utility["interval"])}),
            kept["noise_ratio"],
            kept["epsilon"],
            tuple(kept["runs"]),
        )


def _pair(ends: list[float] | None) -> tuple[float, float] | None:
    return None if ends is None else (ends[0], ends[1])
