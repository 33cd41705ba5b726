"""How often a protector's detector misses a term, from texts that people labelled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.metrics.intervals import exact_share
from sfumato.preparing import RowSpans
from sfumato.protector import Protector
from sfumato.trials.finding import covers_every_term

CONFIDENCE = 0.975
"""Of the upper end: that of the exact interval of 95 %."""


@dataclass(frozen=True, slots=True)
class MissRate:
    """In how many texts with a labelled term some of it was left in the open."""

    texts: int
    missed: int
    upper: float
    """The true rate is at most this, in 39 of 40 samples like this one (Clopper and Pearson 1934)."""

    @property
    def rate(self) -> float:
        """The share in this sample."""
        return self.missed / self.texts

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "texts": self.texts,
            "missed": self.missed,
            "rate": self.rate,
            "upper": self.upper,
            "confidence": CONFIDENCE,
        }


def miss_rate(protector: Protector, texts: Sequence[str], spans: RowSpans, labels: str) -> MissRate:
    """Count the texts in which the protector leaves some of a labelled term in the open.

    Args:
        protector: finds by its own means.
        texts: drawn at random from texts like those it is to protect.
        spans: what people labelled in each of them.
        labels: the label, or several between commas, that says what is sensitive.
    """
    truth = Concept.from_spans(labels)
    given = {label.casefold() for each in protector.concepts for label in each.labels}
    if {label.casefold() for label in truth.labels} <= given:
        raise InputError(
            "The protector finds by these very labels, so nothing it misses can show. Name labels that it is "
            "not given."
        )
    wanted = list(truth.find_all(texts, spans))
    rows = [row for row, held in enumerate(wanted) if held]
    if not rows:
        raise InputError("No text holds a span of these labels, so nothing can be missed. Check the labels.")
    held = [texts[row] for row in rows]
    hidden = [
        [mention.span for mention in row] for row in protector.mentions(held, [spans[row] for row in rows])
    ]
    found = covers_every_term(held, [wanted[row] for row in rows], hidden)
    missed = len(rows) - int(found.sum())
    return MissRate(len(rows), missed, exact_share("missed", missed, len(rows)).high)
