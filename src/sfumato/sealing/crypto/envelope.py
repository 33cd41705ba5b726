"""Sealed records: each under a key of its own, which the record commits to, bound to the place it belongs to.

A record is a format byte, 24 random bytes, a 32-byte commitment, and AES-256-GCM's text and tag. Key and
commitment are the halves of HMAC-SHA512(K, the random bytes, then the row's salt where it has one). No key is
used twice, so there is no limit of 2^32 records and no nonce to choose; and since GCM alone opens under many
keys what was made to (Albertini et al., USENIX Security 2022), the commitment says which one it was.
"""

from __future__ import annotations

import functools
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import repeat

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from sfumato.accounting.keys import KEY_BYTES, KeyHolder
from sfumato.errors import ArtifactError, ParameterError

FORMAT = 1
"""Version of a sealed record's layout; a reader refuses any other."""
OVERHEAD = 1 + 24 + 32 + 16
"""Bytes that sealing adds."""
HEAD = 1 + 24 + 32
"""Bytes before the text: format, random bytes, commitment."""
LARGEST = 1 << 30
"""Bytes that one record may hold."""

_FORMAT = bytes([FORMAT])
_RANDOM = 24
# Every key is used once.
_NONCE = bytes(12)
_SALTS = range(16, 65)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Where a record belongs: opened with any of this changed, it is refused."""

    tenant: str
    collection: str
    record_id: str
    kind: str
    encoder: str = ""
    epoch: int = 0
    version: int = 0
    format: int = FORMAT
    """Version of what is inside."""

    def encoded(self) -> bytes:
        """Every field with its length before it, so that no two records' fields give the same bytes."""
        return self.encoded_all([self.record_id], [self.version])[0]

    def encoded_all(self, record_ids: Iterable[str], versions: Iterable[int]) -> list[bytes]:
        """The same for many records that differ in id and version alone, at a fraction of the time."""
        shared = _shared(self.format, self.epoch, self.tenant, self.collection, self.encoder, self.kind)
        names = (each.encode("utf-8", "surrogatepass") for each in record_ids)
        return [
            b"%b%b%b%b" % (shared, len(name).to_bytes(4, "big"), name, _number(version))
            for name, version in zip(names, versions, strict=True)
        ]


@functools.lru_cache(maxsize=256)
def _shared(format: int, epoch: int, tenant: str, collection: str, encoder: str, kind: str) -> bytes:
    """What all records of one kind have in common."""
    texts = [each.encode("utf-8", "surrogatepass") for each in (tenant, collection, encoder, kind)]
    lengths = b"".join(len(text).to_bytes(4, "big") + text for text in texts)
    return _number(format) + _number(epoch) + lengths


def _number(value: int) -> bytes:
    try:
        return value.to_bytes(8, "big")
    except OverflowError:
        raise ParameterError(f"Formats, epochs and versions must be 0 to 2^64 - 1. Found {value}.") from None


class Envelope(KeyHolder):
    """Seals and opens records under subkeys of one 32-byte key."""

    __slots__ = ("_inner", "_outer")

    def __init__(self, key: bytes) -> None:
        if not isinstance(key, bytes) or len(key) != KEY_BYTES:
            raise ParameterError(
                f"An envelope's key must be exactly {KEY_BYTES} bytes. Found something else."
            )
        # HMAC's two hashes, begun with the key once and copied for each record: half the time of `hmac`.
        block = key.ljust(hashlib.sha512().block_size, b"\0")
        self._inner = hashlib.sha512(bytes(byte ^ 0x36 for byte in block))
        self._outer = hashlib.sha512(bytes(byte ^ 0x5C for byte in block))

    def seal(self, plain: bytes, bound: Bound | bytes, salt: bytes | None = None) -> bytes:
        """Seal one record; with `salt`, it opens only while that salt is kept."""
        return self.seal_all([plain], [bound], [salt])[0]

    def open(self, sealed: bytes, bound: Bound, salt: bytes | None = None) -> bytes:
        """Open one record, or refuse it; damage, another place and another key look the same."""
        (plain,) = self.open_all([sealed], [bound], [salt])
        if plain is None:
            raise ArtifactError(
                "A sealed record must open under this key, in the place it was sealed for. It was changed, "
                "belongs elsewhere, or has another key: check the key and the collection."
            )
        return plain

    def seal_all(
        self,
        plains: Sequence[bytes],
        bounds: Sequence[Bound | bytes],
        salts: Sequence[bytes | None] | None = None,
    ) -> list[bytes]:
        """Seal many records, each for its own place: a bound, or one that is encoded."""
        # Random bytes are asked for once. Threads do not help: the interpreter is held for rows of this size.
        noise = secrets.token_bytes(_RANDOM * len(plains))
        sealed = []
        derive = self._derive
        for row, (plain, bound, salt) in enumerate(zip(plains, bounds, _each(salts, plains), strict=True)):
            if len(plain) > LARGEST:
                raise ParameterError(f"A record must stay under {LARGEST} bytes. Row {row} has {len(plain)}.")
            random = noise[row * _RANDOM : (row + 1) * _RANDOM]
            both = derive(random, salt)
            text = AESGCM(both[:32]).encrypt(_NONCE, plain, _FORMAT + _encoded(bound))
            sealed.append(b"%b%b%b%b" % (_FORMAT, random, both[32:], text))
        return sealed

    def open_all(
        self,
        sealed: Sequence[bytes],
        bounds: Sequence[Bound | bytes],
        salts: Sequence[bytes | None] | None = None,
    ) -> list[bytes | None]:
        """Open many records; None for each that is refused, and the others are opened all the same."""
        return [
            self._opened(each, bound, salt)
            for each, bound, salt in zip(sealed, bounds, _each(salts, sealed), strict=True)
        ]

    def _opened(self, sealed: bytes, bound: Bound | bytes, salt: bytes | None) -> bytes | None:
        if not OVERHEAD <= len(sealed) <= OVERHEAD + LARGEST or sealed[:1] != _FORMAT:
            return None
        both = self._derive(sealed[1 : 1 + _RANDOM], salt)
        if not hmac.compare_digest(both[32:], sealed[1 + _RANDOM : HEAD]):
            return None
        try:
            return AESGCM(both[:32]).decrypt(_NONCE, sealed[HEAD:], _FORMAT + _encoded(bound))
        except InvalidTag:
            return None

    def commitment(self, random: bytes, salt: bytes | None) -> bytes:
        """The commitment of a record with these random bytes and this salt: whether a key fits, unopened."""
        return self._derive(random, salt)[32:]

    def _derive(self, random: bytes, salt: bytes | None) -> bytes:
        """The record's key and its commitment."""
        inner, outer = self._inner.copy(), self._outer.copy()
        if salt is not None:
            if len(salt) not in _SALTS:
                raise ParameterError(f"A row's salt must have 16 to 64 bytes. Found {len(salt)}.")
            random += salt
        inner.update(random)
        outer.update(inner.digest())
        return outer.digest()

    def __repr__(self) -> str:
        """Show nothing of the key."""
        return "Envelope(…)"


def _encoded(bound: Bound | bytes) -> bytes:
    return bound if isinstance(bound, bytes) else bound.encoded()


def _each(salts: Sequence[bytes | None] | None, rows: Sequence[bytes]) -> Iterable[bytes | None]:
    return repeat(None, len(rows)) if salts is None else salts
