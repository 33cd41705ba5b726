"""Folders with SQLite databases that a stranger may have made, looked at before SQLite opens one."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from sfumato.errors import ArtifactError
from sfumato.files import PathLike

_JOURNAL = "-journal"
_SHARED_JOURNAL = bytes.fromhex("d9d505f920a163d7")
"""How a journal ends that names the journal of several databases."""


def refuse_traps(folder: PathLike) -> None:
    """Refuse a folder that leads out of itself: by links, or by a journal that has SQLite delete a file."""
    for place, folders, files in os.walk(folder, onerror=_unreadable):
        for name in (*folders, *files):
            found = Path(place, name)
            kind = found.lstat().st_mode
            if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
                raise refused(folder, "it holds links or other things that are not plain files")
            # After it has rolled such a journal back, SQLite deletes the file that the journal names.
            if name.endswith(_JOURNAL) and _ends_with(found, _SHARED_JOURNAL):
                raise refused(folder, "a journal in it names a file outside, which SQLite would delete")


def refuse_traps_beside(file: Path) -> None:
    """Refuse a database, or a file that SQLite keeps beside it, in the same way; it may be absent."""
    for end in ("", _JOURNAL, "-wal", "-shm"):
        found = file.with_name(file.name + end)
        if found.is_symlink() or (found.exists() and not found.is_file()):
            raise refused(file, "it, or a file beside it, is a link or not a plain file")
    journal = file.with_name(file.name + _JOURNAL)
    if journal.exists() and _ends_with(journal, _SHARED_JOURNAL):
        raise refused(file, "a journal beside it names a file, which SQLite would delete")


def refused(folder: PathLike, reason: str) -> ArtifactError:
    """The refusal of a folder that a stranger may have made."""
    return ArtifactError(
        f"`{folder}` is refused: {reason}. Use a folder that you made yourself, or a server."
    )


def _ends_with(file: Path, mark: bytes) -> bool:
    with file.open("rb") as handle:
        handle.seek(-min(len(mark), file.stat().st_size), os.SEEK_END)
        return handle.read() == mark


def _unreadable(error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        raise error
