"""What reading a file gives: batches of rows, and spans that were checked against their text."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.base import Span
from sfumato.concepts.spans import read_spans
from sfumato.errors import InputError

Vectors = NDArray[np.float32] | NDArray[np.float64]
Need = Literal["text", "embedding"]
LARGEST_BATCH = 1 << 27
"""About how many bytes of a file come at once, however many rows were asked for."""


@dataclass(frozen=True, slots=True)
class RowBatch:
    """Consecutive rows of one file; what the file does not hold is None."""

    first_row: int
    texts: list[str] | None = None
    spans: list[list[Span]] | None = None
    """One list a row; None when no row of the batch has a `spans` field."""
    vectors: Vectors | None = None
    columns: dict[str, list[Any]] = field(default_factory=dict)
    """The other columns; None where a row lacks one."""

    def __len__(self) -> int:
        if self.texts is not None:
            return len(self.texts)
        return 0 if self.vectors is None else len(self.vectors)

    def rows(self, first: int, last: int) -> RowBatch:
        """Some of them, without the other columns."""
        return RowBatch(
            self.first_row + first,
            None if self.texts is None else self.texts[first:last],
            None if self.spans is None else self.spans[first:last],
            None if self.vectors is None else self.vectors[first:last],
        )


def encodable(text: str) -> bool:
    """Whether UTF-8 can hold the text, which half of a surrogate pair prevents."""
    if text.isascii():
        return True
    with contextlib.suppress(UnicodeEncodeError):
        text.encode()
        return True
    return False


def checked_spans(found: Any, text: str, where: str) -> list[Span]:
    """Return the spans of a row in a file, or refuse them."""
    if found is None:
        return []
    if not isinstance(found, list):
        raise InputError(f"{where} has to have a list as `spans`. Found {type(found).__name__}.")
    return read_spans(found, len(text), where=where)
