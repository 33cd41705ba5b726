"""Chroma's folders: what its graphs hold of this process's memory is overwritten.

For a new graph Chroma allocates room for 100 rows and writes it out as the allocator gave it
(`initPersistentIndex` of its hnswlib): whatever the process had freed there, such as texts and vectors that
Chroma had read from another folder. It does so whenever a collection is opened, also to be read, until the
first thousand rows have filled that room.
"""

from __future__ import annotations

import os
import stat
import struct
from pathlib import Path

from sfumato.files import PathLike

_HEAD = struct.Struct("<iQQQQQQ")
"""The format, an offset, room, rows, bytes of a row, the offset of its label, the offset of its vector."""
_FORMAT, _LABEL, _LENGTH = 1, 8, 4
_AT_ONCE = 1 << 20


def clear_room(folder: PathLike) -> int:
    """Overwrite the room of graphs that no row takes, in a folder that nobody has open; how many bytes."""
    cleared = 0
    for header in sorted(Path(folder).glob("*/header.bin")):
        # A folder is looked at for links when it is opened; one may have been put there since.
        if header.is_symlink() or header.parent.is_symlink():
            continue
        head = header.read_bytes()[: _HEAD.size]
        if len(head) < _HEAD.size:
            continue
        form, _, room, rows, size, label, _ = _HEAD.unpack(head)
        # What is laid out otherwise is left alone.
        if form == _FORMAT and rows <= room and size == label + _LABEL:
            for name, each in (("data_level0.bin", size), ("length.bin", _LENGTH)):
                cleared += _clear(header.parent / name, rows * each, room * each)
    return cleared


def _clear(path: Path, start: int, most: int) -> int:
    """Write zeros from a place on, as far as the file goes; through no link, into no file of two names."""
    try:
        handle = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    except OSError:
        # What is not there, or may not be written here, was not written here.
        return 0
    with open(handle, "r+b") as file:
        found = os.fstat(handle)
        end = found.st_size
        if not stat.S_ISREG(found.st_mode) or found.st_nlink != 1 or not start < end <= most:
            return 0
        file.seek(start)
        for at in range(start, end, _AT_ONCE):
            file.write(bytes(min(_AT_ONCE, end - at)))
    return end - start
