"""Takes spans out of a text, or puts something in their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from sfumato.concepts.base import Span
from sfumato.concepts.dictionary import folded
from sfumato.concepts.swaps import Swap, written_like
from sfumato.errors import ParameterError

_TRIES = 50
_SEPARATOR = re.compile(r"[ \t,;/&–—-]+")
_CLITIC = re.compile(r"['’][sS]?(?!\w)|-(?=\w)")
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
    result, *between, last = outside(text, spans)
    for piece in between:
        # A comma or a dash between two spans joined them: it goes with them.
        result = _close(result, " " if _SEPARATOR.fullmatch(piece) else piece)
    closed = _close(result, last)
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


def _close(left: str, right: str) -> str:
    """Join what stood on both sides of a span."""
    right = _CLITIC.sub("", right, count=1) if _CLITIC.match(right) else right
    while left[-1:] + right[:1] in _QUOTES:
        left, right = left[:-1], right[1:]
    while left.rstrip(" \t")[-1:] + right.lstrip(" \t")[:1] in _BRACKETS:
        left, right = left.rstrip(" \t")[:-1], right.lstrip(" \t")[1:]
    bare = left.rstrip(" \t")
    if not bare or bare[-1] in "\n([{,;:":
        right = re.sub(r"^[ \t]*[,;:]", "", right)
    if right[:1] in tuple(",.;:!?)]}\n"):
        return bare.rstrip(",;:") + right if right[0] in ".!?" else bare + right
    if left != bare or not bare or bare[-1] in "\n([{":
        right = right.lstrip(" \t")
    return left + right
