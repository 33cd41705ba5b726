"""The master key of sticky noise and of the ledger, and the rules that keys and their files keep to."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import os
import re
import secrets
import stat
import tempfile
from pathlib import Path
from typing import Any, NoReturn

from sfumato.errors import InputError, ParameterError, RandomnessError

KEY_BYTES = 32
_HEX = re.compile(r"[0-9a-fA-F]{64}")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{43}=?")
# 32 random bytes hold about 30 different values; a typed or placeholder key holds far fewer.
_FEWEST_DISTINCT = 8


class KeyHolder:
    """What holds a key and does not travel: neither copied nor pickled."""

    __slots__ = ()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse to travel: a copy of the key in a pickle would end up wherever the pickle does."""
        raise RandomnessError(
            f"A {type(self).__name__} cannot be copied or pickled: it holds a key. "
            "Read the key again from where it is kept."
        )


class Secret(KeyHolder):
    """A 32-byte master key that shows only its `key_id` and gives out only subkeys."""

    __slots__ = ("_key", "_key_id")

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            found = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
            raise ParameterError(f"A secret must be exactly {KEY_BYTES} bytes. Found {found}.")
        self._key = key
        self._key_id = hashlib.sha256(b"sfumato key id\0" + key).hexdigest()[:16]

    @classmethod
    def generate(cls) -> Secret:
        """Make a new secret from the operating system's randomness."""
        return cls(secrets.token_bytes(KEY_BYTES))

    @classmethod
    def from_file(cls, path: str | os.PathLike[str], create: bool = False) -> Secret:
        """Read a secret (hex or base64) from a file only its owner may read; `create` makes a missing one."""
        path = Path(path)
        if create and not path.exists():
            write_private(path, (secrets.token_bytes(KEY_BYTES).hex() + "\n").encode(), "secret file")
        content, _ = read_private(path, 1024, "secret file")
        return cls(_decode(content.decode("ascii", errors="replace"), f"The secret file {path}"))

    @classmethod
    def from_env(cls, name: str = "SFUMATO_SECRET") -> Secret:
        """Read a secret (hex or base64) from an environment variable."""
        value = os.environ.get(name)
        if value is None:
            raise InputError(f"The environment variable {name} is not set. Set it to 32 random bytes in hex.")
        return cls(_decode(value, f"The environment variable {name}"))

    @property
    def key_id(self) -> str:
        """A name for this key (16 hex digits) that is safe to store and to print."""
        return self._key_id

    def derive(self, label: bytes) -> bytes:
        """Return the subkey for `label`: HMAC-SHA256 of the label under the master key."""
        if not isinstance(label, bytes) or not label:
            raise ParameterError("`label` must be non-empty bytes.")
        return hmac.digest(self._key, label, "sha256")

    def __repr__(self) -> str:
        """Show the key's id and never the key."""
        return f"Secret(key_id={self._key_id!r})"


def may_be_key(text: str) -> bool:
    """Whether a text is written as a key is, so that it must not be shown."""
    bare = text.strip().removeprefix("0x")
    return bool(_HEX.fullmatch(bare) or _BASE64.fullmatch(bare))


def require_private(status: os.stat_result, path: Path) -> None:
    """Refuse anything but a plain file of the user or of root that its owner alone may read and write."""
    if not stat.S_ISREG(status.st_mode):
        raise InputError(f"{path} must be a plain file.")
    # Windows keeps access rights elsewhere and reports every file as readable by all.
    if os.name != "nt" and status.st_mode & 0o077:
        mode = stat.S_IMODE(status.st_mode)
        raise InputError(
            f"{path} must be closed to group and others. Found mode {mode:04o}: run chmod 600 on it."
        )

    # Whoever owns a file may change it, and its mode, at any time.
    if os.name != "nt" and status.st_uid not in (os.geteuid(), 0):
        raise InputError(
            f"{path} must belong to the user who runs this, or to root. Found user {status.st_uid}: "
            "copy it, and close the copy to others."
        )


def read_private(path: Path, most: int, what: str) -> tuple[bytes, os.stat_result]:
    """The first `most` bytes of a file that its owner alone may read, and its status."""
    try:
        # Without waiting: opening a named pipe would hang.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            status = os.fstat(file.fileno())
            require_private(status, path)
            return file.read(most), status
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be read: {error.strerror}.") from None


def place_new(made: Path, path: Path) -> bool:
    """Give the finished file `made` its final name; false where another process took that name first."""
    placed = False
    try:
        # A hard link, unlike a rename, never replaces what is there already.
        with contextlib.suppress(FileExistsError):
            os.link(made, path)
            placed = True
    finally:
        made.unlink()
    if os.name != "nt":  # Windows cannot open a folder
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    return placed


def write_private(path: Path, content: bytes, what: str) -> bool:
    """Create `path` with mode 0600, whole or not at all; false where a file is there already: it stays."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".secret-")  # O_EXCL, mode 0600
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        return place_new(Path(name), path)
    except OSError as error:
        raise InputError(f"The {what} {path} cannot be created: {error.strerror}.") from None


def _decode(text: str, where: str) -> bytes:
    """Turn 64 hex digits, or 43 or 44 base64 characters, into 32 bytes."""
    text = text.strip()
    key = b""
    if _HEX.fullmatch(text):
        key = bytes.fromhex(text)
    elif _BASE64.fullmatch(text):
        with contextlib.suppress(binascii.Error):
            key = base64.urlsafe_b64decode(text.rstrip("=").replace("+", "-").replace("/", "_") + "=")
    if len(key) != KEY_BYTES:
        raise InputError(
            f"{where} must hold exactly {KEY_BYTES} bytes, as 64 hex digits or 44 base64 characters. "
            f"Found {len(text)} characters that are neither."
        )
    if len(set(key)) < _FEWEST_DISTINCT:
        raise InputError(f"{where} must hold random bytes. Found the same few repeated: make a new secret.")
    return key
