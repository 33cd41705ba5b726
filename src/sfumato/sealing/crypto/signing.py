"""Ed25519 keys of writers: readers have the sealing key too, and yet cannot write for them."""

from __future__ import annotations

import re
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from sfumato.accounting.keys import KEY_BYTES, KeyHolder
from sfumato.errors import InputError
from sfumato.sealing.crypto.envelope import Bound, Envelope
from sfumato.sealing.crypto.sealed_file import read_sealed, write_sealed

FILE = "writer-key"
SIGNATURE_BYTES = 64
_PUBLIC = re.compile(r"[0-9a-f]{64}")
_BOUND = Bound(tenant="", collection="", record_id=FILE, kind="writer key")


class WriterKey(KeyHolder):
    """What one writer signs with; it lies sealed in the writer's state and goes nowhere else."""

    __slots__ = ("_key", "public")

    def __init__(self, key: bytes) -> None:
        self._key = Ed25519PrivateKey.from_private_bytes(key)
        self.public = self._key.public_key().public_bytes_raw().hex()
        """The public key, in hex: what readers are given by hand."""

    @classmethod
    def create(cls, folder: Path, envelope: Envelope) -> WriterKey:
        """Make a key in a folder."""
        key = Ed25519PrivateKey.generate().private_bytes_raw()
        write_sealed(folder / FILE, key, envelope, _BOUND)
        return cls(key)

    @classmethod
    def load(cls, folder: Path, envelope: Envelope) -> WriterKey:
        """Read the key of a folder."""
        return cls(read_sealed(folder / FILE, envelope, _BOUND, largest=KEY_BYTES))

    def sign(self, message: bytes) -> bytes:
        """A signature of 64 bytes."""
        return self._key.sign(message)

    def __repr__(self) -> str:
        """Show the public key alone."""
        return f"WriterKey({self.public[:16]}…)"


def signed_by(public: str, message: bytes, signature: bytes) -> bool:
    """Whether a signature is that of a writer."""
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public)).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def checked_writers(writers: object) -> frozenset[str]:
    """Public keys of writers as given by a user, or refuse them."""
    if isinstance(writers, str) or not isinstance(writers, list | tuple | set | frozenset):
        raise InputError("`writers` must be a list of public keys. Found something else.")
    if not all(isinstance(each, str) and _PUBLIC.fullmatch(each) for each in writers):
        raise InputError("A writer's public key must be 64 hex digits, as `store.writer` shows them.")
    return frozenset(writers)
