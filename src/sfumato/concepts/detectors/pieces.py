"""Long texts in pieces, and runs of marks made harmless, for packages that take too long over them."""

from __future__ import annotations

import re
from collections.abc import Iterator

LONGEST = 5000
"""Characters of a piece; between two pieces a search can be stopped."""
_MARKS = re.compile(r"(?:[^\w\s]|_){33,}")
_KEPT = 16
_RUN = re.compile(r"\S{97,}")
_MARK = re.compile(r"[\W_]")
_BREAKS = ("\n", ". ", " ")


def pieces(text: str, longest: int = LONGEST) -> Iterator[tuple[str, int]]:
    """Cut a text into pieces with their offsets: after a line, a sentence or a word where there is one."""
    low = 0
    while True:
        high = min(low + longest, len(text))
        if high < len(text):
            ends = (text.rfind(mark, low + longest // 2, high) + len(mark) for mark in _BREAKS)
            high = next((end for end in ends if end > low + longest // 2), high)
        yield text[low:high], low
        low = high
        if low >= len(text):
            break


def eased(text: str, run: int = 96) -> str:
    """Return a text of the same length without long runs of marks or long stretches without white space.

    A tokeniser takes marks off a word one by one, and reads the whole word for each: 20,000 brackets cost the
    square of that. White space in the place of some marks ends this, and moves no other character.
    """
    text = _MARKS.sub(lambda found: found.group()[:_KEPT].ljust(len(found.group())), text)
    return _RUN.sub(lambda found: _broken(found.group(), run), text)


def _broken(word: str, run: int) -> str:
    marks = list(word)
    start = 0
    for found in _MARK.finditer(word):
        if found.start() - start >= run:
            start = found.start()
            marks[start] = " "
    return "".join(marks)
