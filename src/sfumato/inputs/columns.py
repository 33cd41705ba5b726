"""Rows made of columns: Arrow batches, and .npy arrays by block of rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.base import Span
from sfumato.errors import InputError, VectorError
from sfumato.files import PathLike
from sfumato.inputs.base import LARGEST_BATCH, RowBatch, Vectors, checked_spans
from sfumato.inputs.lines import open_binary
from sfumato.inputs.names import SPANS, USUAL, ColumnNames

_WINDOW = 1 << 20
_WIDEST = 1 << 20


def require_start(file: Path, rows: int, start: int) -> None:
    """Refuse to go on behind the end: the file is not the one that an earlier run read."""
    if start > rows:
        raise InputError(
            f"`{file}` cannot be read from row {start} on: it has {rows}. Check that it is whole."
        )


def as_batch(
    file: PathLike, part: Any, row: int, width: int | None = None, names: ColumnNames = USUAL
) -> RowBatch:
    """Return the checked rows of an Arrow batch; `file` and `row` say in errors where it comes from."""
    found = part.schema.names
    texts = _texts(file, part.column(names.text), row, names.text) if names.text in found else None
    spans: list[list[Span]] | None = None
    if texts is not None and SPANS in found:
        marked = zip(itertools.count(row), _values(file, part.column(SPANS), row), texts, strict=False)
        spans = [checked_spans(given, text, f"Row {i} of `{file}`") for i, given, text in marked]
    vectors = None
    if names.vector in found:
        vectors = _vectors(file, part.column(names.vector), row, width, names.vector)
    columns = {name: _values(file, part.column(name), row) for name in found if name not in names.own}
    return RowBatch(row, texts, spans, vectors, columns)


def _texts(file: PathLike, column: Any, row: int, name: str) -> list[str]:
    import pyarrow as pa

    types = pa.types
    kind = column.type.value_type if types.is_dictionary(column.type) else column.type
    if not (types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind)):
        raise InputError(
            f"The column `{name}` of `{file}` has to hold strings. Found {column.type}. Convert it."
        )
    if column.null_count:
        null = row + _first(column.is_null())
        raise InputError(f"Row {null} of `{file}` has no text (null). Fill it or leave it out.")
    return _values(file, column, row)


def _values(file: PathLike, column: Any, row: int) -> list[Any]:
    values: list[Any] | None = None
    try:
        values = column.to_pylist()
    except UnicodeDecodeError:
        values = None
    if values is None:
        rows = f"rows {row} to {row + len(column) - 1}"
        raise InputError(f"A string in {rows} of `{file}` is not valid UTF-8. Write the file again.")
    return values


def _vectors(file: PathLike, column: Any, row: int, width: int | None, name: str) -> Vectors:
    import pyarrow as pa

    column = column.storage if isinstance(column, pa.ExtensionArray) else column
    types = pa.types
    nested = (types.is_fixed_size_list, types.is_list, types.is_large_list)
    number = column.type.value_type if any(test(column.type) for test in nested) else None
    if number is None or not (types.is_floating(number) or types.is_integer(number)):
        raise InputError(
            f"The column `{name}` of `{file}` has to hold lists of numbers. Found {column.type}. Convert it."
        )
    if column.null_count:
        null = row + _first(column.is_null())
        raise VectorError(f"Row {null} of `{file}` has no vector (null). Fill it or leave it out.", null)
    lengths = column.value_lengths().to_numpy(zero_copy_only=False)
    width = int(lengths[0]) if width is None else width
    if width == 0 or (lengths != width).any():
        odd = row + int(np.argmax(lengths != (width or -1)))
        raise VectorError(
            f"Row {odd} of `{file}` has a vector of length {lengths[odd - row]}. All need one "
            f"length of at least 1; the first has {width}.",
            odd,
        )
    values = column.flatten()
    if values.null_count:
        null = row + _first(values.is_null()) // width
        raise VectorError(f"Row {null} of `{file}` has a null number in its vector. Fill it.", null)
    return _native(values.to_numpy(zero_copy_only=False).reshape(len(column), width))


def _first(flags: Any) -> int:
    return int(np.argmax(flags.to_numpy(zero_copy_only=False)))


def _native(array: NDArray[Any]) -> Vectors:
    """A copy in memory, as float32 where that loses nothing and as float64 otherwise."""
    small = array.dtype.kind == "f" and array.dtype.itemsize <= 4
    if small:
        return np.array(array, np.float32, order="C")
    return np.array(array, np.float64, order="C")


def npy_shape(file: Path, zipped: bool) -> tuple[int, int]:
    """Return the rows and columns of an array file from its first bytes."""
    with open_binary(file, zipped) as handle:
        return _header(file, handle)[0]


def read_npy(file: Path, zipped: bool, size: int, start: int) -> Iterator[RowBatch]:
    """Yield the rows of an array file from `start` on, a block at a time."""
    with open_binary(file, zipped) as handle:
        (rows, width), by_column, kind = _header(file, handle)
        require_start(file, rows, start)
        if by_column and zipped:
            raise InputError(f"`{file}` is stored by columns, which cannot be streamed from gzip. Unzip it.")
        if by_column or not zipped:
            yield from _mapped(file, size, start)
            return
        line = width * kind.itemsize
        size = max(1, min(size, LARGEST_BATCH // line))
        skip = start * line
        while skip > 0 and (block := handle.read(min(skip, _WINDOW))):
            skip -= len(block)
        for row in range(start, rows, size):
            wanted = min(size, rows - row)
            data = handle.read(wanted * line)
            if len(data) < wanted * line:
                raise InputError(f"`{file}` ends before row {row + len(data) // line + 1}. Make it again.")
            yield RowBatch(row, vectors=_native(np.frombuffer(data, kind).reshape(wanted, width)))


def _mapped(file: Path, size: int, start: int) -> Iterator[RowBatch]:
    array: NDArray[Any] | None = None
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except ValueError:
        array = None
    if array is None:
        raise InputError(f"`{file}` is shorter than its header says. Make it again.")
    size = max(1, min(size, LARGEST_BATCH // (array.shape[1] * array.dtype.itemsize)))
    for row in range(start, len(array), size):
        yield RowBatch(row, vectors=_native(array[row : row + size]))


def _header(file: Path, handle: BinaryIO) -> tuple[tuple[int, int], bool, np.dtype[Any]]:
    """Shape, order and type, or a refusal: nothing but a plain table of numbers is read."""
    shape: tuple[int, ...] | None = None
    by_column, kind = False, np.dtype(np.float32)
    try:
        version = np.lib.format.read_magic(handle)
        first = np.lib.format.read_array_header_1_0
        header = first if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, by_column, kind = header(handle)
    except ValueError:
        shape = None
    if shape is None:
        raise InputError(f"`{file}` is not a .npy file, or it is damaged. Save it with numpy.save.")
    if kind.hasobject:
        raise InputError(
            f"`{file}` holds pickled objects, which are never read. Save it as an array of floats."
        )
    if kind.kind not in "fiu":
        raise InputError(f"`{file}` has to hold real numbers. Found {kind.name}. Convert it.")
    if len(shape) != 2 or min(shape) < 1:
        raise InputError(
            f"`{file}` has to hold an (n, d) array with rows and columns. "
            f"Found the shape ({', '.join(map(str, shape))}{',' * (len(shape) == 1)}). Reshape it."
        )
    if math.prod(shape) * kind.itemsize >= 1 << 63 or shape[1] > _WIDEST:
        raise InputError(f"`{file}` has a header with an impossible size. Save it with numpy.save.")
    return (shape[0], shape[1]), by_column, kind
