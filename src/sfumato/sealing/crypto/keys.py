"""The key of a sealed collection: a file that its owner alone may read, and one subkey for each purpose."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path
from typing import Literal, get_args

from cryptography.hazmat.primitives.hashes import SHA512
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from sfumato.accounting.keys import KEY_BYTES, KeyHolder, read_private, write_private
from sfumato.errors import InputError, ParameterError
from sfumato.files import PathLike

Purpose = Literal["seal", "address", "id", "name", "state", "check", "noise"]
"""What a subkey is for: records, addresses, users' ids, found names, the client's files, checks, noise."""

_HEADER = "sfumato-sealing-key-1"
_LINE = re.compile(rf"{_HEADER} ([0-9a-f]+) ([0-9a-f]+)")
_DIGITS = re.compile(r"(?:0x)?[0-9a-fA-F]{64}")
_LARGEST = 1024
_WHAT = "key file"


class SealingKey(KeyHolder):
    """32 random bytes that show only their `fingerprint` and give out only subkeys.

    The file is one line of text: a header, the key in hex, and a checksum that finds slips in a copy.
    Whoever loses it loses the collection: `confirm` tests that a copy kept elsewhere is the same key.
    """

    __slots__ = ("_file", "_key", "fingerprint")

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            found = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
            raise ParameterError(f"A sealing key must be exactly {KEY_BYTES} bytes. Found {found}.")
        self._key = key
        self._file: tuple[int, int] | None = None
        self.fingerprint = self.derive("check", "fingerprint")[:8].hex()
        """A name for this key (16 hex digits) that is safe to store and to print."""

    @classmethod
    def create(cls, path: PathLike) -> SealingKey:
        """Make a new key in a new file with mode 0600; a file that is there already is refused and stays."""
        place = _place(path)
        if not write_private(place, _line(secrets.token_bytes(KEY_BYTES)), _WHAT):
            raise InputError(
                f"The {_WHAT} {place} must be new. Found a file of that name: load it, or choose another."
            )
        return cls.load(place)

    @classmethod
    def load(cls, path: PathLike) -> SealingKey:
        """Read a key from a file that its owner alone may read."""
        place = _place(path)
        content, status = read_private(place, _LARGEST, _WHAT)
        key = cls(_key_of(content, place))
        key._file = (status.st_dev, status.st_ino)
        return key

    @classmethod
    def open(cls, path: PathLike) -> SealingKey:
        """Read the key of a file, or make one where there is none; several who try at once get the same."""
        place = _place(path)
        if not os.path.lexists(place):
            write_private(place, _line(secrets.token_bytes(KEY_BYTES)), _WHAT)
        return cls.load(place)

    def derive(self, purpose: Purpose, *context: str) -> bytes:
        """The 32-byte subkey for a purpose and a context, such as tenant and collection (HKDF, RFC 5869)."""
        if purpose not in get_args(Purpose):
            raise ParameterError(f"A purpose must be one of {', '.join(get_args(Purpose))}. Found another.")
        parts = [
            b"sfumato sealing",
            purpose.encode(),
            *(each.encode("utf-8", "surrogatepass") for each in context),
        ]
        info = b"".join(len(part).to_bytes(4, "big") + part for part in parts)
        return HKDF(SHA512(), KEY_BYTES, salt=None, info=info).derive(self._key)

    def confirm(self, copy: PathLike) -> None:
        """The escrow test: refuse unless `copy` is another file, closed to others, with this same key."""
        place = _place(copy)
        other = SealingKey.load(place)
        if not hmac.compare_digest(self._key, other._key):
            raise InputError(
                f"{place} must be a copy of the key {self.fingerprint}. Found the key {other.fingerprint}: "
                "copy the right file."
            )
        if self._file == other._file:
            raise InputError(f"{place} must be a copy. Found the {_WHAT} itself: keep a copy elsewhere.")

    def __repr__(self) -> str:
        """Show the fingerprint and never the key."""
        return f"SealingKey(fingerprint={self.fingerprint!r})"


def _place(path: PathLike) -> Path:
    """A path that may be shown: who gives the key itself in its place must not find it in a log."""
    # Hex alone: a path of 43 characters may well read as base64, in which no sealing key is written.
    if _DIGITS.fullmatch(os.fspath(path).strip()) or _HEADER in os.fspath(path):
        raise InputError("The path of a key file must be given. Found what looks like a key itself.")
    return Path(path)


def _line(key: bytes) -> bytes:
    return f"{_HEADER} {key.hex()} {_checksum(key)}\n".encode()


def _checksum(key: bytes) -> str:
    return hashlib.sha256(b"sfumato sealing key\0" + key).hexdigest()[:8]


def _key_of(content: bytes, place: Path) -> bytes:
    """The key of a key file's line; no error shows any of it."""
    found = _LINE.fullmatch(content.decode("ascii", errors="replace").strip())
    if found is None or len(content) == _LARGEST:
        raise InputError(
            f"{place} must be a {_WHAT}: one line that begins with {_HEADER}. Found something else: "
            "give the file that was made with the collection."
        )
    digits, checksum = found.groups()
    if len(digits) != 2 * KEY_BYTES:
        raise InputError(
            f"The {_WHAT} {place} must hold {2 * KEY_BYTES} hex digits. Found {len(digits)}: "
            "it is cut or damaged, use a copy."
        )
    key = bytes.fromhex(digits)
    if not hmac.compare_digest(checksum, _checksum(key)):
        raise InputError(f"The {_WHAT} {place} does not fit its checksum: it is damaged, use a copy.")
    return key
