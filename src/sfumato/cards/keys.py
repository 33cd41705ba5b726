"""Keys that cards are signed with: Ed25519, as PEM files that other tools read too."""

from __future__ import annotations

import os
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sfumato.accounting.keys import KeyHolder, read_private, write_private
from sfumato.errors import InputError
from sfumato.files import atomic_file, require_place

_LARGEST = 4096
"""Bytes of a key file: a PEM of Ed25519 has about 120."""
_UNREADABLE = (ValueError, TypeError, UnsupportedAlgorithm)


class CardKey(KeyHolder):
    """What cards are signed with; it shows its public half alone."""

    __slots__ = ("_key", "public")

    def __init__(self, key: Ed25519PrivateKey) -> None:
        self._key = key
        self.public = key.public_key().public_bytes_raw().hex()
        """The public key, in hex."""

    @classmethod
    def from_file(cls, path: Path) -> CardKey:
        """Read a PEM file that its owner alone may read."""
        content, _ = read_private(path, _LARGEST, "signing key")
        try:
            key = serialization.load_pem_private_key(content, password=None)
        except TypeError:
            raise InputError(
                f"The signing key {path} must have no passphrase. Keep the file closed to others."
            ) from None
        except _UNREADABLE:
            raise _no_key("signing", path, "a private key in PEM; make one with --new-key") from None
        if not isinstance(key, Ed25519PrivateKey):
            raise _no_key("signing", path, "an Ed25519 key; make one with --new-key")
        return cls(key)

    def sign(self, message: bytes) -> bytes:
        """A signature of 64 bytes."""
        return self._key.sign(message)

    def __repr__(self) -> str:
        """Show the public key alone."""
        return f"CardKey({self.public[:16]}…)"


def read_public_key(path: Path) -> str:
    """The public key of a PEM file, in hex."""
    try:
        # Without waiting: opening a named pipe would hang.
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            content = file.read(_LARGEST)
    except OSError as error:
        raise InputError(f"The public key {path} cannot be read: {error.strerror}.") from None
    if b"PRIVATE KEY" in content:
        raise _no_key("public", path, "the public half, FILE.pub; whoever has the private one can sign")
    try:
        key = serialization.load_pem_public_key(content)
    except _UNREADABLE:
        raise _no_key("public", path, "a public key in PEM") from None
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key("public", path, "an Ed25519 key")
    return key.public_bytes_raw().hex()


def new_card_key(path: Path) -> tuple[CardKey, Path]:
    """Make a key pair: the private half in `path`, closed to others, the public half beside it as .pub."""
    beside = path.with_name(f"{path.name}.pub")
    require_place(path)
    for place in (path, beside):
        if place.exists():
            raise InputError(f"`{place}` is there already, and a key is never replaced. Choose another name.")
    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    if not write_private(path, private, "signing key"):
        raise InputError(f"`{path}` is there already, and a key is never replaced. Choose another name.")
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    with atomic_file(beside, keep_existing=True) as file:
        file.write(public)
    return CardKey(key), beside


def _no_key(what: str, path: Path, wanted: str) -> InputError:
    return InputError(f"The {what} key {path} must be {wanted}. Found something else.")
