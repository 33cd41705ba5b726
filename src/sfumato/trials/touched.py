"""Use where something happens: texts that hold the concept or are changed, beside all others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.metrics.utility import Utility
from sfumato.trials.rivals import plain_utility
from sfumato.trials.split import Split
from sfumato.trials.target import Target, protector_of
from sfumato.trials.utility import RowMeasure

LEAST = 20
"""Rows below which a side has no figure."""


@dataclass(frozen=True, slots=True)
class Use:
    """One measure of utility: of all rows, of touched ones and of the others."""

    every: Utility
    touched: Utility | None = None
    """Rows about a text that holds the concept or in which the protector finds something; None if few."""
    untouched: Utility | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        sides = {"touched": self.touched, "untouched": self.untouched}
        return plain_utility(self.every) | {
            name: None if side is None else plain_utility(side) for name, side in sides.items()
        }


def measure_use(measure: RowMeasure, split: Split, target: Target) -> Use:
    """Measure a release once, and compare it on all rows and on either side."""
    released = measure.released(target)
    texts = touched_texts({text for row in measure.about for text in row}, split, target)
    touched = np.array([any(text in texts for text in row) for row in measure.about], bool)

    def side(rows: Any) -> Utility | None:
        return measure.compared(released, rows) if rows.sum() >= LEAST else None

    return Use(measure.compared(released), side(touched), side(~touched))


def touched_texts(texts: Iterable[str], split: Split, target: Target) -> set[str]:
    """Those that hold the concept or in which the protector finds something to hide.

    Labels are known of the pool alone: of other texts only what a detector finds counts.
    """
    protector = protector_of(target)
    given: Sequence[str] = sorted(texts)
    own = dict(zip(split.texts, split.spans or [[]] * len(split.texts), strict=True))
    spans = None if split.spans is None else [own.get(text, []) for text in given]
    found = [bool(places) for places in split.concept.find_all(given, spans)]
    if protector is not None:
        hidden = protector.mentions(given, spans)
        found = [holds or bool(places) for holds, places in zip(found, hidden, strict=True)]
    return {text for text, touched in zip(given, found, strict=True) if touched}
