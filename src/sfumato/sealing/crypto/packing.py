"""Vectors as the bytes that are sealed, one part a row: int8 with a scale, half or single precision."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import ArtifactError, ParameterError, VectorError
from sfumato.types import Vectors

Precision = Literal["int8", "float16", "float32"]

_STEPS = 127
# What a row is made of; bytes are in the same order on every machine.
_SCALED = "int8"
_PLAIN = {"float16": "<f2", "float32": "<f4"}


def packed_size(dim: int, precision: Precision) -> int:
    """Bytes of one packed vector."""
    return _layout(dim, precision).itemsize


def pack(vectors: Any, precision: Precision) -> list[bytes]:
    """One part a row; an int8 value is off by at most half of 1/127 of its row's largest."""
    checked = as_vectors(vectors)
    rows = np.empty(len(checked), _layout(checked.shape[1], precision))
    if precision == _SCALED:
        with np.errstate(over="ignore"):
            scale = (np.abs(checked).max(axis=1) / _STEPS).astype(np.float32)
            _refuse_infinite(scale * np.float32(_STEPS), precision)
        # A row of zeros, or of values too small for a scale, is a row of zeros.
        inverse = np.divide(1.0, scale, out=np.zeros(len(scale)), where=scale > 0, dtype=np.float64)
        rows["scale"] = scale
        rows["values"] = np.clip(np.rint(checked * inverse[:, None]), -_STEPS, _STEPS)
    else:
        with np.errstate(over="ignore"):
            rows["values"] = checked
        _refuse_infinite(rows["values"], precision)
    whole, width = rows.tobytes(), rows.dtype.itemsize
    return [whole[start : start + width] for start in range(0, len(whole), width)]


def unpack(parts: Sequence[bytes], dim: int, precision: Precision) -> Vectors:
    """The `(n, dim)` vectors of packed parts; one of another length or without finite values is refused."""
    layout = _layout(dim, precision)
    wrong = next((row for row, part in enumerate(parts) if len(part) != layout.itemsize), None)
    if wrong is not None:
        raise ArtifactError(
            f"A packed vector must have {layout.itemsize} bytes ({dim} values, {precision}). "
            f"Row {wrong} has {len(parts[wrong])}: check the encoder and the precision."
        )
    rows = np.frombuffer(b"".join(parts), layout)
    values: Vectors = rows["values"].astype(np.float32)
    if precision == _SCALED:
        with np.errstate(over="ignore", invalid="ignore"):
            values *= rows["scale"][:, None]
    if not np.isfinite(values).all():
        raise ArtifactError("A packed vector must hold finite values. One is damaged: seal its row again.")
    return values


def _layout(dim: int, precision: Precision) -> np.dtype[Any]:
    if precision not in get_args(Precision):
        raise ParameterError(f"A precision must be one of {', '.join(get_args(Precision))}. Found another.")
    if dim < 1:
        raise ParameterError(f"Vectors must have at least one dimension. Found {dim}.")
    if precision == _SCALED:
        return np.dtype([("scale", "<f4"), ("values", "i1", (dim,))])
    return np.dtype([("values", _PLAIN[precision], (dim,))])


def _refuse_infinite(values: NDArray[Any], precision: Precision) -> None:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong):
        row = int(wrong[0, 0])
        raise VectorError(f"Row {row} has a value too large for {precision}. Choose another precision.", row)
