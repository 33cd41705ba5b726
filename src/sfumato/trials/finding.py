"""Found and missed: what leaks where the protector's detectors find every term, and where they do not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.base import Span
from sfumato.metrics.excess import measure_leakage
from sfumato.metrics.intervals import Interval, Resampling
from sfumato.metrics.leakage import Hits
from sfumato.trials.split import Split
from sfumato.trials.target import Target, protector_of

LEAST = 20
"""Rows below which a class has no figures."""
Runs = Sequence[Hits]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowClass:
    """What an attack got on one class of rows; only the count where there are too few."""

    count: int
    released: float | None = None
    excess: float | None = None
    interval: Interval | None = None
    """Of the excess."""
    absolute: float | None = None
    absolute_interval: Interval | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = ("count", "released", "excess", "interval", "absolute", "absolute_interval")
        values = {name: getattr(self, name) for name in names}
        return {key: list(each) if isinstance(each, tuple) else each for key, each in values.items()}


@dataclass(frozen=True, slots=True)
class FoundAndMissed:
    """One attack on all rows, on those where every term was found, and on those where one was missed."""

    every: RowClass
    found: RowClass | None = None
    """None where no detector is known, as for vectors made elsewhere."""
    missed: RowClass | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        classes = {"all": self.every, "found": self.found, "missed": self.missed}
        return {name: None if each is None else each.to_dict() for name, each in classes.items()}


def every_term_found(target: Target, split: Split) -> NDArray[np.bool_] | None:
    """`[m]` whether the protector finds each term of each text that holds the concept; None without one."""
    protector = protector_of(target)
    if protector is None:
        return None
    texts = [split.texts[row] for row in split.rows]
    spans = None if split.spans is None else [split.spans[row] for row in split.rows]
    mentions = protector.mentions(texts, spans)
    hidden = [[mention.span for mention in row] for row in mentions]
    return covers_every_term(texts, split.concept.find_all(texts, spans), hidden)


def covers_every_term(
    texts: Sequence[str], terms: Iterable[Sequence[Span]], hidden: Iterable[Sequence[Span]]
) -> NDArray[np.bool_]:
    """`[n]` whether what is hidden in each text covers each of its terms."""
    rows = zip(texts, terms, hidden, strict=True)
    return np.array([all(_covered(text, term, own) for term in wanted) for text, wanted, own in rows], bool)


def by_finding(
    found: NDArray[np.bool_] | None, *, control: Runs, floor: Runs, prior: Hits, released: Runs, groups: Any
) -> FoundAndMissed:
    """Measure an attack on each class of rows; intervals draw whole groups, as those of all rows do.

    Args:
        found: `[n]` whether every term of an attacked row was found; None where nobody can say.
        control: hits on clean vectors.
        floor: hits where the concept was removed; empty where that was not measured.
        prior: hits of the best constant guess.
        released: hits on releases.
        groups: `[n]` group of near-duplicates of each row.
    """

    def measured(rows: NDArray[np.bool_]) -> RowClass:
        count = int(rows.sum())
        if count < LEAST:
            return RowClass(count=count)

        def some(hits: Hits) -> Hits:
            return Hits(hits.found[rows], hits.total[rows])

        guess = some(prior)
        figures = measure_leakage(
            control=[some(each) for each in control],
            floor=[some(each) for each in floor] or guess,
            released=[some(each) for each in released],
            prior=guess,
            how=Resampling(groups=groups[rows]),
        )
        return RowClass(
            count=count,
            released=figures.released,
            excess=figures.excess if floor else None,
            interval=figures.interval if floor else None,
            absolute=figures.absolute,
            absolute_interval=figures.absolute_interval,
        )

    every = measured(np.ones(len(prior), bool))
    return (
        FoundAndMissed(every) if found is None else FoundAndMissed(every, measured(found), measured(~found))
    )


def _covered(text: str, term: Span, hidden: Sequence[Span]) -> bool:
    """Whether no letter or digit of a term is left in the open."""
    return all(
        any(span.start <= place < span.end for span in hidden)
        for place in range(term.start, term.end)
        if text[place].isalnum()
    )
