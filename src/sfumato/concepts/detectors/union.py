"""Several detectors as one: what any of them finds counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import tee
from typing import Any

from sfumato.concepts.base import Check, Detector, Span
from sfumato.concepts.spans import find_all, is_exact, merge
from sfumato.errors import ParameterError


class Union:
    """Finds what any of its detectors finds; spans that overlap are joined.

    A detector with `find_beside(text, found)` is asked last, and told what the others found.
    """

    def __init__(self, *detectors: Detector, name: str | None = None) -> None:
        if not detectors:
            raise ParameterError("A union must hold at least one detector. Found none.")
        self.detectors = detectors
        self.name = name or " + ".join(detector.name for detector in detectors)
        self.blind_to = "What all of its parts miss. " + " ".join(
            f"{detector.name}: {detector.blind_to}" for detector in detectors
        )
        self._first = [part for part in detectors if not hasattr(part, "find_beside")]
        self._last: list[Any] = [part for part in detectors if hasattr(part, "find_beside")]
        self.exact = all(is_exact(detector) for detector in detectors)

    def find(self, text: str) -> list[Span]:
        """Return the spans of all detectors in reading order, none overlapping."""
        return self._with_last(text, merge(span for part in self._first for span in part.find(text)))

    def find_many(self, texts: Iterable[str], check: Check | None = None) -> Iterator[list[Span]]:
        """Find the spans of many texts, in batches where a part can."""
        own, *copies = tee(texts, len(self._first) + 1)
        streams = [find_all(part, copy, check) for part, copy in zip(self._first, copies, strict=True)]
        for text, *found in zip(own, *streams, strict=True):
            yield self._with_last(text, merge(span for spans in found for span in spans))

    def _with_last(self, text: str, found: list[Span]) -> list[Span]:
        late = [span for part in self._last for span in part.find_beside(text, found)]
        return merge([*found, *late]) if late else found
