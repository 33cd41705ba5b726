"""Files and folders as blocks of bytes: bounded, through no link, and nothing that is not a plain file."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from sfumato.errors import InputError

BLOCK = 4 << 20
MOST_FILES = 100_000
_PACKED = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"PK\x03\x04": "zip",
    b"\x04\x22\x4d\x18": "lz4",
    b"7z\xbc\xaf": "7z",
}


@dataclass(frozen=True, slots=True)
class PlainFile:
    """A file to be looked at."""

    path: Path
    bytes: int
    packed: str = ""
    """How the whole file is compressed, so that nothing can be seen in it."""


def plain_files(paths: Iterable[Path]) -> Iterator[PlainFile]:
    """Every plain file at or under some paths, each once; links, pipes and devices are passed over."""
    seen: set[tuple[int, int]] = set()
    for path in paths:
        if not os.path.lexists(path):
            raise InputError(f"`{path}` must be a file or a folder. There is nothing of that name.")
        for each in _under(path):
            status = os.lstat(each)
            if not stat.S_ISREG(status.st_mode) or (status.st_dev, status.st_ino) in seen:
                continue
            seen.add((status.st_dev, status.st_ino))
            if len(seen) > MOST_FILES:
                raise InputError(f"At most {MOST_FILES} files are looked at in one run. Name fewer paths.")
            yield PlainFile(each, status.st_size, _packed(each))


def _under(path: Path) -> Iterator[Path]:
    if path.is_symlink() or not path.is_dir():
        # One that is named is meant, also through a link.
        yield Path(os.path.realpath(path))
        return
    for folder, _, names in os.walk(path):
        yield from (Path(folder) / name for name in sorted(names))


def _packed(path: Path) -> str:
    start = next(blocks(path, 0, size=8), b"")[:8]
    return next((name for magic, name in _PACKED.items() if start.startswith(magic)), "")


def blocks(path: Path, overlap: int, *, size: int = BLOCK) -> Iterator[bytes]:
    """The bytes of a file, block by block; each begins with the last `overlap` bytes of the one before."""
    try:
        # Without waiting: a pipe may have taken the file's name since.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb", buffering=0) as file:
            kept = b""
            while read := file.read(size):
                yield kept + read
                kept = (kept + read)[-overlap:] if overlap else b""
    except OSError as error:
        raise InputError(
            f"`{path}` cannot be read: {error.strerror}. Give the rights, or leave it out."
        ) from None
