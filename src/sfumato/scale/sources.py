"""What a release reads: the Parquet files below a folder, cut into parts of whole row groups."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from sfumato.errors import InputError
from sfumato.inputs import RowBatch
from sfumato.inputs.columns import as_batch
from sfumato.inputs.lines import RECORDS
from sfumato.inputs.names import USUAL, ColumnNames, columns_found
from sfumato.inputs.parquet import record_batches
from sfumato.scale.places import Folder
from sfumato.scale.plan import ReleasePart

PART_ROWS = 1 << 16
_WINDOW = 1 << 20
_BATCH_NUMBERS = 1 << 23
_BATCH_ROWS = (256, 1 << 14)


def is_parquet_folder(source: str) -> bool:
    """Whether this is a folder of Parquet files, to be released row group by row group."""
    if "://" in source:
        return True
    found = Path(source)
    if not found.is_dir() or next(found.rglob("*.parquet"), None) is None:
        return False
    other = next((path for path in sorted(found.iterdir()) if _left_over(path)), None)
    if other is not None:
        raise InputError(
            f"A folder must hold Parquet files or other files, not both. Found {other.name} beside Parquet "
            f"files in {found.name}. Put one kind into a folder of its own."
        )
    return True


def _left_over(path: Path) -> bool:
    """Whether this is a file with rows that a release of Parquet files would pass over."""
    return path.is_file() and any(ending in path.suffixes for ending in (*RECORDS, ".npy"))


def files_of(source: Path, output: Path) -> list[tuple[Path, Path]]:
    """A file and its output; for a folder, each of its files and one of the same name in the output."""
    if not source.is_dir():
        return [(source, output)]
    files = sorted(path for path in source.iterdir() if path.is_file() and not path.name.startswith("."))
    if not files:
        raise InputError(f"{source.name} is a folder without files.")
    pairs = {output / (path.name.partition(".")[0] + ".parquet"): path for path in files}
    if len(pairs) < len(files):
        twice = next(path for path in files if path not in pairs.values())
        raise InputError(f"{source.name} holds several files named {twice.stem!r}. Rename all but one.")
    return [(path, to) for to, path in pairs.items()]


def _input_files(source: Folder) -> list[str]:
    """The Parquet files of a folder, in order."""
    found = [name for name in source.names() if name.lower().endswith(".parquet")]
    if not found:
        raise InputError(f"{source.address} holds no .parquet files. Check the address.")
    return found


def row_count(source: Folder) -> int:
    """How many rows the input files have, by their footers."""
    return sum(part.rows or 0 for part in cut(source, PART_ROWS))


def first_rows(source: Folder, rows: int, names: ColumnNames = USUAL) -> RowBatch:
    """The first rows of the first file that has any."""
    for name in _input_files(source):
        with source.open(name) as handle:
            opened = pq.ParquetFile(handle)
            columns = [each for each in names.own if each in opened.schema_arrow.names]
            groups = range(opened.num_row_groups)
            for batch in record_batches(name, handle, opened, rows, groups, columns, vector=names.vector):
                return as_batch(name, batch, 0, names=names)
    raise InputError(f"{source.address} has no rows. Nothing was released.")


def cut(source: Folder, part_rows: int, columns: Collection[str] = ()) -> Iterator[ReleasePart]:
    """Cut every input file into parts of whole row groups, each of at least `part_rows` rows but the last.

    A file that lacks one of the `columns` is refused.
    """
    for name in _input_files(source):
        try:
            with source.open(name) as handle:
                opened = pq.ParquetFile(handle)
                metadata, found = opened.metadata, opened.schema_arrow.names
                sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        except pa.ArrowException:
            raise InputError(f"`{name}` is not a Parquet file, or it is damaged. Make it again.") from None
        missing = next((column for column in columns if column not in found), None)
        if missing is not None:
            raise InputError(f"`{name}` has no column {missing!r}. {columns_found(found)}.")
        groups: list[int] = []
        first = rows = number = 0
        for group, size in enumerate(sizes):
            groups.append(group)
            rows += size
            if rows and (rows >= part_rows or group == len(sizes) - 1):
                yield ReleasePart(f"{name[:-8]}-{number:05d}.parquet", name, tuple(groups), first, rows)
                groups, first, rows, number = [], first + rows, 0, number + 1


def read_part(
    source: Folder, part: ReleasePart, wanted: Collection[str | None], vector: str = USUAL.vector
) -> Iterator[Any]:
    """Read the wanted columns of a part, a batch at a time."""
    try:
        with source.open(part.source) as handle:
            opened = pq.ParquetFile(handle, pre_buffer=False, buffer_size=_WINDOW)
            columns = [name for name in opened.schema_arrow.names if name in wanted]
            rows = _batch_rows(opened.schema_arrow, vector)
            yield from record_batches(
                part.source, handle, opened, rows, part.groups, columns, threads=False, vector=vector
            )
    except pa.ArrowException:
        raise InputError(f"`{part.source}` is damaged. Make it again.") from None


def _batch_rows(schema: Any, vector: str) -> int:
    """How many rows to hold at once: fewer the longer the vectors are."""
    width = 0
    if vector in schema.names:
        width = getattr(schema.field(vector).type, "list_size", 0)
    return max(_BATCH_ROWS[0], min(_BATCH_ROWS[1], _BATCH_NUMBERS // (width or 2048)))
