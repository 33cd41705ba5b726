"""Cosines of many rows with many others, a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from sfumato.arrays import as_vectors
from sfumato.errors import VectorError
from sfumato.types import Floats

AT_ONCE = 1 << 22
"""Cosines held in memory at a time."""


def checked(vectors: Any, what: str) -> Any:
    """The vectors as an `(n, d)` float array, or refuse them."""
    array = as_vectors(vectors)
    if not np.isfinite(array).all():
        raise VectorError(f"The {what} must be finite. Found NaN or infinity.")
    return array


def unit_rows(vectors: Any) -> Floats:
    """Rows scaled to length 1 in float64; a zero row stays zero, so that its cosines are 0."""
    wide = np.asarray(vectors, np.float64)
    lengths = np.linalg.norm(wide, axis=-1, keepdims=True)
    return np.asarray(wide / np.where(lengths > 0, lengths, 1.0))


def unit_blocks(vectors: Any, rows: int) -> Iterator[tuple[int, Floats]]:
    """Yield `(first row, unit rows)` pieces of at most `rows` rows."""
    for start in range(0, len(vectors), rows):
        yield start, unit_rows(vectors[start : start + rows])


def same_space(first: Any, second: Any, what: str) -> tuple[Any, Any]:
    """Both as checked arrays of one dimension, or refuse them."""
    left, right = checked(first, what), checked(second, what)
    if left.shape[1] != right.shape[1]:
        raise VectorError(
            f"The {what} must live in one space. Found {left.shape[1]} and {right.shape[1]} dimensions."
        )
    return left, right
