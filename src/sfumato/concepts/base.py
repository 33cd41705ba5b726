"""What is sensitive: spans of a text, found by detectors, gathered under a concept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from sfumato.errors import ParameterError

Check = Callable[[], object]
"""Called between pieces of work; what it raises ends the work."""


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A stretch of a text, start inclusive and end exclusive, in characters."""

    start: int
    end: int
    label: str

    def __post_init__(self) -> None:
        """Check the order of the ends."""
        if not 0 <= self.start < self.end:
            raise ParameterError(f"A span must have 0 <= start < end. Found {self.start} and {self.end}.")


class Detector(Protocol):
    """Finds spans of one kind in a text."""

    name: str
    blind_to: str
    """One sentence on what this detector cannot find."""

    def find(self, text: str) -> list[Span]:
        """Return the spans in reading order, none overlapping."""
