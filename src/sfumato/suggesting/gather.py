"""The spans of texts with one mean vector each, of what they are and of what stands around them."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.detectors.dictionary import Dictionary
from sfumato.suggesting.spans import Key, candidates, folded_words
from sfumato.suggesting.tokens import TokenVectors
from sfumato.types import Floats

MOST_SPANS = 100_000
_WINDOW = 8
"""Tokens on each side of a span that are what stands around it."""


@dataclass(slots=True)
class SeenSpan:
    """What is known of one span: how it is written, how often, and where first."""

    first: tuple[int, int, int]
    """Row, start and end."""
    own: Floats
    around: Floats
    count: int = 0
    texts: int = 0
    written: dict[str, int] = field(default_factory=dict)
    last: int = -1

    def add(self, row: int, written: str, own: Floats, around: Floats) -> None:
        """Count one more place."""
        self.own += own
        self.around += around
        self.count += 1
        self.texts += self.last != row
        self.last = row
        self.written[written] = self.written.get(written, 0) + 1


class Gathered:
    """Every span of the texts that may be a term, and the places of the examples."""

    def __init__(self, examples: list[str]) -> None:
        self._finder = Dictionary(examples)
        self.spans: dict[Key, SeenSpan] = {}
        self.examples: dict[Key, SeenSpan] = {}

    def add(self, row: int, text: str, read: TokenVectors) -> None:
        """Take in one text."""
        means = _Means(read)
        for span in self._finder.find(text):
            self._note(self.examples, row, text, (span.start, span.end), means)
        for place in candidates(text):
            self._note(self.spans, row, text, place, means)

    def _note(
        self, home: dict[Key, SeenSpan], row: int, text: str, place: tuple[int, int], means: _Means
    ) -> None:
        written = " ".join(text[slice(*place)].split())
        key = folded_words(written)
        vectors = means.of(*place)
        if vectors is None or (key not in home and len(home) == MOST_SPANS):
            return
        if key not in home:
            home[key] = SeenSpan((row, *place), np.zeros_like(vectors[0]), np.zeros_like(vectors[1]))
        home[key].add(row, written, *vectors)


class _Means:
    """Means of a text's token vectors over stretches of it, from one running sum."""

    def __init__(self, read: TokenVectors) -> None:
        self._starts, self._ends = read.bounds[:, 0], read.bounds[:, 1]
        running: NDArray[np.float64] = np.cumsum(read.vectors, axis=0, dtype=np.float64)
        self._sums = np.concatenate([np.zeros((1, read.vectors.shape[1])), running])

    def of(self, start: int, end: int) -> tuple[Floats, Floats] | None:
        """The mean of a stretch and of what stands around it; None where it has no token."""
        first = int(np.searchsorted(self._ends, start, "right"))
        last = int(np.searchsorted(self._starts, end, "left"))
        if last <= first:
            return None
        low, high = max(0, first - _WINDOW), min(len(self._starts), last + _WINDOW)
        own = self._sums[last] - self._sums[first]
        others = self._sums[high] - self._sums[low] - own
        return own / (last - first), others / max(1, high - low - (last - first))
