"""Many records in one file, in the order of their ids: how a large change is written down until it is sent.

A file is written once and never changed. It begins with how many records there are and how long ids are, then
come all ids, all sizes, and all contents. It counts once the state names it; one that no state names was left
by a change that was undone, or has been sent.
"""

from __future__ import annotations

import os
import re
import secrets
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArtifactError

NAMED = re.compile(r"parcel-[0-9a-f]{16}")
_HEAD = struct.Struct("<8sQQ")
_MAGIC = b"sfparcl1"
_WIDEST_ID = 512


@dataclass(frozen=True, slots=True, eq=False)
class Parcel:
    """Where the records of one file lie."""

    path: Path
    ids: NDArray[np.bytes_]
    """`[n]` sorted."""
    ends: NDArray[np.int64]
    """`[n + 1]` where each content begins and the one before it ends."""

    @classmethod
    def write(cls, folder: Path, records: Mapping[str, bytes]) -> Parcel:
        """Write a new file; on disk once `sync` has returned."""
        names = np.array([each.encode() for each in records])
        order = np.argsort(names, kind="stable")
        contents = list(records.values())
        ids = names[order]
        sizes = np.array([len(contents[at]) for at in order], "<u8")
        head = _HEAD.pack(_MAGIC, len(ids), ids.dtype.itemsize) + ids.tobytes() + sizes.tobytes()
        path = folder / f"parcel-{secrets.token_hex(8)}"
        try:
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(head)
                file.writelines(contents[at] for at in order)
        except OSError as error:
            raise ArtifactError(
                f"Could not write `{path}`: {error.strerror or error}. Make room, and try again."
            ) from None
        return cls(path, ids, _ends(len(head), sizes))

    @classmethod
    def open(cls, path: Path) -> Parcel:
        """Read where records lie; a file that is cut is refused, and one that is gone raises as it is."""
        try:
            with open(path, "rb") as file:
                whole = os.fstat(file.fileno()).st_size
                magic, count, width = _HEAD.unpack(file.read(_HEAD.size).ljust(_HEAD.size, b"\0"))
                fits = magic == _MAGIC and 0 < width <= _WIDEST_ID and count * (width + 8) < whole
                ids = np.frombuffer(file.read(count * width if fits else 0), f"S{width}" if fits else "S1")
                sizes = np.frombuffer(file.read(count * 8 if fits else 0), "<u8")
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ArtifactError(f"`{path}` cannot be read: {error.strerror}. Restore the state.") from None
        ends = _ends(_HEAD.size + count * (width + 8) if fits else 0, sizes)
        if not fits or ends[-1] != whole:
            raise ArtifactError(f"`{path}` is refused: it is cut or damaged. Restore the state from a copy.")
        return cls(path, ids, ends)

    def sync(self) -> None:
        """Have all of it on disk."""
        file = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def __len__(self) -> int:
        return len(self.ids)

    def find(self, ids: list[str]) -> dict[str, bytes]:
        """The records with these ids that are here."""
        asked = np.array([each.encode() for each in ids])
        places = np.minimum(np.searchsorted(self.ids, asked), len(self.ids) - 1)
        there = np.flatnonzero(self.ids[places] == asked)
        found = self.read(places[there])
        return {ids[at]: content for at, content in zip(there, found, strict=True)}

    def read(self, places: NDArray[np.intp]) -> list[bytes]:
        """The contents at some places."""
        if not len(places):
            return []
        with open(self.path, "rb", buffering=0) as file:
            return [
                os.pread(file.fileno(), int(self.ends[at + 1] - self.ends[at]), int(self.ends[at]))
                for at in places
            ]


def _ends(start: int, sizes: NDArray[np.unsignedinteger]) -> NDArray[np.int64]:
    return start + np.concatenate([[0], np.cumsum(sizes.astype(np.int64))])
