"""Reading any input file by its name.

| file       | row                                                                                          |
|------------|----------------------------------------------------------------------------------------------|
| .txt       | one line, also an empty one                                                                  |
| .jsonl     | {"text": ..., "spans": [{"start", "end", "label"}], ...}; blank lines are passed over        |
| .csv, .tsv | a record with a `text` column; .csv may quote, .tsv never does                               |
| .parquet   | a `text` column, an `embedding` column of lists, or both; `spans` as in .jsonl               |
| .npy       | a row of an (n, d) array                                                                     |

All but .parquet may end in .gz. Errors count lines from 1 and rows from 0, and never show what they hold.
"""

from __future__ import annotations

import gzip
import itertools
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from sfumato.errors import InputError, ParameterError
from sfumato.files import PathLike
from sfumato.inputs.base import LARGEST_BATCH, Need, RowBatch
from sfumato.inputs.columns import npy_shape, read_npy, require_start
from sfumato.inputs.lines import RECORDS, FileRow, lines, open_binary
from sfumato.inputs.names import USUAL, ColumnNames, columns_found
from sfumato.inputs.parquet import open_parquet, read_parquet

# A character may take four bytes.
_MOST_CHARACTERS = LARGEST_BATCH // 4


def read(
    path: PathLike,
    *,
    batch: int = 1024,
    start: int = 0,
    need: Need | None = None,
    columns: Collection[str] | None = None,
    names: ColumnNames = USUAL,
) -> Iterator[RowBatch]:
    """Stream the rows of a file, with memory that does not grow with it.

    Args:
        path: The file; its ending says how it is read.
        batch: The most rows that come at once; fewer do where rows are very large.
        start: The first row wanted, to go on where an earlier run stopped.
        need: Read "text" or "embedding" only and refuse a file without; None takes what there is.
        columns: The other columns wanted; None takes all of them.
        names: What the columns of texts and of vectors are called; .txt and .npy have none.
    """
    if batch < 1 or start < 0:
        raise ParameterError(f"`batch` must be at least 1 and `start` at least 0. Found {batch} and {start}.")
    file, kind, zipped = _known(path)
    if kind == ".npy" and need == "text":
        raise InputError(f"`{file}` holds vectors, but texts are needed. Give a file with a text a row.")
    if kind in RECORDS and need == "embedding":
        raise InputError(f"`{file}` holds texts, but vectors are needed. Give a .npy or .parquet file.")
    if kind == ".npy":
        found = read_npy(file, zipped, batch, start)
    elif kind == ".parquet":
        found = read_parquet(file, batch, start, need, columns, names)
    else:
        records = RECORDS[kind](file, lines(file, zipped), names)
        found = _gathered(file, records, batch, start, columns, names.text)
    return _guarded(file, found, start)


def count(path: PathLike) -> int | None:
    """Return the number of rows where no row has to be parsed for it, else None."""
    file, kind, zipped = _known(path)
    with _reading(file):
        if kind == ".parquet":
            with open_parquet(file) as opened:
                return int(opened.metadata.num_rows)
        if kind == ".npy":
            return npy_shape(file, zipped)[0]
        if kind == ".txt" and not zipped:
            found, last = 0, b"\n"
            with open_binary(file, zipped) as handle:
                while block := handle.read(1 << 20):
                    found, last = found + block.count(b"\n"), block[-1:]
            return found + (last != b"\n")
    return None


def read_texts(path: PathLike, names: ColumnNames = USUAL) -> list[str]:
    """Return every text of a small file."""
    return [text for rows in read(path, need="text", columns=(), names=names) for text in rows.texts or ()]


def read_terms(path: PathLike) -> list[str]:
    """Return the terms of a file with one a line, each once; blank lines and # comments are ignored."""
    file = _existing(path)
    found = (line.strip() for _, line in lines(file, file.suffix.lower() == ".gz"))
    with _reading(file):
        terms = list(dict.fromkeys(line for line in found if line and not line.startswith("#")))
    if not terms:
        raise InputError(f"`{file}` has to hold at least one term. Found none. Write one a line.")
    return terms


def _known(path: PathLike) -> tuple[Path, str, bool]:
    """The file, its format and whether it is gzipped, by its name."""
    file = Path(path)
    zipped = file.suffix.lower() == ".gz"
    kind = (Path(file.stem) if zipped else file).suffix.lower()
    if kind not in (*RECORDS, ".parquet", ".npy"):
        raise InputError(
            f"`{file}` has to end in .txt, .jsonl, .csv, .tsv, .parquet or .npy, and .gz may follow. "
            f"Found {kind or 'no ending'}. Rename or convert it."
        )
    if kind == ".parquet" and zipped:
        raise InputError(f"`{file}` must not be gzipped: Parquet compresses itself. Unzip it.")
    return _existing(file), kind, zipped


def _existing(path: PathLike) -> Path:
    file = Path(path)
    if not file.is_file():
        found = "Found a folder" if file.is_dir() else "There is no such file"
        raise InputError(f"`{file}` has to be a file. {found}. Check the name.")
    if file.stat().st_size == 0:
        raise InputError(f"`{file}` is empty. Give a file with at least one row.")
    return file


@contextmanager
def _reading(file: Path) -> Iterator[None]:
    """Turn what a disk or a damaged archive may raise at any byte into one clear line."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InputError(f"`{file}` is not a gzip file, or it is damaged. Make it again.") from None
    except OSError as error:
        raise InputError(f"`{file}` cannot be read: {error.strerror or 'it is damaged'}.") from None


def _guarded(file: Path, batches: Iterator[RowBatch], start: int) -> Iterator[RowBatch]:
    empty = True
    with _reading(file):
        for batch in batches:
            empty = False
            yield batch
    if empty and start == 0:
        raise InputError(f"`{file}` holds no rows. Give a file with at least one.")


def _up_to(records: Iterator[FileRow], size: int) -> list[FileRow]:
    """The next records: so many, or fewer where they are long."""
    rows: list[FileRow] = []
    taken = 0
    for record in records:
        rows.append(record)
        taken += record.size
        if len(rows) == size or taken >= _MOST_CHARACTERS:
            break
    return rows


def _gathered(
    file: Path, records: Iterator[FileRow], size: int, start: int, columns: Collection[str] | None, text: str
) -> Iterator[RowBatch]:
    """Put records together to batches."""
    passed = sum(1 for _ in itertools.islice(records, start))
    require_start(file, passed, start)
    row = start
    while rows := _up_to(records, size):
        names = dict.fromkeys(name for record in rows for name in record.others)
        wanted = names if columns is None else [name for name in columns if name != text]
        missing = [name for name in wanted if name not in names]
        # A later batch may lack a field that only some JSON objects have.
        if missing and row == start:
            raise InputError(
                f"`{file}` has no column `{missing[0]}`. {columns_found(names)}. Name one of them."
            )
        marked = any(record.spans is not None for record in rows)
        yield RowBatch(
            row,
            texts=[record.text for record in rows],
            spans=[record.spans or [] for record in rows] if marked else None,
            columns={name: [record.others.get(name) for record in rows] for name in wanted},
        )
        row += len(rows)
