"""Words in the pieces of a model: the longest piece that fits, then the longest that fits the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sfumato.text.words import plain

CONTINUES = "##"
"""How a piece that does not start a word is written."""
LONGEST = 100
"""Longer words are unknown, as in the model's own tokenizer."""


def cut(word: str, index: Mapping[str, int], *, cased: bool = False) -> list[int]:
    """The numbers of a word's pieces, or one -1: a word of which any part is unknown is unknown whole.

    Args:
        word: as it stands in a text.
        index: number of each piece.
        cased: look the word up as it is written, then in lower case without accents. What starts with a sign
            that has no piece of its own for the start of a word (a digit, in many) starts with any piece.
    """
    if not cased:
        return _cut(plain(word), index, ("",)) or [-1]
    return _cut(word, index, ("", CONTINUES)) or _cut(plain(word), index, ("", CONTINUES)) or [-1]


def _cut(letters: str, index: Mapping[str, int], first: Sequence[str]) -> list[int]:
    """The longest piece that fits, again and again; nothing where none does. `first` marks the first one."""
    if not 0 < len(letters) <= LONGEST:
        return []
    found: list[int] = []
    start = 0
    while start < len(letters):
        for mark, end in (
            (mark, end)
            for mark in ((CONTINUES,) if start else first)
            for end in range(len(letters), start, -1)
        ):
            number = index.get(mark + letters[start:end])
            if number is not None:
                found.append(number)
                start = end
                break
        else:
            return []
    return found
