"""Takes spans out of a text, or puts something in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from sfumato.concepts.base import Span
from sfumato.concepts.detectors.dictionary import folded
from sfumato.concepts.texts.swaps import Swap, written_like
from sfumato.errors import ParameterError

_TRIES = 50
_SEPARATOR = re.compile(r"[ \t,;/&–—-]+")
_CLITIC = re.compile(r"['’][sS]?(?!\w)|-(?=\w)")
_BLANKS = re.compile(r"[ \t]*")
_LEADING = re.compile(r"^[ \t]*[,;:]")
# Blanks that stand together are one token: two of those never follow each other.
_TOKEN = re.compile(r"(?s)[ \t]+|.")
_BRACKETS = ("()", "[]", "{}")
_QUOTES = ('""', "''", "“”", "‘’")


def outside(text: str, spans: Sequence[Span]) -> list[str]:
    """Return the pieces of the text between spans in order: one more than there are spans."""
    edges = [0, *(edge for span in spans for edge in (span.start, span.end)), len(text)]
    return [text[low:high] for low, high in zip(edges[::2], edges[1::2], strict=True)]


def cut(text: str, spans: Sequence[Span]) -> str:
    """Take the spans out, and tidy spaces and punctuation where they stood and nowhere else."""
    if not spans:
        return text
    first, *between, last = outside(text, spans)
    left = _TOKEN.findall(first)
    for piece in between:
        # A comma or a dash between two spans joined them: it goes with them.
        _close(left, " " if _SEPARATOR.fullmatch(piece) else piece)
    _close(left, last)
    closed = "".join(left)
    # With nothing behind it, what led up to the last span ends there.
    return closed if last.strip() else closed.rstrip(" \t,;")


def put(text: str, spans: Sequence[Span], value: Callable[[str], str]) -> str:
    """Put what `value` makes of each span's text in its place."""
    first, *rest = outside(text, spans)
    new = [value(text[span.start : span.end]) for span in spans]
    return first + "".join(made + piece for made, piece in zip(new, rest, strict=True))


def exchange(text: str, spans: Sequence[Span], swap: Swap, rng: np.random.Generator) -> str:
    """Put another value in the place of each span: in the same case, never the same value."""
    taken = {folded(text[span.start : span.end]) for span in spans}
    chosen: dict[str, str] = {}
    for span in spans:
        surface = text[span.start : span.end]
        if folded(surface) not in chosen:
            chosen[folded(surface)] = _another(surface, swap, taken, rng)
    return put(text, spans, lambda surface: written_like(surface, chosen[folded(surface)], text))


def _another(surface: str, swap: Swap, taken: set[str], rng: np.random.Generator) -> str:
    value = None
    for _ in range(_TRIES):
        drawn = swap(surface, rng)
        if folded(drawn) not in taken:
            return drawn
        if folded(drawn) != folded(surface):
            value = drawn
    # Everything else stands in the text already, so one of those has to do.
    if value is None:
        raise ParameterError(
            "A concept must have two values to put one in another's place. Found one: give it more terms."
        )
    return value


def _close(left: list[str], right: str) -> None:
    """Join what stood on both sides of a span, adding to the left side.

    That is a list whose end is changed in place: a text with many spans would be copied for each of them.
    """
    clitic = _CLITIC.match(right)
    low = clitic.end() if clitic else 0
    while left and left[-1] + right[low : low + 1] in _QUOTES:
        left.pop()
        low += 1
    while True:
        high = _BLANKS.match(right, low).end()  # type: ignore[union-attr]  # matches nothing, too
        if _bare_end(left) + right[high : high + 1] not in _BRACKETS:
            break
        _drop_blanks(left)
        left.pop()
        low = high + 1
    right = right[low:]
    end = _bare_end(left)
    if not end or end in "\n([{,;:":
        right = _LEADING.sub("", right)
    if right[:1] in tuple(",.;:!?)]}\n"):
        _drop_blanks(left)
        while right[0] in ".!?" and left and left[-1] in ",;:":
            left.pop()
    elif not end or end in "\n([{" or left[-1][0] in " \t":
        right = right.lstrip(" \t")
    left += _TOKEN.findall(right)


def _bare_end(left: list[str]) -> str:
    """The last mark that is no blank, or nothing."""
    blank = bool(left) and left[-1][0] in " \t"
    return left[-1 - blank] if len(left) > blank else ""


def _drop_blanks(left: list[str]) -> None:
    if left and left[-1][0] in " \t":
        left.pop()
