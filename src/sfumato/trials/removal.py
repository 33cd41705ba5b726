"""Redaction beside the release: what is left to read, and to use, where the concept is cut out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.metrics.excess import absolute_leakage
from sfumato.metrics.utility import Utility
from sfumato.trials.rivals import plain_utility, sample_of
from sfumato.trials.rows import AttackRow
from sfumato.trials.split import Split
from sfumato.trials.target import DefenceTarget
from sfumato.trials.utility import UtilityMeasure


@dataclass(frozen=True, slots=True)
class RemovalRow:
    """The floor as a defence: every sensitive term taken out, none missed, nothing else done."""

    released: float
    """What the attack names there: its floor."""
    absolute: float | None
    utility: Utility
    excess: float = 0.0
    """By definition."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "released": self.released,
            "excess": self.excess,
            "absolute": self.absolute,
            "utility": plain_utility(self.utility),
        }


def removal_row(row: AttackRow, split: Split, measure: UtilityMeasure, *, seed: int) -> RemovalRow | None:
    """Take the floor of an attack, and measure how useful such texts are; None where there is no floor."""
    if row.floor is None or row.floor_is != "removed" or split.embedder is None:
        return None
    from sfumato.evaluation.text_baselines import Removal

    defence = Removal(stars=(False,)).fit(sample_of(split, seed))[0]
    absolute = absolute_leakage(control=row.control, prior=row.prior, released=row.floor)
    return RemovalRow(row.floor, absolute, measure.measure(DefenceTarget(defence, split, seed=seed)))
