"""Lines of a stream as they come, such as standard input: whatever is there is handed on at once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from sfumato.errors import InputError
from sfumato.inputs.base import RowBatch

_READ = 1 << 16


class Stream(Protocol):
    """Bytes that come when they come."""

    def read1(self, size: int, /) -> bytes:
        """Return what is there, at most `size` bytes; wait only when there is nothing; empty at the end."""


def read_stream(stream: Stream, *, batch: int) -> Iterator[RowBatch]:
    """Yield the lines of a stream in batches, without waiting for a batch to fill up."""
    row, rest = 0, [b""]
    while block := stream.read1(_READ):
        *whole, last = block.split(b"\n")
        if whole:
            # Joined once a line ends: a long line would otherwise be copied again with every block.
            whole[0] = b"".join([*rest, whole[0]])
            rest = []
            for low in range(0, len(whole), batch):
                yield _decoded(whole[low : low + batch], row + low)
            row += len(whole)
        rest.append(last)
    if any(rest):
        yield _decoded([b"".join(rest)], row)


def _decoded(raw: list[bytes], first: int) -> RowBatch:
    texts: list[str] = []
    for number, line in enumerate(raw, first + 1):
        text = None if b"\0" in line else _text(line)
        if text is None:
            raise InputError(f"Line {number} of standard input is not plain UTF-8 text. Convert it.")
        texts.append(text)
    return RowBatch(first, texts=texts)


def _text(line: bytes) -> str | None:
    # A decode error carries the line, so that it ends here.
    try:
        return line.removesuffix(b"\r").decode()
    except UnicodeDecodeError:
        return None
