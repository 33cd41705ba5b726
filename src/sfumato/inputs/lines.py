"""Files made of lines: .txt, .jsonl, .csv and .tsv, each turned into records.

Errors that carry the content (a decode error holds the whole line) are dropped before anything is raised, so
that no traceback can show it.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from sfumato.concepts.base import Span
from sfumato.errors import InputError
from sfumato.inputs.base import checked_spans, encodable
from sfumato.inputs.names import SPANS, ColumnNames, columns_found, look_like_names, no_column

Line = tuple[int, str]

_LONGEST = 1 << 24
_OBJECTS = 16
"""How many times as much memory values of JSON can take as their characters."""


class FileRow(NamedTuple):
    """One row: its text, its spans where the row has that field, and the other fields."""

    text: str
    spans: list[Span] | None
    others: dict[str, Any]
    size: int = 0
    """About how many characters it takes in memory."""


def open_binary(file: Path, zipped: bool) -> BinaryIO:
    """Open a file for reading, through gzip where its name says so."""
    return cast("BinaryIO", gzip.open(file, "rb")) if zipped else file.open("rb")


def lines(file: Path, zipped: bool) -> Iterator[Line]:
    """Yield the lines, counted from 1; only a line feed ends one, so other separators stay in the text."""
    with open_binary(file, zipped) as handle:
        for number in itertools.count(1):
            raw = handle.readline(_LONGEST)
            if not raw:
                return
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")  # a byte order mark
            wrong = "is not valid UTF-8"
            text = ""
            with contextlib.suppress(UnicodeDecodeError):
                text, wrong = raw.decode(), ""
            if b"\0" in raw:
                wrong = "holds binary data"
            elif len(raw) >= _LONGEST:
                raise _too_long(file, number)
            if wrong:
                raise InputError(f"Line {number} of `{file}` {wrong}. Save the file as plain UTF-8 text.")
            yield number, text.removesuffix("\n").removesuffix("\r")


def _too_long(file: Path, number: int) -> InputError:
    return InputError(f"Line {number} of `{file}` makes a row of more than {_LONGEST >> 20} MiB. Split it.")


def _txt(file: Path, found: Iterator[Line], names: ColumnNames) -> Iterator[FileRow]:
    return (FileRow(line, None, {}, len(line)) for _, line in found)


def _jsonl(file: Path, found: Iterator[Line], names: ColumnNames) -> Iterator[FileRow]:
    for number, line in found:
        if not line.strip():
            continue
        record: Any = None
        wrong = f'is not valid JSON. Write one {{"{names.text}": ...}} object a line'
        with contextlib.suppress(ValueError, RecursionError):
            record = json.loads(line)
            wrong = _wrong_record(record, names.text)
        if wrong:
            raise InputError(f"Line {number} of `{file}` {wrong}.")
        text, spans = record.pop(names.text), None
        size = len(text) + _OBJECTS * (len(line) - len(text))
        if SPANS in record:
            spans = checked_spans(record.pop(SPANS), text, f"Line {number} of `{file}`")
        yield FileRow(text, spans, record, size)


def _wrong_record(record: Any, name: str) -> str:
    """What is wrong with a line, and what to do; nothing for a good one."""
    advice = f'Write one {{"{name}": ...}} object a line'
    if not isinstance(record, dict):
        return f"has to be a JSON object. Found {type(record).__name__}. {advice}"
    if name not in record:
        # Keys that are no plain words may be content.
        shown = columns_found(record) if look_like_names(list(record), ["a row"]) else f"It has {len(record)}"
        return f"has no `{name}`. {shown}. Name the field of the texts with --text-column"
    text = record[name]
    if not isinstance(text, str):
        found = "null" if text is None else type(text).__name__
        return f"has to have a string as `{name}`. Found {found}. {advice}"
    return "" if encodable(text) else f"has a `{name}` with half of a surrogate pair. {advice}"


def _csv(file: Path, found: Iterator[Line], names: ColumnNames) -> Iterator[FileRow]:
    # The limit holds for the whole process and its default is 128 kB a field: it is only ever raised.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST))
    taken = 0

    def fed() -> Iterator[str]:
        nonlocal taken
        for number, line in found:
            # Fields in quotes may span lines, and a record any number of those.
            taken += len(line) + 1
            if taken > _LONGEST:
                raise _too_long(file, number)
            yield line + "\n"

    rows = csv.reader(fed(), strict=True)

    def values() -> Iterator[tuple[int, list[str] | None]]:
        nonlocal taken
        while True:
            row, taken = None, 0
            try:
                row = next(rows)
            except StopIteration:
                return
            except csv.Error:
                row = None
            yield rows.line_num, row

    return _named(file, values(), names.text)


def _tsv(file: Path, found: Iterator[Line], names: ColumnNames) -> Iterator[FileRow]:
    # The format has no quotes: a field that starts with one just starts with one.
    rows = ((number, line.split("\t") if line else []) for number, line in found)
    return _named(file, rows, names.text)


def _named(file: Path, rows: Iterator[tuple[int, list[str] | None]], name: str) -> Iterator[FileRow]:
    """Give the fields of each row the names in the first one."""
    names: list[str] = []
    for number, row in rows:
        if row is None:
            raise InputError(
                f"Line {number} of `{file}` breaks the rules of CSV. Quote each field that holds a comma, a "
                "quote or a line break, and double the quotes inside it."
            )
        if not names:
            if row.count(name) != 1 or len(set(row)) < len(row):
                raise _no_header(file, row, next(rows, (0, None))[1], name)
            names = row
        elif len(row) == len(names):
            fields = dict(zip(names, row, strict=True))
            yield FileRow(fields.pop(name), None, fields, sum(map(len, row)))
        elif row:
            raise InputError(
                f"Line {number} of `{file}` has to have {len(names)} fields. Found {len(row)}. Correct it."
            )


def _no_header(file: Path, first: list[str], following: list[str] | None, name: str) -> InputError:
    """What is wrong with a first line; if that may be content, it is counted and not shown."""
    if look_like_names(first, following):
        return no_column(file, name, first, "--text-column")
    return InputError(
        f"`{file}` has to start with a line of different column names, one of them `{name}`. Found "
        f"{len(first)} names, {first.count(name)} of them `{name}`. Correct that line, or name the column "
        "of the texts with --text-column."
    )


RECORDS: dict[str, Callable[[Path, Iterator[Line], ColumnNames], Iterator[FileRow]]] = {
    ".txt": _txt,
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".tsv": _tsv,
}
