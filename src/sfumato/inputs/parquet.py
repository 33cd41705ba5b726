"""Parquet by record batch: looked through first, so that no file of a few bytes fills the memory."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from sfumato.errors import InputError
from sfumato.files import PathLike
from sfumato.inputs.base import LARGEST_BATCH, Need, RowBatch
from sfumato.inputs.columns import as_batch, require_start
from sfumato.inputs.names import SPANS, USUAL, ColumnNames, columns_found
from sfumato.inputs.pages import rows_at_once

# Column chunks are read through a window of this size, whatever their own.
_WINDOW = 1 << 20
_OBJECT = 64
"""Bytes that a value takes as a Python object."""


def open_parquet(file: Path) -> Any:
    """Open a Parquet file, to be closed by the caller."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return pq.ParquetFile(file, pre_buffer=False, buffer_size=_WINDOW)
    except pa.ArrowException:
        raise InputError(f"`{file}` is not a Parquet file, or it is damaged. Make it again.") from None


def read_parquet(
    file: Path,
    size: int,
    start: int,
    need: Need | None,
    columns: Collection[str] | None,
    names: ColumnNames = USUAL,
) -> Iterator[RowBatch]:
    """Yield the rows of a Parquet file from `start` on; row groups before it are not read."""
    import pyarrow as pa

    with open_parquet(file) as opened, file.open("rb") as handle:
        wanted = _wanted(file, opened.schema_arrow.names, need, columns, names)
        require_start(file, opened.metadata.num_rows, start)
        groups: list[int] = []
        row = 0
        for group in range(opened.num_row_groups):
            rows = opened.metadata.row_group(group).num_rows
            if groups or row + rows > start:
                groups.append(group)
            else:
                row += rows
        width: int | None = None
        try:
            for part in record_batches(file, handle, opened, size, groups, wanted, vector=names.vector):
                skipped, row = max(0, min(start - row, len(part))), row + len(part)
                part = part.slice(skipped)
                if len(part):
                    batch = as_batch(file, part, row - len(part), width, names)
                    width = None if batch.vectors is None else batch.vectors.shape[1]
                    yield batch
        except pa.ArrowException:
            raise InputError(f"`{file}` is damaged after row {row}. Make it again.") from None


def record_batches(
    file: PathLike,
    handle: BinaryIO,
    opened: Any,
    size: int,
    groups: Sequence[int],
    wanted: list[str],
    *,
    threads: bool = True,
    vector: str = USUAL.vector,
) -> Iterator[Any]:
    """Yield the rows of some row groups, at most `size` at a time and fewer where they are large.

    `opened` is the file as Arrow has it and `handle` the same file's bytes.
    """
    if groups:
        size = min(size, rows_at_once(file, handle, opened.metadata, groups, set(wanted)))
        for part in opened.iter_batches(size, list(groups), wanted, use_threads=threads):
            yield from _pieces(file, part, vector)


def _pieces(file: PathLike, part: Any, vector: str) -> Iterator[Any]:
    """The rows in pieces that are not too large once every row has its texts to itself."""
    size = sum(_unpacked(part.column(name), 0 if name == vector else _OBJECT) for name in part.schema.names)
    if size <= LARGEST_BATCH:
        yield part
    elif len(part) == 1:
        raise InputError(f"`{file}` has a row of {size >> 20} MiB, more than is read at once. Split it.")
    else:
        half = len(part) // 2
        yield from _pieces(file, part.slice(0, half), vector)
        yield from _pieces(file, part.slice(half), vector)


def _unpacked(column: Any, each: int) -> int:
    """Bytes of a column whose texts are written out, with `each` more for every value."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types, kind = pa.types, column.type
    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    if isinstance(column, pa.ExtensionArray):
        return _unpacked(column.storage, each)
    if types.is_dictionary(kind) and any(test(kind.value_type) for test in texts):
        lengths = pc.binary_length(column.dictionary).take(column.indices)
        return int(pc.sum(lengths).as_py() or 0) + each * len(column)
    if types.is_struct(kind):
        return sum(_unpacked(child, each) for child in column.flatten()) + each * len(column)
    if types.is_nested(kind) and hasattr(column, "flatten"):
        return _unpacked(column.flatten(), each) + each * len(column)
    return int(column.nbytes) + each * len(column)


def _wanted(
    file: Path, there: list[str], need: Need | None, columns: Collection[str] | None, names: ColumnNames
) -> list[str]:
    """The columns to read, after a look at the schema."""
    sought = {"text": names.text, "embedding": names.vector}
    found = [name for kind, name in sought.items() if name in there and need in (None, kind)]
    # Of columns that were named one has to be there: others are not taken in their place unasked.
    given = [
        name for kind, name in names.to_dict().items() if need is None or (kind == "text") == (need == "text")
    ]
    if not found or (given and not set(given) & set(found)):
        asked = f"`{sought[need]}`" if need else f"`{names.text}` or `{names.vector}`"
        option = {"text": "--text-column", "embedding": "--vector-column"}.get(str(need), "")
        raise InputError(
            f"`{file}` has no column {asked}. {columns_found(there)}. Name one with "
            f"{option or '--text-column or --vector-column'}."
        )
    missing = sorted(set(columns or ()) - set(there))
    if missing:
        raise InputError(f"`{file}` has no column `{missing[0]}`. {columns_found(there)}. Name one of them.")
    others = [name for name in there if name not in names.own and name in (columns or there)]
    spans = [SPANS] if names.text in found and SPANS in there else []
    return found + spans + ([] if columns is not None and not columns else others)
