"""HMAC-SHA256 of short messages, begun with the key once: less than half the time of `hmac` for each."""

from __future__ import annotations

import hashlib

from sfumato.accounting.keys import KEY_BYTES, KeyHolder
from sfumato.errors import ParameterError


class Prf(KeyHolder):
    """A pseudo-random function of bytes under a 32-byte key; callers keep different messages apart."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise ParameterError(f"The key must be exactly {KEY_BYTES} bytes. Found something else.")
        block = key.ljust(hashlib.sha256().block_size, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in block))

    def __call__(self, message: bytes) -> bytes:
        """32 bytes."""
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(message)
        outer.update(inner.digest())
        return outer.digest()

    def __repr__(self) -> str:
        """Show nothing of the key."""
        return "Prf(…)"
