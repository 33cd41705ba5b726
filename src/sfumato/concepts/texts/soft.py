"""Soft texts: one text in which some places stand for several terms at once.

In such a place an encoder puts the mean of the terms' input embeddings, so that one forward pass does the
work of one pass a term. To an encoder that knows nothing of it, a soft text is a text with the first of the
terms in each place; `embedders.base.takes_soft` tells which know it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import lcm
from typing import NamedTuple

from sfumato.errors import ParameterError

_MOST_WEIGHT = 1 << 20


class SoftPlace(NamedTuple):
    """Where in a text several terms stand at once."""

    start: int
    end: int
    terms: tuple[str, ...]


class SoftText(str):
    """A text with soft places; it equals no plain text, so that nobody's memory of vectors mixes them up."""

    places: tuple[SoftPlace, ...]

    def __new__(cls, text: str, places: Sequence[SoftPlace]) -> SoftText:
        """Put soft places into a text, in reading order and apart."""
        made = super().__new__(cls, text)
        made.places = tuple(places)
        at = 0
        for place in made.places:
            if not (at <= place.start < place.end <= len(text) and place.terms):
                raise ParameterError("Soft places must stand apart, in reading order, with terms each.")
            at = place.end
        return made

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SoftText) and str.__eq__(self, other) and self.places == other.places

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((str.__hash__(self), self.places))


def shares(places: Sequence[SoftPlace]) -> tuple[int, list[int]]:
    """Whole numbers for encoders that count: the weight of a token of the text, and of each place's terms."""
    whole = min(lcm(*(len(place.terms) for place in places)), _MOST_WEIGHT)
    return whole, [max(1, whole // len(place.terms)) for place in places]


def content(text: str) -> bytes:
    """Everything that a text's vector depends on, as bytes that no other text has."""
    if not isinstance(text, SoftText):
        return text.encode()
    # No UTF-8 begins with this byte.
    return b"\xff" + json.dumps([str(text), text.places]).encode()
