"""Standard input as the protocol reads it: a message a line, none longer than a memory can need."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO

import anyio.to_thread

LONGEST_LINE = 1 << 22
"""Bytes of a message: the longest call there is, with every character escaped, has 3 MB."""


class BoundedLines:
    """Lines of a file without end; one that is too long is passed over, and becomes an empty one.

    Args:
        file: where they come from.
        on_long: called for each that was passed over.
        longest: bytes of a line, at most.
    """

    def __init__(self, file: BinaryIO, on_long: Callable[[], None], longest: int = LONGEST_LINE) -> None:
        self._file, self._on_long, self._longest = file, on_long, longest

    def __aiter__(self) -> BoundedLines:
        return self

    async def __anext__(self) -> str:
        """The next line; the thread that waits for it is left alone when the server stops."""
        line: str | None = await anyio.to_thread.run_sync(self.next_line, abandon_on_cancel=True)
        if line is None:
            raise StopAsyncIteration
        return line

    def next_line(self) -> str | None:
        """The next line, or None at the end."""
        line = self._file.readline(self._longest + 1)
        if not line:
            return None
        if len(line) <= self._longest:
            return line.decode(errors="replace")
        while line and not line.endswith(b"\n"):
            line = self._file.readline(self._longest)
        self._on_long()
        return "\n"
