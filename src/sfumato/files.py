"""Files and folders that are never half written: temporary sibling, sync, rename, sync of the parent."""

from __future__ import annotations

import errno
import fcntl
import glob
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Container, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from sfumato.errors import ArtifactError

PathLike = str | os.PathLike[str]

_DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS})
_NO_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP})
_NO_LINK = frozenset({errno.EPERM, errno.ENOTSUP, errno.EMLINK})
_READ_TRIES = 20
LEAST_ROOM = 16 << 20
"""Bytes that have to be free where results are to be written."""
_TRIAL = 1 << 16


def require_place(path: PathLike) -> None:
    """Refuse an output in a folder that is not there: a slip in a path must not make folders of its own."""
    parent = Path(os.path.realpath(path)).parent
    if not parent.is_dir():
        raise ArtifactError(
            f"Could not write `{path}`: there is no folder `{parent}`. Make it, or choose another place."
        )


def require_room(path: PathLike, size: int = LEAST_ROOM) -> None:
    """Refuse, before any work, an output that could not be written: no folder, no right, no room.

    A few bytes are written beside it and go again: nothing else knows of quotas and read-only disks.
    """
    require_place(path)
    final = Path(os.path.realpath(path))
    if final.exists() and not final.is_file() and not final.is_dir():
        return  # a pipe or a device
    trial = final.with_name(f".{final.name[:100]}.{secrets.token_hex(8)}.tmp")
    with _writing(final):
        free = shutil.disk_usage(final.parent).free
        if free < size:
            raise ArtifactError(
                f"Could not write `{path}`: about {size >> 20} MiB are needed and {free >> 20} MiB are free. "
                "Make room, or choose another place."
            )
        try:
            trial.write_bytes(bytes(_TRIAL))
        finally:
            trial.unlink(missing_ok=True)


@contextmanager
def atomic_file(
    path: PathLike, *, permissions: int = 0o666, keep_existing: bool = False
) -> Iterator[BinaryIO]:
    """Open `path` for binary writing; the file appears whole at the end of the block, or not at all.

    With `keep_existing` a file that has the name by then stays as it is, and what was written is dropped.
    """
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        # A pipe or a device such as /dev/stdout: there is nothing to rename.
        with _writing(target, only=_DISK_ERRORS), open(target, "wb") as handle:
            yield handle
        return
    final = Path(os.path.realpath(target))
    temporary = final.with_name(f".{final.name}.{secrets.token_hex(8)}.tmp")
    with _writing(final):
        require_place(final)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, permissions)
    try:
        # Inside the block an error may have nothing to do with this file, such as a missing input.
        with _writing(final, only=_DISK_ERRORS), os.fdopen(descriptor, "wb") as handle:
            yield handle
        with _writing(final):
            if final.is_file():
                shutil.copymode(final, temporary)
            _sync(temporary)
            if keep_existing:
                _place(temporary, final)
            else:
                os.replace(temporary, final)
            _sync(final.parent)
    finally:
        temporary.unlink(missing_ok=True)


def _place(temporary: Path, final: Path) -> None:
    """Give a finished file its name, unless another file has it."""
    try:
        # A hard link, unlike a rename, never replaces what is there already.
        os.link(temporary, final)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in _NO_LINK:
            raise
        if not final.exists():
            os.rename(temporary, final)


def write_atomic(path: PathLike, data: bytes, *, permissions: int = 0o666) -> None:
    """Write a whole file in one step: under its name it is always absent, the old one or the new one."""
    with atomic_file(path, permissions=permissions) as handle:
        handle.write(data)


def replace_folder(folder: Path, contents: Mapping[str, bytes]) -> None:
    """Put a folder with exactly these files at `folder`: always absent, the old one or the new one."""
    with _writing(folder):
        require_place(folder)
        with _locked(folder.parent) as alone:
            refuse_foreign(folder, contents)
            if alone:
                for left_over in folder.parent.glob(glob.escape(f".{folder.name}.new-") + "*"):
                    shutil.rmtree(left_over, ignore_errors=True)
            fresh = folder.with_name(f".{folder.name}.new-{secrets.token_hex(8)}")
            fresh.mkdir()
            try:
                for name, content in contents.items():
                    (fresh / name).write_bytes(content)
                    _sync(fresh / name)
                _sync(fresh)
                _swap_in(fresh, folder)
            finally:
                # Already moved, unless something failed.
                shutil.rmtree(fresh, ignore_errors=True)


def read_folder(
    folder: Path,
    limits: Mapping[str, int | None],
    checks: Mapping[str, Callable[[BinaryIO, int], None]] | None = None,
) -> dict[str, bytes]:
    """The named files of one folder as they belong together, each under its limit in bytes.

    A check is given the open file and its size before the whole of it is read.
    """
    missing = "there is no such folder"
    try:
        # Again when a file vanished: another process may just be moving a new folder in.
        for _ in range(_READ_TRIES):
            for place in (folder, _aside(folder)):
                try:
                    opened = os.open(place, os.O_RDONLY | os.O_DIRECTORY)
                except FileNotFoundError:
                    continue
                try:
                    # Through one open folder: all files are of one save, even if it is moved meanwhile.
                    return {
                        name: _read(opened, name, limit, (checks or {}).get(name))
                        for name, limit in limits.items()
                    }
                except FileNotFoundError as error:
                    missing = f"{error.filename} is missing"
                    break
                finally:
                    os.close(opened)
    except OSError as error:
        raise ArtifactError(
            f"Could not read `{folder}`: {error.strerror}. Give a folder that can be read."
        ) from error
    raise ArtifactError(
        f"`{folder}` has to hold {' and '.join(limits)}, but {missing}. Check the name or save again."
    )


def _read(opened: int, name: str, limit: int | None, check: Callable[[BinaryIO, int], None] | None) -> bytes:
    # Without waiting: opening a named pipe would hang.
    descriptor = os.open(name, os.O_RDONLY | os.O_NONBLOCK, dir_fd=opened)
    with os.fdopen(descriptor, "rb") as handle:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise ArtifactError(f"`{name}` has to be a plain file. Found something else. Save it again.")
        if limit is not None and found.st_size > limit:
            raise ArtifactError(
                f"`{name}` has to stay under {limit} bytes. Found {found.st_size}. Save it again."
            )
        if check is not None:
            check(handle, found.st_size)
            handle.seek(0)
        return handle.read()


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.old")


def _swap_in(fresh: Path, folder: Path) -> None:
    aside = _aside(folder)
    if folder.exists():
        # Whatever an earlier, killed save left aside is out of date once `folder` itself is there.
        shutil.rmtree(aside, ignore_errors=True)
        os.chmod(fresh, stat.S_IMODE(folder.stat().st_mode) | stat.S_IRWXU)
        os.rename(folder, aside)
    try:
        os.rename(fresh, folder)
    except BaseException:
        if aside.exists() and not folder.exists():
            os.rename(aside, folder)
        raise
    _sync(folder.parent)
    shutil.rmtree(aside, ignore_errors=True)


def holds_files(folder: Path) -> bool:
    """Whether a folder, or what a killed save left aside of it, holds anything."""
    return any(place.is_dir() and any(place.iterdir()) for place in (folder, _aside(folder)))


def refuse_foreign(folder: Path, names: Container[str]) -> None:
    """Refuse to replace what holds anything but these files."""
    if not folder.exists():
        return
    if not folder.is_dir():
        raise ArtifactError(f"`{folder}` has to be a folder. Found a file. Choose another name.")
    foreign = sorted(name for name in os.listdir(folder) if name not in names)
    if foreign:
        raise ArtifactError(
            f"`{folder}` has to be new, empty or saved by Sfumato, because it is replaced whole. "
            f"Found {len(foreign)} other files in it, such as {foreign[0]!r}. Choose another folder."
        )


@contextmanager
def _locked(parent: Path) -> Iterator[bool]:
    opened = os.open(parent, os.O_RDONLY)
    try:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX)
        except OSError:
            # Some network file systems cannot lock a folder.
            yield False
            return
        try:
            yield True
        finally:
            # Closing alone would leave the lock with any child forked meanwhile.
            fcntl.flock(opened, fcntl.LOCK_UN)
    finally:
        os.close(opened)


def _sync(path: Path) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    except OSError as error:
        # Some file systems cannot sync a folder.
        if error.errno not in _NO_SYNC or not path.is_dir():
            raise
    finally:
        os.close(opened)


@contextmanager
def _writing(path: Path, only: Container[int | None] | None = None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if only is not None and error.errno not in only:
            raise
        raise ArtifactError(
            f"Could not write `{path}`: {error.strerror or error}. "
            "Make room, or choose a place you may write to."
        ) from error
