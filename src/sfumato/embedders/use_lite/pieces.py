"""The encoder's own way to cut a text into pieces of its vocabulary, to the last oddity of its JavaScript.

The best path by the pieces' scores. Three things follow the published code and files rather than the idea: a
character that starts no piece costs nothing, some pieces with a colon have no score or a positive one, and a
sum of exactly zero gives way to any other. No piece goes over the start of a word, so words are read one by
one and a long text only as far as needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from sfumato.composing import normal

UNKNOWN = 0
_RESERVED = 6
"""Entries at the start of the vocabulary that stand for no piece of a text."""
_SPACE, _END = "\u2581", ""
_WORD = re.compile(f"{_SPACE}[^{_SPACE}]*")


class ScoredPieces:
    """A vocabulary of pieces with scores.

    Args:
        vocabulary: Pairs of piece and score, as in the package's vocab.json; no score counts as zero.
    """

    def __init__(self, vocabulary: Sequence[tuple[str, float | None]]) -> None:
        self._lengths = [len(piece) for piece, _ in vocabulary]
        self._start: dict[str, Any] = {}
        for index, (piece, score) in enumerate(vocabulary[_RESERVED:], _RESERVED):
            node = self._start
            for letter in piece:
                node = node.setdefault(letter, {})
            node[_END] = (index, float(score or 0))  # of pieces written alike the last one counts

    def read(self, text: str, most: int) -> list[int]:
        """Return the numbers of the text's first pieces, at most `most`; none for the empty text."""
        spaced = normal(text, "NFKC").replace(" ", _SPACE)
        found: list[int] = []
        total = 0.0
        for word in _WORD.finditer(_SPACE + spaced if spaced else ""):
            pieces, total = self._word(word.group(), total)
            found += pieces
            if len(found) >= most:
                break
        return found[:most]

    def _word(self, word: str, before: float) -> tuple[list[int], float]:
        """The best pieces of one word after a path with the sum `before`, and the sum with them."""
        best = [before] + [0.0] * len(word)
        last = [UNKNOWN] * len(best)
        for start in range(len(word)):
            for end, index, score in self._matches(word, start):
                total = score + best[start]
                if best[end] == 0 or total >= best[end]:
                    best[end], last[end] = total, index
        backwards: list[int] = []
        end = len(word)
        while end > 0:
            index = last[end]
            if index != UNKNOWN or not backwards or backwards[-1] != UNKNOWN:
                backwards.append(index)
            end -= self._lengths[index]
        return backwards[::-1], best[-1]

    def _matches(self, word: str, start: int) -> Iterator[tuple[int, int, float]]:
        """Every piece that begins at `start`: where it ends, its number and its score."""
        node, none = self._start, True
        for end in range(start, len(word)):
            node = node.get(word[end], {})
            if not node:
                break
            if _END in node:
                none = False
                yield (end + 1, *node[_END])
        if none:
            yield start + 1, UNKNOWN, 0.0
