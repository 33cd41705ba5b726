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
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from sfumato.concepts.base import Span
from sfumato.errors import InputError
from sfumato.inputs.base import checked_spans, encodable

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


def _txt(file: Path, found: Iterable[Line]) -> Iterator[FileRow]:
    return (FileRow(line, None, {}, len(line)) for _, line in found)


def _jsonl(file: Path, found: Iterable[Line]) -> Iterator[FileRow]:
    for number, line in found:
        if not line.strip():
            continue
        record: Any = None
        wrong = "is not valid JSON"
        with contextlib.suppress(ValueError, RecursionError):
            record = json.loads(line)
            wrong = _wrong_record(record)
        if wrong:
            raise InputError(f'Line {number} of `{file}` {wrong}. Write one {{"text": ...}} object a line.')
        text, spans = record.pop("text"), None
        size = len(text) + _OBJECTS * (len(line) - len(text))
        if "spans" in record:
            spans = checked_spans(record.pop("spans"), text, f"Line {number} of `{file}`")
        yield FileRow(text, spans, record, size)


def _wrong_record(record: Any) -> str:
    if not isinstance(record, dict):
        return f"has to be a JSON object. Found {type(record).__name__}"
    if "text" not in record:
        return "has no `text`"
    text = record["text"]
    if not isinstance(text, str):
        return f"has to have a string as `text`. Found {'null' if text is None else type(text).__name__}"
    return "" if encodable(text) else "has a `text` with half of a surrogate pair"


def _csv(file: Path, found: Iterable[Line]) -> Iterator[FileRow]:
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

    return _named(file, values())


def _tsv(file: Path, found: Iterable[Line]) -> Iterator[FileRow]:
    # The format has no quotes: a field that starts with one just starts with one.
    return _named(file, ((number, line.split("\t") if line else []) for number, line in found))


def _named(file: Path, rows: Iterable[tuple[int, list[str] | None]]) -> Iterator[FileRow]:
    """Give the fields of each row the names in the first one."""
    names: list[str] = []
    for number, row in rows:
        if row is None:
            raise InputError(
                f"Line {number} of `{file}` breaks the rules of CSV. Quote each field that holds a comma, a "
                "quote or a line break, and double the quotes inside it."
            )
        if not names:
            # Without a header this line is content, so what was found is counted and not shown.
            if row.count("text") != 1 or len(set(row)) < len(row):
                raise InputError(
                    f"`{file}` has to start with a line of different column names, one of them `text`. "
                    f"Found {len(row)} names, {row.count('text')} of them `text`. Add or correct that line."
                )
            names = row
        elif len(row) == len(names):
            fields = dict(zip(names, row, strict=True))
            yield FileRow(fields.pop("text"), None, fields, sum(map(len, row)))
        elif row:
            raise InputError(
                f"Line {number} of `{file}` has to have {len(names)} fields. Found {len(row)}. Correct it."
            )


RECORDS: dict[str, Callable[[Path, Iterable[Line]], Iterator[FileRow]]] = {
    ".txt": _txt,
    ".jsonl": _jsonl,
    ".csv": _csv,
    ".tsv": _tsv,
}
