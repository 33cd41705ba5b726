"""Progress of an audit: stages of unlike length, whose parts are not known beforehand."""

from __future__ import annotations

from collections.abc import Callable

_PART = 0.7
"""What is left of a stage after each of its parts, so that the bar always moves and never turns back."""
_TEXTS = 2000
"""Embedded texts that make one part."""


class Steps:
    """Turns stages and their parts into one share of the whole."""

    def __init__(self, tell: Callable[[str, float], object] | None, total: int) -> None:
        self.tell, self.total = tell, total
        self.done, self.parts, self.last, self.label = -1, 0.0, 0.0, ""

    def begin(self, label: str) -> None:
        """Go on to the next stage."""
        self.done, self.label = min(self.done + 1, self.total - 1), label
        self.parts = self.last = 0.0
        self._say()

    def within(self, _: str, share: float) -> None:
        """Say how far one part of the stage is; where that falls back, another part has begun."""
        share = min(max(share, 0.0), 1.0)
        self.parts += share - self.last if share >= self.last else share
        self.last = share
        self._say()

    def embedded(self, texts: int) -> None:
        """Say that so many texts have been embedded."""
        self.parts += texts / _TEXTS
        self._say()

    def _say(self) -> None:
        if self.tell is not None:
            self.tell(self.label, (self.done + 1 - _PART**self.parts) / self.total)
