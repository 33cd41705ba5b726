"""Words in the pieces of a model: the longest piece that fits, then the longest that fits the rest."""

from __future__ import annotations

from collections.abc import Mapping

from sfumato.text.words import plain

CONTINUES = "##"
"""How a piece that does not start a word is written."""
LONGEST = 100
"""Longer words are unknown, as in the model's own tokenizer."""


def cut(word: str, index: Mapping[str, int]) -> list[int]:
    """The numbers of a word's pieces, or one -1: a word of which any part is unknown is unknown whole."""
    letters = plain(word)
    if not 0 < len(letters) <= LONGEST:
        return [-1]
    found: list[int] = []
    start = 0
    while start < len(letters):
        mark = CONTINUES if start else ""
        for end in range(len(letters), start, -1):
            number = index.get(mark + letters[start:end])
            if number is not None:
                found.append(number)
                start = end
                break
        else:
            return [-1]
    return found
