"""Finds whatever may be a name: capitalised words that are not common ones, whatever they name."""

from __future__ import annotations

import re

from sfumato.concepts.base import Span
from sfumato.concepts.lists.words import COMMON, ENDINGS
from sfumato.concepts.spans import merge

_WORD = re.compile(r"[^\W\d_]+(?:[-'’&](?!s\b)[^\W\d_]+)*")
_SHORTENED = re.compile(r"(?:n['’]t|['’](?:m|d|ll|re|ve))$")
"""Of "don't" and "we'll"."""
_OPENS = frozenset('.!?:;"“”«»()[]\n-–—*•')
"""What a sentence, a quotation or an item of a list begins after."""
_SHOUTED = 0.6
"""The share of words in capitals throughout from which capitals tell nothing."""


class Capitals:
    """Finds capitalised words that are not common ones; neighbours are one span."""

    exact = True
    blind_to = (
        "Names in lower case, names that are common words (Young, West, March), and single letters; it "
        "cannot tell what kind of name a word is."
    )

    def __init__(self, *, label: str = "name", name: str = "capitalised words") -> None:
        self.label, self.name = label, name

    def find(self, text: str) -> list[Span]:
        """Return the words in reading order, none overlapping."""
        words = list(_WORD.finditer(text))
        loud = [len(word.group()) > 1 and word.group().isupper() for word in words]
        shouted = len(words) > 2 and sum(loud) >= _SHOUTED * len(words)
        found: list[Span] = []
        for word in words:
            if not self._counts(text, word, shouted):
                continue
            start, end = word.start(), word.end()
            if found and text[found[-1].end : start].isspace():
                start = found.pop().start
            found.append(Span(start, end, self.label))
        return merge(found)

    def _counts(self, text: str, word: re.Match[str], shouted: bool) -> bool:
        written = word.group()
        if not written[0].isupper() or len(written) < 2:
            return False
        plain = _SHORTENED.sub("", written.lower())
        if plain in COMMON:
            return False
        before = _before(text, word.start())
        begins = shouted or not before or before in _OPENS
        return not (begins and plain.endswith(ENDINGS))


def _before(text: str, place: int) -> str:
    """The last mark before a place that is no white space, or white space where much of it stands there."""
    near = text[max(0, place - 8) : place]
    return near.rstrip()[-1:] or near[-1:]
