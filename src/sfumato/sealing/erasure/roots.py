"""The roots that salts lie under: a folder where the newest root counts and every other one is destroyed."""

from __future__ import annotations

import contextlib
import fcntl
import hmac
import os
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from sfumato.accounting.keys import KEY_BYTES, read_private
from sfumato.errors import ArtifactError, InputError
from sfumato.files import PathLike

_ROOT = re.compile(r"shred-root-(\d{1,15})")
_SALTS = re.compile(r"salts-(\d{1,15})")
_HALF_ROOT = re.compile(r"\.shred-root-\d+\.[0-9a-f]+\.tmp")
_HALF_SALTS = re.compile(r"\.salts-\d+\.[0-9a-f]+\.tmp")
_LOCK = "salts.lock"


class RootFolder:
    """`shred-root-N` and `salts-N` of the present generation, and for moments those of the next.

    Salts are written before their root and removed after it, so that the newest root always has its salts.
    """

    def __init__(self, folder: PathLike) -> None:
        self.path = Path(folder)
        try:
            self.path.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise InputError(f"The folder {self.path} cannot be made: {error.strerror}.") from None

    def root(self, generation: int) -> Path:
        """Where a generation's root lies."""
        return self.path / f"shred-root-{generation}"

    def salts(self, generation: int) -> Path:
        """Where a generation's salts lie."""
        return self.path / f"salts-{generation}"

    def all_salts(self) -> list[Path]:
        """Every file of salts, also one that never got its root."""
        return [self.path / name for name in self._names(_SALTS)]

    def newest(self) -> int | None:
        """The present generation, if there is one."""
        found = (_ROOT.fullmatch(name) for name in self._names(_ROOT))
        return max((int(each[1]) for each in found if each), default=None)

    def read(self, generation: int) -> bytes:
        """The root of a generation: 32 bytes that lie in this very folder, closed to others."""
        path = self.root(generation)
        if path.is_symlink():
            raise ArtifactError(f"The root of salts {path} must lie here, to be overwritten. Found a link.")
        root, _ = read_private(path, KEY_BYTES + 1, "root of salts")
        if len(root) != KEY_BYTES:
            raise ArtifactError(f"The root of salts {path} must have {KEY_BYTES} bytes. Found {len(root)}.")
        return root

    def write(self, root: bytes, generation: int) -> None:
        """Put a root into its place, whole; from then on its generation is the present one."""
        half = self.path / f".shred-root-{generation}.{secrets.token_hex(8)}.tmp"
        try:
            with os.fdopen(os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                file.write(root)
                file.flush()
                os.fsync(file.fileno())
            os.rename(half, self.root(generation))
            self._sync()
        except OSError as error:
            with contextlib.suppress(OSError):
                destroy_root(half)
            raise ArtifactError(
                f"Could not write a root in {self.path}: {error.strerror or error}. Make room, and try again."
            ) from None

    def sweep(self, generation: int) -> None:
        """Destroy every root but this generation's, then remove the salts that were under them."""
        try:
            for kinds, kept, remove in (
                ((_ROOT, _HALF_ROOT), self.root(generation), destroy_root),
                ((_SALTS, _HALF_SALTS), self.salts(generation), os.unlink),
            ):
                others = {name for kind in kinds for name in self._names(kind)} - {kept.name}
                for name in others:
                    remove(self.path / name)
                if others:
                    self._sync()
        except OSError as error:
            raise ArtifactError(
                f"An old root in {self.path} could not be destroyed: {error.strerror or error}. "
                "What was erased can be recovered until it is: erase again."
            ) from None

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes out."""
        try:
            lock = os.open(self.path / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InputError(f"The folder {self.path} cannot be written: {error.strerror}.") from None
        try:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
            except OSError as error:
                raise InputError(
                    f"The folder {self.path} must be on a file system with locks: {error.strerror}."
                ) from None
            try:
                yield
            finally:
                # Closing alone would leave the lock with any child forked meanwhile.
                fcntl.flock(lock, fcntl.LOCK_UN)
        finally:
            os.close(lock)

    def _names(self, kind: re.Pattern[str]) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.path) if kind.fullmatch(name))
        except OSError as error:
            raise InputError(f"The folder {self.path} cannot be read: {error.strerror}.") from None

    def _sync(self) -> None:
        folder = os.open(self.path, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def fingerprint(root: bytes) -> str:
    """A name for a root (16 hex digits) that is safe to store and to print."""
    return hmac.digest(root, b"sfumato shred root", "sha256")[:8].hex()


def destroy_root(path: Path) -> None:
    """Overwrite a root where it lies, and remove it."""
    handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW)
    try:
        os.pwrite(handle, bytes(KEY_BYTES), 0)
        os.fsync(handle)
    finally:
        os.close(handle)
    os.unlink(path)
