"""What every detector does with spans: put them in order, join those that overlap, read them from records."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from sfumato.concepts.base import Check, Detector, Span
from sfumato.errors import InputError, ParameterError

_SURROGATE = re.compile("[\ud800-\udfff]")

SpanLike = Span | Mapping[str, Any] | tuple[int, int, str]
"""A span, or start, end and label as a record or a tuple, the way data files hold them."""


_found: ContextVar[dict[Any, Any] | None] = ContextVar("found", default=None)


@contextmanager
def searched_once() -> Iterator[None]:
    """Let detectors that share a model share what it finds in here, where several look at the same texts.

    Nothing is kept beyond: how long a search takes would tell whether somebody else asked about a text.
    """
    before = _found.set({})
    try:
        yield
    finally:
        _found.reset(before)


def found_already() -> dict[Any, Any] | None:
    """What was found in here, for a detector to read and to add to; None where nothing is to be kept."""
    return _found.get()


def merge(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in reading order, overlapping ones joined under the label of the longest.

    Joined rather than dropped: the part of a span that another one does not cover is sensitive all the same.
    """
    merged: list[Span] = []
    longest = 0
    # Sorting is stable: of equally long spans the one that was named first gives the label.
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        length = span.end - span.start
        last = merged[-1] if merged else None
        if last is None or span.start >= last.end:
            merged.append(span)
            longest = length
            continue
        label = span.label if length > longest else last.label
        longest = max(longest, length)
        merged[-1] = Span(last.start, max(last.end, span.end), label)
    return merged


def relabel(spans: Iterable[Span], label: str) -> list[Span]:
    """Return the same stretches under one label."""
    return [Span(span.start, span.end, label) for span in spans]


def read_spans(
    items: Iterable[SpanLike], length: int, *, row: int | None = None, where: str = ""
) -> list[Span]:
    """Read the spans that came with a text of `length` characters, sorted: the gate for all of them.

    One that does not fit is refused by its number, and by the row or whatever `where` names; what it marks is
    never shown.
    """
    found = []
    for number, item in enumerate(items):
        span = item if isinstance(item, Span) else _read(item)
        if span is None or span.end > length:
            place = where or ("A text" if row is None else f"Row {row}")
            raise InputError(
                f"{place} has a span (number {number}) that does not fit: it has to have a `label` and "
                f"0 <= start < end <= {length}, the length of its text in characters."
            )
        found.append(span)
    return sorted(found)


def find_all(detector: Detector, texts: Iterable[str], check: Check | None = None) -> Iterator[list[Span]]:
    """Find the spans of many texts, in batches where the detector can.

    `check` is called before each text, and between the pieces of a long one where the detector's `find_many`
    takes it; what it raises ends the search.
    """
    many: Callable[..., Iterator[list[Span]]] | None = getattr(detector, "find_many", None)
    given = watched(texts, check)
    if many is None:
        return (detector.find(text) for text in given)
    if check is not None and "check" in inspect.signature(many).parameters:
        return many(given, check=check)
    return many(given)


def watched(texts: Iterable[str], check: Check | None) -> Iterator[str]:
    """Hand texts on, calling `check` before each."""
    for text in texts:
        if check is not None:
            check()
        yield text


def is_exact(detector: Detector) -> bool:
    """Whether finding again after removal makes sense: what is found depends on the words alone."""
    return bool(getattr(detector, "exact", False))


def encodable(text: str) -> str:
    """Return the text with halves of surrogate pairs, which some packages cannot encode, as one mark each."""
    return _SURROGATE.sub("\ufffd", text)


def _read(item: Any) -> Span | None:
    try:
        start, end, label = item if isinstance(item, tuple) else (item["start"], item["end"], item["label"])
    except (KeyError, TypeError, ValueError):
        return None
    if isinstance(start, bool) or isinstance(end, bool) or not isinstance(label, str):
        return None
    try:
        return Span(operator.index(start), operator.index(end), label)
    except (TypeError, ParameterError):
        return None
