"""What every embedder asks of the texts and of the vectors it gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, VectorError


def checked_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts as a list, or refuse them all, naming a row and never its content."""
    if isinstance(texts, str | bytes):
        raise InputError(f"`texts` must be a list of str. Found a single {type(texts).__name__}.")
    found = list(texts)
    wrong = ""
    for row, text in enumerate(found):
        if not isinstance(text, str):
            wrong = f"must be a str. Found {type(text).__name__}."
        elif not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                wrong = "must be encodable in UTF-8. Found half of a surrogate pair."
        if wrong:  # raised out here because a chained UnicodeEncodeError would carry the text
            raise InputError(f"Row {row} of `texts` {wrong}")
    return found


def unit_rows(vectors: NDArray[Any], first_row: int = 0) -> NDArray[np.float32]:
    """Return the rows at unit length; each depends on its own numbers alone, to the last bit."""
    wide: NDArray[np.float64] = np.asarray(vectors, np.float64)
    lengths = np.sqrt(np.square(wide).sum(axis=1, keepdims=True))
    good = np.isfinite(lengths) & (lengths > 0)
    if not good.all():
        row = first_row + int(np.argmin(good[:, 0]))
        raise VectorError(
            f"The model gave row {row} a vector that is zero or not finite. Leave that text out, or use "
            "another model.",
            row,
        )
    units: NDArray[np.float32] = (wide / lengths).astype(np.float32)
    return units
