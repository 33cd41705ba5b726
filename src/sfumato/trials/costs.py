"""What attacks cost, from small runs that were timed once, and in which order they are worth running.

Kept costs are seconds of one core that has nothing else to do, beside the encoder's, and how many texts are
embedded. How much slower this machine is now, a small piece of work shows that is timed before; what a text
costs, the encoder itself.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from sfumato.randomness import generator

LEAST_ROWS = 40
"""Rows below which an attack is not worth running."""
_CLASSES = (15.0, 90.0, 400.0)
"""Seconds: within one class the stronger attack comes first."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Seconds on one processor core, with the control: of starting, and of each row that is given."""

    fixed: float
    row: float
    strength: int = 5
    """From 1, the worst that could be tried, to 9."""
    texts: float = 0.0
    """Texts that are embedded whatever the number of rows, beside the rows themselves."""
    row_texts: float = 0.0
    """Texts that are embedded for each row."""
    terms: int = 0
    """The terms that a row was asked about, where its cost grows with them."""
    whole: bool = False
    """Whether fewer rows would save little: it is then given all of them."""

    def seconds(self, rows: int) -> float:
        """What so many rows take."""
        return self.fixed + self.row * rows

    def rows_within(self, seconds: float, most: int) -> int:
        """Rows that can be read in this time; 0 where not even starting can."""
        if self.seconds(most) <= seconds:
            return most
        return 0 if self.whole or seconds <= self.fixed else min(most, int((seconds - self.fixed) / self.row))


COSTS: dict[str, Cost] = {
    "informed": Cost(0.1, 0.037, 1, row_texts=35, terms=36),
    "oracle": Cost(0.1, 0.036, 1, row_texts=35, terms=36),
    "linkage": Cost(0.1, 0.001, 2),
    "membership": Cost(0.6, 0.002, 2),
    "tokens": Cost(7.5, 0.011, 2, row_texts=3.1),
    "minilm": Cost(2.0, 0.5, 3),
    "unpaired": Cost(0.6, 0.001, 4, whole=True),
    "neighbours": Cost(0.1, 0.001, 4),
    "denoising": Cost(0.2, 0.001, 4),
    "attributes": Cost(4.3, 0.001, 4),
    "alignment": Cost(10.9, 0.001, 5),
    "decoder": Cost(4.6, 0.048, 4),
    "pooling": Cost(28.6, 0.047, 3, texts=8, row_texts=3.2),
    "bits": Cost(0.1, 0.001, 6),
}
"""Measured by `benchmarks/attack_costs.py` on some hundred made-up records, noise and control;
`minilm` by hand, with all-MiniLM-L6-v2."""
UNKNOWN = Cost(60.0, 0.5, 7)
"""Of an attack that nobody has timed here."""


PROBE = 0.067
"""Seconds that the probe took where the costs were measured."""


def probe() -> None:
    """A piece of work that takes as long as what attacks are made of: matrices, and plain Python."""
    rows = generator(0).standard_normal((400, 400))
    for _ in range(20):
        rows = rows @ rows
        rows /= np.abs(rows).max()
        sum(range(20_000))


def slowness() -> float:
    """How many times longer a piece of work takes here and now than where the costs were measured."""
    began = time.perf_counter()
    probe()
    return min(max((time.perf_counter() - began) / PROBE, 0.25), 50.0)


def cost_of(name: str, slower: float = 1.0, terms: int = 0, text_seconds: float = 0.0) -> Cost:
    """The cost of an attack here and now.

    Args:
        name: an attack.
        slower: how many times slower this machine is.
        terms: how many there are to choose from.
        text_seconds: what the encoder takes for a text.
    """
    kept = COSTS.get(name, UNKNOWN)
    more = terms / kept.terms if kept.terms and terms else 1.0
    return replace(
        kept,
        fixed=kept.fixed * slower + kept.texts * text_seconds,
        row=(kept.row * slower + kept.row_texts * text_seconds) * more,
        texts=0.0,
        row_texts=0.0,
    )


def in_order(costs: Mapping[str, Cost], rows: int = 100) -> list[str]:
    """Cheap ones first, by classes of seconds; within a class the strongest, then the cheapest."""

    def key(name: str) -> tuple[int, int, float]:
        seconds = costs[name].seconds(rows)
        return sum(seconds > bound for bound in _CLASSES), costs[name].strength, seconds

    return sorted(costs, key=key)
