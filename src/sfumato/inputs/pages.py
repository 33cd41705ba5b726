"""How far a Parquet file can grow, by the headers of its pages, before any page is unpacked.

The footer says what it likes about sizes; what is unpacked follows the pages. Their headers are Thrift's
compact protocol, of which the few fields that matter are read here.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from sfumato.errors import InputError
from sfumato.inputs.base import LARGEST_BATCH

_LARGEST_PAGES = 1 << 29
"""Bytes of the pages, one of each column, that are unpacked at a time."""
_LARGEST_DICTIONARY = 1 << 26
_LARGEST_LISTS = 1 << 28
_GROWTH = 32
"""How many times larger than in the file lists may become that are larger than _LARGEST_LISTS."""
_FREE_VALUES, _VALUES_A_BYTE = 1 << 28, 4096
_HEADER = 1 << 12
_LARGEST_HEADER = 1 << 20
_WIDTHS = {"BOOLEAN": 1, "INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8, "BYTE_ARRAY": 4}
_DATA, _DICTIONARY, _DATA_2 = 5, 7, 8
_PREFIXED = 7
_INDEXED = (2, 8)
_LENGTH = struct.Struct("<I").unpack_from
_CODECS = {"LZ4": "lz4_raw"}


@dataclass(frozen=True, slots=True)
class Page:
    """What the header of a page says."""

    size: int
    """Bytes once it is unpacked."""
    values: int
    encoding: int
    is_dictionary: bool
    place: int
    """Where it begins behind its header, and how long it is there."""
    packed: int


def rows_at_once(
    file: object, handle: BinaryIO, metadata: Any, groups: Sequence[int], wanted: set[str]
) -> int:
    """The most rows that can be read at once; a file that grows beyond all bounds is refused."""
    most = 1 << 30
    for group in groups:
        found = metadata.row_group(group)
        row_bytes, pages = 0.0, 0
        for number in range(found.num_columns):
            chunk = found.column(number)
            if chunk.path_in_schema.partition(".")[0] in wanted:
                whole, each = _column(file, handle, chunk, metadata.schema.column(number), found.num_rows)
                pages, row_bytes = pages + whole, row_bytes + each
        if pages > _LARGEST_PAGES:
            raise _grows(file, f"pages of {pages >> 20} MiB")
        most = min(most, max(1, int(LARGEST_BATCH / max(row_bytes, 1.0))))
    return most


def _column(file: object, handle: BinaryIO, chunk: Any, column: Any, rows: int) -> tuple[int, float]:
    """Bytes of the largest pages of a column chunk, and the most bytes that a row of it takes on average."""
    first = chunk.data_page_offset
    if chunk.has_dictionary_page and 0 < chunk.dictionary_page_offset < first:
        first = chunk.dictionary_page_offset
    largest, keys, longest, values, row_bytes = 0, 0, 0, 0, 0.0
    width = column.length if column.physical_type == "FIXED_LEN_BYTE_ARRAY" else _WIDTHS[column.physical_type]
    for page in pages_of(file, handle, first, chunk.total_compressed_size):
        if page.is_dictionary:
            keys = max(keys, page.size)
            if column.physical_type == "BYTE_ARRAY":
                longest = max(longest, _longest_key(handle, page, chunk.compression))
            continue
        largest, values = max(largest, page.size), values + page.values
        if column.physical_type == "BYTE_ARRAY":
            # With shared prefixes each value can be as long as the page.
            share = 1 if page.encoding == _PREFIXED else max(page.values, 1)
            row_bytes = max(row_bytes, longest if page.encoding in _INDEXED else page.size / share)
    values, packed = max(values, chunk.num_values), chunk.total_compressed_size
    if values > max(_FREE_VALUES, _VALUES_A_BYTE * packed):
        raise _grows(file, f"{values} values")
    value_bytes = max(row_bytes, width)
    # All values of lists may belong to one row, which is read whole.
    whole = int(values * max(value_bytes, 8))
    if column.max_repetition_level and whole > max(_LARGEST_LISTS, _GROWTH * packed):
        raise _grows(file, f"lists of {whole >> 20} MiB")
    return largest + keys, value_bytes * max(1.0, values / max(rows, 1))


def _longest_key(handle: BinaryIO, page: Page, codec: str) -> int:
    """The length of the longest text in a dictionary page; the page's own where it cannot be looked into."""
    import pyarrow as pa

    if page.size > _LARGEST_DICTIONARY:
        return page.size
    handle.seek(page.place)
    data = memoryview(handle.read(page.packed))
    try:
        if codec != "UNCOMPRESSED":
            data = memoryview(pa.decompress(data, page.size, _CODECS.get(codec, codec.lower()), asbytes=True))
    except (pa.ArrowException, ValueError, OSError):
        return page.size
    place, last, longest = 0, len(data) - 4, 0
    while place <= last:
        (length,) = _LENGTH(data, place)
        place += length + 4
        if length > longest:
            longest = length
    return min(longest, page.size)


def pages_of(file: object, handle: BinaryIO, first: int, size: int) -> Iterator[Page]:
    """The pages of a column chunk, by their headers."""
    place, end = first, first + size
    while place < end:
        fields, length = _header(file, handle, place)
        data = fields.get(_DATA) or fields.get(_DATA_2) or {}
        encoding = data.get(4 if _DATA_2 in fields else 2, 0)
        unpacked, packed = fields.get(2, -1), fields.get(3, -1)
        if min(unpacked, packed, data.get(1, 0)) < 0 or place + length + packed > end:
            raise _damaged(file)
        yield Page(unpacked, data.get(1, 0), encoding, _DICTIONARY in fields, place + length, packed)
        place += length + packed


def _header(file: object, handle: BinaryIO, place: int) -> tuple[dict[int, Any], int]:
    wanted = _HEADER
    while wanted <= _LARGEST_HEADER:
        handle.seek(place)
        data = io.BytesIO(handle.read(wanted))
        try:
            return _struct(data, 0), data.tell()
        except EOFError:
            # The smallest and largest value stand in a header too.
            wanted *= 16
    raise _damaged(file)


def _struct(data: io.BytesIO, depth: int) -> dict[int, Any]:
    fields: dict[int, Any] = {}
    number = 0
    while kind := _byte(data):
        number = number + (kind >> 4) if kind >> 4 else _zigzag(data)
        fields[number] = _value(data, kind & 15, depth)
    return fields


def _value(data: io.BytesIO, kind: int, depth: int) -> Any:
    if kind in (1, 2):
        return kind == 1
    if kind in (4, 5, 6):
        return _zigzag(data)
    if kind == 12 and depth < 8:
        return _struct(data, depth + 1)
    length = {3: 1, 7: 8}.get(kind)
    if length is None and kind != 8:
        raise EOFError
    length = _varint(data) if length is None else length
    if len(data.read(length)) < length:
        raise EOFError
    return None


def _byte(data: io.BytesIO) -> int:
    found = data.read(1)
    if not found:
        raise EOFError
    return found[0]


def _varint(data: io.BytesIO) -> int:
    value = 0
    for shift in range(0, 70, 7):
        found = _byte(data)
        value |= (found & 127) << shift
        if found < 128:
            return value
    raise EOFError


def _zigzag(data: io.BytesIO) -> int:
    value = _varint(data)
    return (value >> 1) ^ -(value & 1)


def _grows(file: object, what: str) -> InputError:
    return InputError(
        f"`{file}` is refused: it would grow to {what} when it is read, out of all proportion to its size. "
        "Write it again with smaller row groups and pages."
    )


def _damaged(file: object) -> InputError:
    return InputError(f"`{file}` is damaged: a page of it cannot be read. Make it again.")
