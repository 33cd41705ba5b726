"""What reading a file gives: batches of rows, and spans that were checked against their text."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError

Spans = list[tuple[int, int, str]]
"""(start, end, label) in characters, start inclusive and end exclusive, in the order of the file."""
Vectors = NDArray[np.float32] | NDArray[np.float64]
Need = Literal["text", "embedding"]
LARGEST_BATCH = 1 << 27
"""About how many bytes of a file come at once, however many rows were asked for."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Consecutive rows of one file; what the file does not hold is None."""

    first_row: int
    texts: list[str] | None = None
    spans: list[Spans] | None = None
    """One list a row; None when no row of the batch has a `spans` field."""
    vectors: Vectors | None = None
    columns: dict[str, list[Any]] = field(default_factory=dict)
    """The other columns; None where a row lacks one."""

    def __len__(self) -> int:
        if self.texts is not None:
            return len(self.texts)
        return 0 if self.vectors is None else len(self.vectors)


def encodable(text: str) -> bool:
    """Whether UTF-8 can hold the text, which half of a surrogate pair prevents."""
    if text.isascii():
        return True
    with contextlib.suppress(UnicodeEncodeError):
        text.encode()
        return True
    return False


def checked_spans(found: Any, text: str, where: str) -> Spans:
    """Return the spans as triples, or refuse them by number; what they mark is never shown."""
    if found is None:
        return []
    if not isinstance(found, list):
        raise InputError(f"{where} has to have a list as `spans`. Found {type(found).__name__}.")
    spans: Spans = []
    for number, span in enumerate(found):
        parts: dict[str, Any] = span if isinstance(span, dict) else {}
        start, end, label = parts.get("start", -1), parts.get("end", -1), parts.get("label")
        # type() and not isinstance(): True is an int as well.
        whole = type(start) is int and type(end) is int
        if not isinstance(label, str) or not whole or not 0 <= start < end <= len(text):
            raise InputError(
                f"{where} has a span (number {number}) that does not fit: it has to have a `label` and "
                f"0 <= start < end <= {len(text)}, the length of its text in characters."
            )
        spans.append((start, end, label))
    return spans
