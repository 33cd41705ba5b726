"""Several detectors as one: what any of them finds counts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import tee

from sfumato.concepts.base import Check, Detector, Span
from sfumato.concepts.spans import find_all, is_exact, merge
from sfumato.errors import ParameterError


class Union:
    """Finds what any of its detectors finds; spans that overlap are joined."""

    def __init__(self, *detectors: Detector, name: str | None = None) -> None:
        if not detectors:
            raise ParameterError("A union must hold at least one detector. Found none.")
        self.detectors = detectors
        self.name = name or " + ".join(detector.name for detector in detectors)
        self.blind_to = "What all of its parts miss. " + " ".join(
            f"{detector.name}: {detector.blind_to}" for detector in detectors
        )
        self.exact = all(is_exact(detector) for detector in detectors)

    def find(self, text: str) -> list[Span]:
        """Return the spans of all detectors in reading order, none overlapping."""
        return merge(span for detector in self.detectors for span in detector.find(text))

    def find_many(self, texts: Iterable[str], check: Check | None = None) -> Iterator[list[Span]]:
        """Find the spans of many texts, in batches where a part can."""
        copies = tee(texts, len(self.detectors))
        streams = [find_all(part, copy, check) for part, copy in zip(self.detectors, copies, strict=True)]
        for found in zip(*streams, strict=True):
            yield merge(span for spans in found for span in spans)
