"""The file of rows' salts: a sealed header in whole pages, then sealed blocks of 1,024 bytes, 19 rows each.

Rows are only ever appended; leaving some out means writing a new file. No block crosses a page, so that one
that a stopped machine left unwritten is a block of zeros, and any other that does not open is damage.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sfumato.errors import ArtifactError, InputError
from sfumato.files import atomic_file
from sfumato.sealing.crypto.envelope import OVERHEAD, Bound, Envelope
from sfumato.sealing.erasure.salts import ID_BYTES, SALT_BYTES, SaltedRows

_BLOCK = 1024
_ROWS = 19
_PLAIN = np.dtype(
    [
        ("count", "<u2"),
        ("ids", f"S{ID_BYTES}", (_ROWS,)),
        ("salts", "u1", (_ROWS, SALT_BYTES)),
        ("rest", "u1", (_BLOCK - OVERHEAD - 2 - _ROWS * (ID_BYTES + SALT_BYTES),)),
    ]
)
_PAGE = 4096
_SECTOR = 512
_MAGIC = b"sfmsalt1"
_LARGEST_HEADER = 1 << 24
_AT_ONCE = 4096
"""Blocks that are held in memory while a file is read or written."""


class SaltFile:
    """One generation's salts, sealed; callers see to it that one process at a time reads on or appends."""

    def __init__(self, path: Path, envelope: Envelope, generation: int) -> None:
        """Read the header of a file that is there."""
        self.path = path
        self.blocks = 0
        """How many have been read or written."""
        self._envelope = envelope
        self._generation = generation
        with _reading(path), open(path, "rb") as file:
            self._header = _header(file)
            self._start = _whole_pages(file.tell())
        (plain,) = envelope.open_all([self._header], [self._bound("header")])
        if plain is None:
            raise ArtifactError(
                f"The salts `{path}` must open under this key and root. They were changed, or have another: "
                "check the key."
            )
        self.notes: dict[str, Any] = json.loads(plain)
        """What was written down with the file."""
        self._name = str(self.notes["file"])
        self._looked: tuple[int, int, int] | None = None

    @classmethod
    def write(
        cls, path: Path, envelope: Envelope, generation: int, notes: Mapping[str, Any], rows: SaltedRows
    ) -> SaltFile:
        """Put a whole file at `path`: under its name it is always absent, the old or the new one."""
        bound = _bound_of("", generation, "header")
        # The name ties blocks to their file: there may have been another one under the same root.
        named = {**notes, "file": os.urandom(16).hex()}
        header = envelope.seal(json.dumps(named).encode(), bound)
        start = _MAGIC + len(header).to_bytes(4, "big") + header
        with atomic_file(path, permissions=0o600) as file:
            file.write(start.ljust(_whole_pages(len(start)), b"\0"))
            for part in _sealed_blocks(rows, 0, envelope, named["file"], generation):
                file.write(part)
        made = cls(path, envelope, generation)
        made.blocks = -(-len(rows.ids) // _ROWS)
        made._looked = _look(path)
        return made

    def rewritten(self, rows: SaltedRows) -> SaltFile:
        """A file with these rows in this one's place."""
        return SaltFile.write(self.path, self._envelope, self._generation, self.notes, rows)

    def unchanged(self) -> bool:
        """Whether the file looks as it did when it was last read or written."""
        try:
            return self._looked == _look(self.path)
        except OSError:
            return False

    def same(self) -> bool:
        """Whether the file is still this one, which may have grown, and not one that took its place."""
        with _reading(self.path), open(self.path, "rb") as file:
            return _header(file) == self._header

    def read_on(self) -> SaltedRows:
        """The rows behind those that are known; an append that was not finished is left out."""
        found: list[SaltedRows] = []
        with _reading(self.path), open(self.path, "rb") as file:
            file.seek(self._start + self.blocks * _BLOCK)
            while part := file.read(_AT_ONCE * _BLOCK):
                whole = [part[place : place + _BLOCK] for place in range(0, len(part) - _BLOCK + 1, _BLOCK)]
                bounds = [self._bound(str(self.blocks + row)) for row in range(len(whole))]
                plains = self._envelope.open_all(whole, bounds)
                good = next((row for row, plain in enumerate(plains) if plain is None), len(plains))
                found.append(_rows_of([plain for plain in plains[:good] if plain is not None]))
                self.blocks += good
                if good < len(plains):
                    self._refuse_damage([*whole[good:], *_rest(file)])
                    break
            self._looked = _look(self.path)
        return _joined(found)

    def append(self, rows: SaltedRows) -> None:
        """Write rows behind the others; they are on the disk when this returns, or are not there."""
        end = self._start + self.blocks * _BLOCK
        try:
            with open(self.path, "r+b") as file:
                try:
                    # An append that was not finished may lie there.
                    file.truncate(end)
                    file.seek(end)
                    for part in _sealed_blocks(
                        rows, self.blocks, self._envelope, self._name, self._generation
                    ):
                        file.write(part)
                    file.flush()
                    os.fsync(file.fileno())
                except OSError:
                    with suppress(OSError):
                        os.ftruncate(file.fileno(), end)
                    raise
        except OSError as error:
            raise ArtifactError(
                f"Could not write `{self.path}`: {error.strerror or error}. Make room, and try again."
            ) from None
        self.blocks += -(-len(rows.ids) // _ROWS)
        self._looked = _look(self.path)

    def sparse(self, rows: int) -> bool:
        """Whether a new file with this many rows would be much smaller: many were added one by one."""
        return self.blocks > 256 and self.blocks > 4 * (rows // _ROWS)

    def _bound(self, what: str) -> Bound:
        return _bound_of("" if what == "header" else self._name, self._generation, what)

    def _refuse_damage(self, blocks: Iterable[bytes]) -> None:
        """Refuse blocks that do not open and were written: a machine that stops leaves zeros."""
        for block in blocks:
            sectors = [block[place : place + _SECTOR] for place in range(0, len(block), _SECTOR)]
            if len(block) == _BLOCK and not any(not any(sector) for sector in sectors):
                raise ArtifactError(
                    f"The salts `{self.path}` are damaged behind block {self.blocks}. "
                    "Use a copy of the folder."
                )


def header_alone(path: Path) -> bool:
    """Whether a file of salts has no rows, so that nothing is lost with it."""
    with _reading(path), open(path, "rb") as file:
        _header(file)
        return os.fstat(file.fileno()).st_size <= _whole_pages(file.tell())


def _header(file: BinaryIO) -> bytes:
    start = file.read(len(_MAGIC) + 4)
    length = int.from_bytes(start[len(_MAGIC) :], "big")
    if not start.startswith(_MAGIC) or len(start) < len(_MAGIC) + 4 or length > _LARGEST_HEADER:
        raise ArtifactError(f"`{file.name}` must be a file of salts. Found something else. Check the folder.")
    return file.read(length)


def _look(path: Path) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns


def _bound_of(file: str, generation: int, what: str) -> Bound:
    return Bound(tenant="", collection=file, record_id=what, kind="salts", epoch=generation)


def _whole_pages(length: int) -> int:
    return -(-length // _PAGE) * _PAGE


def _sealed_blocks(
    rows: SaltedRows, first: int, envelope: Envelope, name: str, generation: int
) -> Iterator[bytes]:
    """Sealed blocks from number `first` on, some thousands at a time."""
    step = _AT_ONCE * _ROWS
    for start in range(0, len(rows.ids), step):
        ids, salts = rows.ids[start : start + step], rows.salts[start : start + step]
        blocks = np.zeros(-(-len(ids) // _ROWS), _PLAIN)
        blocks["count"] = _ROWS
        blocks["count"][-1] = len(ids) - _ROWS * (len(blocks) - 1)
        missing = len(blocks) * _ROWS - len(ids)
        blocks["ids"] = np.append(ids, np.zeros(missing, ids.dtype)).reshape(-1, _ROWS)
        filled = np.concatenate([salts, np.zeros((missing, SALT_BYTES), np.uint8)])
        blocks["salts"] = filled.reshape(-1, _ROWS, SALT_BYTES)
        plains = [block.tobytes() for block in blocks]
        number = first + start // _ROWS
        bounds = [_bound_of(name, generation, str(number + row)) for row in range(len(plains))]
        yield b"".join(envelope.seal_all(plains, bounds))


def _rows_of(plains: Sequence[bytes]) -> SaltedRows:
    blocks = np.frombuffer(b"".join(plains), _PLAIN)
    used = np.arange(_ROWS) < blocks["count"][:, None]
    return SaltedRows(blocks["ids"][used], blocks["salts"][used])


def _joined(parts: Sequence[SaltedRows]) -> SaltedRows:
    parts = parts or [_rows_of([])]
    return SaltedRows(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _rest(file: BinaryIO) -> Iterator[bytes]:
    while block := file.read(_BLOCK):
        yield block


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise InputError(f"The salts `{path}` cannot be read: {error.strerror}.") from None
