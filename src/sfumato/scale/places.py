"""Folders that a release reads and writes: on a disk, or behind an fsspec address such as s3://bucket/path.

A file written here appears whole or not at all. On a disk that is a hidden sibling, a sync and a hard link;
an object store makes an upload visible in one step by itself.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa

from sfumato.errors import InputError, MissingPackageError
from sfumato.files import atomic_file, require_place, write_atomic

LOCK = "_sfumato/lock"
_TEMPORARY = re.compile(r"\.(.+)\.[0-9a-f]{16}\.tmp")


class Folder(Protocol):
    """A folder of files, named by their path below it with slashes."""

    address: str
    shared: bool
    """Whether another process finds the same files there."""

    def names(self) -> list[str]:
        """Every file, in order; names that start with a dot or an underscore, and what is below, left out."""

    def state(self, name: str) -> dict[str, Any] | None:
        """What tells one version of a file from another without reading it; None when there is none."""

    def open(self, name: str) -> Any:
        """Open a file for reading at any place in it."""

    def new(self, name: str) -> Any:
        """Open a file for writing that appears whole at the end of the block; one that is there stays."""

    def write(self, name: str, data: bytes) -> None:
        """Write a small file in one step."""

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""

    def holds(self, name: str) -> bool:
        """Whether there is a file in a folder below this one."""

    def empty(self, name: str) -> None:
        """Delete a folder below this one with all that is in it, if it is there."""

    def sweep(self, names: Collection[str]) -> None:
        """Delete what killed runs left of these files half written."""

    def alone(self) -> Any:
        """Hold the folder for the length of a block, where the system can do that."""


def folder(address: str) -> Folder:
    """Return the folder at a path or an address."""
    kind, found, path = address.partition("://")
    if not found:
        return Disk(address)
    return Disk(path) if kind == "file" else Remote(address)


def _hidden(name: str) -> bool:
    return any(part.startswith((".", "_")) for part in name.split("/"))


class Disk:
    """A folder on a disk."""

    shared = True

    def __init__(self, address: str) -> None:
        self.address = os.path.abspath(address)
        self._root = Path(self.address)

    def names(self) -> list[str]:
        """Every file that is not hidden, in order."""
        found = (path.relative_to(self._root).as_posix() for path in self._root.rglob("*") if path.is_file())
        return sorted(name for name in found if not _hidden(name))

    def state(self, name: str) -> dict[str, Any] | None:
        """Size and time of the last change."""
        try:
            found = os.stat(self._root / name)
        except FileNotFoundError:
            return None
        return {"bytes": found.st_size, "modified": str(found.st_mtime_ns)}

    def open(self, name: str) -> Any:
        """Open a file for reading, without going through Python for each piece."""
        return pa.OSFile(str(self._root / name))

    def new(self, name: str) -> Any:
        """Open a file for writing that appears whole at the end of the block; one that is there stays."""
        return atomic_file(self._room(name), keep_existing=True)

    def write(self, name: str, data: bytes) -> None:
        """Write a small file in one step."""
        write_atomic(self._room(name), data)

    def _room(self, name: str) -> Path:
        """The path of a file, in folders that are there."""
        path = self._root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        (self._root / name).unlink(missing_ok=True)

    def holds(self, name: str) -> bool:
        """Whether there is a file in a folder below this one; a half-written one is none."""
        found = (path for path in (self._root / name).rglob("*") if path.is_file())
        return any(not path.name.startswith(".") for path in found)

    def empty(self, name: str) -> None:
        """Delete a folder below this one with all that is in it, if it is there."""
        shutil.rmtree(self._root / name, ignore_errors=True)

    def sweep(self, names: Collection[str]) -> None:
        """Delete what killed runs left of these files half written."""
        for left in self._root.rglob(".*.tmp"):
            found = _TEMPORARY.fullmatch(left.name)
            if found and (left.parent / found[1]).relative_to(self._root).as_posix() in names:
                left.unlink(missing_ok=True)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Refuse a second run into the same folder; a block that leaves no file leaves no folder."""
        require_place(self._root)
        lock, made = self._root / LOCK, not self._root.exists()
        handle = self._lock(lock)
        try:
            yield
        finally:
            self._clear(lock, made)
            handle.close()

    def _lock(self, path: Path) -> BinaryIO:
        while True:
            path.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # a run that ends may take the folder away in between
                handle = open(path, "ab")
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    handle.close()
                    raise InputError(
                        f"Another run is writing to {self.address}. Wait for it, or choose another folder."
                    ) from None
                except OSError:
                    pass  # some network file systems cannot lock
                if path.exists() and os.path.samestat(os.fstat(handle.fileno()), os.stat(path)):
                    return handle
                handle.close()

    def _clear(self, lock: Path, made: bool) -> None:
        if any(path.is_file() for path in lock.parent.rglob("*") if path != lock):
            return
        lock.unlink(missing_ok=True)
        top = self._root if made else lock.parent
        folders = (path for path in (top, *top.rglob("*")) if path.is_dir())
        for path in sorted(folders, key=lambda path: len(path.parts), reverse=True):
            with suppress(OSError):  # it is not empty
                path.rmdir()


class Remote:
    """A folder behind an fsspec address."""

    def __init__(self, address: str) -> None:
        try:
            import fsspec
        except ImportError:
            raise MissingPackageError("fsspec", "remote", "for addresses such as s3://") from None
        self.address = address.rstrip("/")
        kind = address.partition("://")[0]
        try:
            self._system, self._root = fsspec.core.url_to_fs(self.address)
        except (ValueError, ImportError) as error:
            raise InputError(f"{kind}:// addresses cannot be opened: {error}.") from None
        self._root = self._root.rstrip("/")
        self.shared = kind != "memory"

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def names(self) -> list[str]:
        """Every file that is not hidden, in order."""
        found = (str(path)[len(self._root) :].lstrip("/") for path in self._system.find(self._root))
        return sorted(name for name in found if not _hidden(name))

    def state(self, name: str) -> dict[str, Any] | None:
        """Size, and whatever the store has to tell versions apart."""
        try:
            found = self._system.info(self._path(name))
        except FileNotFoundError:
            return None
        stamps = (found.get(key) for key in ("ETag", "etag", "mtime", "LastModified", "created"))
        return {"bytes": found["size"], "modified": str(next(filter(None, stamps), ""))}

    def open(self, name: str) -> Any:
        """Open a file for reading."""
        return self._system.open(self._path(name), "rb")

    @contextmanager
    def new(self, name: str) -> Iterator[BinaryIO]:
        """Write to a local file first and upload it whole at the end of the block, unless there is one."""
        with tempfile.NamedTemporaryFile(prefix="sfumato-") as handle:
            yield handle  # type: ignore[misc]
            handle.flush()
            if self.state(name) is None:
                self._make_room(name)
                self._system.put_file(handle.name, self._path(name))

    def write(self, name: str, data: bytes) -> None:
        """Write a small file in one step."""
        self._make_room(name)
        self._system.pipe_file(self._path(name), data)

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        with suppress(FileNotFoundError):
            self._system.rm_file(self._path(name))

    def holds(self, name: str) -> bool:
        """Whether there is a file in a folder below this one."""
        return bool(self._system.find(self._path(name)))

    def empty(self, name: str) -> None:
        """Delete a folder below this one with all that is in it, if it is there."""
        with suppress(FileNotFoundError):
            self._system.rm(self._path(name), recursive=True)

    def sweep(self, names: Collection[str]) -> None:
        """Nothing half written is ever uploaded."""

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Object stores have no locks: two runs at once are the caller's to avoid."""
        yield

    def _make_room(self, name: str) -> None:
        self._system.makedirs(self._path(name).rpartition("/")[0], exist_ok=True)
