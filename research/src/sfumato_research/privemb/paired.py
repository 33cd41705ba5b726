"""PRIVEMB: two releases of the same sentences, compared sentence by sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.mechanisms.base import one_blas_thread
from sfumato.types import Floats
from sfumato_research.privemb.tasks import SentenceTask, evaluate
from sfumato_research.privemb.words import mean_cell
from sfumato_research.studies.base import Cell


@dataclass(frozen=True, slots=True, eq=False)
class PairedAnswers:
    """Which test sentences were classified rightly."""

    right: Floats
    tested: NDArray[np.intp]
    """The sentence of each answer; one that is tested on several releases stands here as often."""
    largest: float = 0.0
    """Share of the class that most of the sentences are in: what a constant guess gets."""

    @property
    def above_guessing(self) -> bool:
        """Whether the whole interval lies above a constant guess."""
        low = self.cell().low
        return low is not None and low > 100 * self.largest

    def cell(self, printed: float | None = None) -> Cell:
        """Accuracy in percent, 95 % interval over sentences."""
        return mean_cell(100 * self.right, form=".1f", groups=self.tested, printed=printed)

    def less(self, other: PairedAnswers) -> Cell:
        """The difference in points, sentence by sentence."""
        return mean_cell(100 * (self.right - other.right), form="+.1f", groups=self.tested)


def answers(released: list[Floats], task: SentenceTask) -> PairedAnswers:
    """Classify every test row from some releases of the sentences, as all of this study does.

    Whatever the number of releases, every fold is asked as often, so that two kinds of release can be paired.
    """
    with one_blas_thread():
        right, tested, _ = evaluate(released, task)
    return PairedAnswers(right, tested, task.largest)


def over_sets(pairs: Sequence[tuple[PairedAnswers, PairedAnswers]]) -> Cell:
    """The mean over data sets of the difference in points, every set with the same weight."""
    total = sum(len(first.right) for first, _ in pairs)
    values, groups, start = [], [], 0
    for first, second in pairs:
        weight = total / (len(pairs) * len(first.right))
        values.append(100 * weight * (first.right - second.right))
        groups.append(first.tested + start)
        start += int(first.tested.max()) + 1
    return mean_cell(np.concatenate(values), form="+.1f", groups=np.concatenate(groups))


def verdict(gains: Mapping[str, Cell]) -> bool | None:
    """The claim "better on every set": open where no interval is clear of 0, refuted where one lies below."""
    if any(cell.high is not None and cell.high < 0 for cell in gains.values()):
        return False
    return True if any(cell.low is not None and cell.low > 0 for cell in gains.values()) else None


def beside_guessing(found: Sequence[PairedAnswers]) -> str:
    """On how many sets a release is worth more than a constant guess, in words."""
    return (
        f"above a constant guess for certain on {sum(each.above_guessing for each in found)} of {len(found)}"
    )


def told(gains: Mapping[str, Cell]) -> str:
    """Differences with their intervals, each after its name."""
    return ", ".join(f"{name} {written(cell)}" for name, cell in gains.items())


def written(cell: Cell) -> str:
    """A difference and its interval."""
    if cell.low is None or cell.high is None:
        return f"{cell.value:+.1f}"
    return f"{cell.value:+.1f} [{cell.low:+.1f}, {cell.high:+.1f}]"
