"""The one gate for embeddings: whatever comes in leaves as a checked, two-dimensional float array.

Refusals come before anything is spent. They name the row and the rule, never a value of the row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError, VectorError
from sfumato.types import FloatArray

NORM_TOLERANCE = 1e-3
"""Vectors normalised in half precision may exceed their bound by this share."""


def _from_torch(tensor: Any) -> NDArray[Any]:
    tensor = tensor.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    return np.asarray(tensor.numpy())


def _from_arrow(column: Any) -> NDArray[Any]:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not (pa.types.is_fixed_size_list(column.type) or pa.types.is_list(column.type)):
        raise VectorError(f"An Arrow column of vectors must be a list type. Found {column.type}.")
    if column.null_count:
        row = next(i for i, valid in enumerate(column.is_valid().to_pylist()) if not valid)
        raise VectorError(f"Row {row} of the Arrow column is null. Remove or fill it first.", row)
    widths = np.unique(column.value_lengths().to_numpy(zero_copy_only=False)) if len(column) else np.array([])
    if widths.size > 1:
        raise VectorError(f"Vectors must all have one length. Found {widths.size} different lengths.")
    values = column.flatten()
    if values.null_count:
        raise VectorError("The Arrow column holds null numbers. Remove or fill them first.")
    width = int(widths[0]) if widths.size else getattr(column.type, "list_size", 0)
    flat: NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return flat.reshape(len(column), width)


def _to_numpy(vectors: Any) -> NDArray[Any]:
    if isinstance(vectors, np.ma.MaskedArray):
        if np.ma.is_masked(vectors):
            raise VectorError("The array has masked entries. Fill them first.")
        return np.asarray(vectors.data)
    if isinstance(vectors, np.ndarray):
        return np.asarray(vectors)
    module = type(vectors).__module__.partition(".")[0]
    if module == "torch":
        return _from_torch(vectors)
    if module == "pyarrow":
        return _from_arrow(vectors)
    try:
        return np.asarray(vectors)
    except (ValueError, TypeError) as error:
        # The original message may quote values, so it is not passed on.
        raise VectorError(
            "Vectors must form a rectangular array of numbers. Found rows that differ."
        ) from error


def as_vectors(vectors: Any, *, dim: int | None = None) -> FloatArray:
    """Return `vectors` as a native `(n, d)` float32 or float64 array, without copying where possible.

    Takes numpy arrays, nested lists, torch tensors and Arrow list columns; the input is never changed.
    """
    array = _to_numpy(vectors)
    if array.dtype.kind not in "fiu":
        raise VectorError(f"Vectors must hold real numbers. Found type {array.dtype.name or array.dtype}.")
    if array.ndim != 2:
        hint = " For one vector, pass X[None, :]." if array.ndim == 1 else ""
        raise VectorError(
            f"Vectors must be a two-dimensional (n, d) array. Found {array.ndim} dimensions.{hint}"
        )
    if array.shape[1] == 0:
        raise VectorError("Vectors must have at least one dimension. Found 0.")
    if dim is not None and array.shape[1] != dim:
        raise VectorError(
            f"Vectors must have dimension {dim}. Found {array.shape[1]}. Use the matching encoder."
        )
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    wanted = np.dtype(np.float32 if small else np.float64)
    with np.errstate(over="ignore"):  # a longdouble beyond float64 becomes inf and is refused below
        return array if array.dtype == wanted else array.astype(wanted)


def tensor_rows(vectors: Any, *, dim: int | None = None) -> Any | None:
    """Return a torch tensor that keeps the same rules, where it is; None for whatever is not a tensor.

    None too for a device without float64, whose tensors `as_vectors` takes to the host.
    """
    if type(vectors).__module__.partition(".")[0] != "torch" or vectors.device.type not in ("cpu", "cuda"):
        return None
    if str(vectors.layout) != "torch.strided" or vectors.is_quantized:
        raise VectorError(f"Vectors must be in a dense tensor. Found {vectors.layout}, {vectors.dtype}.")
    # The rules look at shape and type, and a tensor without rows has both.
    as_vectors(vectors[:0] if vectors.ndim else vectors, dim=dim)
    return vectors.detach()


def _refuse(array: FloatArray, good: NDArray[np.bool_], offset: int, largest: float) -> None:
    row = int(np.argmin(good))
    wide = array[row].astype(np.float64)
    where = f"Row {row + offset}"
    if not np.isfinite(wide).all():
        raise VectorError(f"{where} holds NaN or infinity. Every number must be finite.", row + offset)
    peak = float(np.abs(wide).max())
    if peak == 0.0 or float(np.linalg.norm(wide / peak)) * peak < largest * 1e-15:
        raise VectorError(f"{where} is zero or too small to have a direction. Remove it first.", row + offset)
    raise VectorError(
        f"{where} has a norm above the bound {largest:g}. Scale the vectors to length {largest:g}, or make "
        "the mechanism for longer ones (--max-norm with --mechanism, max_norm= in Python).",
        row + offset,
    )


def check_rows(array: FloatArray, largest: float) -> None:
    """Refuse the whole array if a row is non-finite, zero or longer than `largest`."""
    bound = (largest * (1.0 + NORM_TOLERANCE)) ** 2
    smallest = (largest * 1e-15) ** 2
    for start, block in row_blocks(array, 1 << 22):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            squares = np.vecdot(block, block).astype(np.float64)
        good = (squares <= bound) & (squares >= smallest)
        if not good.all():
            # Extreme bounds can overflow or underflow float32 squares: decide again with room to spare.
            wide = block[~good].astype(np.float64)
            with np.errstate(over="ignore", invalid="ignore"):
                norms = np.hypot.reduce(wide, axis=1)
            good[~good] = (norms <= math.sqrt(bound)) & (norms >= math.sqrt(smallest))
            if not good.all():
                _refuse(block, good, start, largest)


def check_finite(array: FloatArray, what: str) -> None:
    """Refuse NaN and infinity, and say in which row of what they are."""
    for start, block in row_blocks(array, 1 << 22):
        good = np.isfinite(block).all(axis=1)
        if not good.all():
            row = start + int(np.argmin(good))
            raise VectorError(
                f"Row {row} of {what} holds NaN or infinity. Every number must be finite. Correct that row, "
                "or leave it out.",
                row,
            )


def row_blocks(array: FloatArray, elements: int) -> Iterator[tuple[int, FloatArray]]:
    """Yield `(first row, rows)` pieces of about `elements` numbers each."""
    rows = max(1, elements // array.shape[1])
    for start in range(0, len(array), rows):
        yield start, array[start : start + rows]


def masked_rows(mask: Any, count: int, name: str) -> NDArray[np.intp]:
    """Rows that a mask of `count` truth values marks; a mask that does not fit would leave rows out."""
    held = np.asarray(mask)
    if held.dtype != np.bool_ or held.shape != (count,):
        raise InputError(
            f"`{name}` must hold True or False for each of {count} vectors. Found {held.dtype} of shape "
            f"{held.shape}."
        )
    return np.flatnonzero(held)


def one_each(names: Sequence[str], count: int, what: str) -> list[str]:
    """The names of rows, of which there must be one for each of `count` vectors."""
    if len(names) != count:
        raise InputError(
            f"There must be one {what} a vector. Found {len(names)} {what}s and {count} vectors."
        )
    return list(names)
