"""What stands in the records of a sealed collection and what comes out of it: postings, texts, a counter."""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.accounting.keys import KeyHolder
from sfumato.errors import ArtifactError, InputError
from sfumato.sealing.crypto.envelope import Bound, Envelope
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.padding import padded, unpadded
from sfumato.stores.rows import Metadata

LARGEST_ROW = 16 << 20
"""Bytes that a row's id, text and metadata may have together."""
_NUMBER, _COUNTER = struct.Struct("<Q"), struct.Struct("<Q8s")
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_MOST_A_CHARACTER, _MOST_A_FIELD = 6, 64
"""Bytes of one character in JSON, and of all else that a field has: marks, spaces, a number."""


@dataclass(frozen=True, slots=True)
class SealedRow:
    """One row of a sealed collection, opened."""

    id: str
    text: str
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class SealedHit:
    """One row that a search found; a higher score (the cosine) is nearer."""

    id: str
    score: float
    text: str
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class SealedResult:
    """What one search found, and whether the store gave all that it was asked for."""

    hits: list[SealedHit]
    complete: bool
    """Whether every record that was asked for came, opened, and was up to date."""
    faults: tuple[str, ...] = ()
    """What was wrong, a line each; rows are named by number."""
    candidates: int = 0
    """Postings that were fetched."""
    texts: int = 0
    """Texts that were fetched, hits and decoys."""
    bytes: int = 0
    """Bytes of the records that came, as the store holds them."""


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where a record stands, whose it is, and the salt it is sealed under."""

    id: str
    number: int
    salt: bytes | None = field(default=None, repr=False)


class RecordSealer(KeyHolder):
    """Seals and opens the records of one epoch of a collection."""

    def __init__(self, key: SealingKey, tenant: str, collection: str, encoder: str, epoch: int) -> None:
        self._envelope = Envelope(key.derive("seal", tenant, collection))
        self._shared: dict[str, Any] = {
            "tenant": tenant, "collection": collection, "encoder": encoder, "epoch": epoch
        }  # fmt: skip

    def seal(self, kind: str, places: Sequence[RecordPlace], plains: Sequence[bytes]) -> list[bytes]:
        """Seal records of one kind, each for its place."""
        return self._envelope.seal_all(plains, self._bounds(kind, places), [each.salt for each in places])

    def open(
        self, kind: str, places: Sequence[RecordPlace], contents: Sequence[bytes | None]
    ) -> list[bytes | None]:
        """Open all records before anything is decided; None for each that is missing or refused."""
        there = [each or b"" for each in contents]
        return self._envelope.open_all(there, self._bounds(kind, places), [each.salt for each in places])

    def _bounds(self, kind: str, places: Sequence[RecordPlace]) -> list[bytes]:
        shared = Bound(record_id="", kind=kind, **self._shared)
        return shared.encoded_all([each.id for each in places], [each.number for each in places])


def refuse_large(rows: Sequence[SealedRow]) -> None:
    """Refuse rows that are too large to be sealed as one, before anything is done with their texts."""
    for at, row in enumerate(rows):
        if _at_most(row) <= LARGEST_ROW:
            continue
        size = len(_written(row))
        if size > LARGEST_ROW:
            raise InputError(
                f"Row {at} has {size} bytes of id, text and metadata. At most {LARGEST_ROW} are sealed as "
                "one row: cut it into parts."
            )


def _at_most(row: SealedRow) -> int:
    """Bytes that a row cannot have more of: what most rows are known to be small by, without writing them."""
    texts = [each for each in row.metadata.values() if isinstance(each, str)]
    return _MOST_A_CHARACTER * sum(map(len, (row.id, row.text, *row.metadata, *texts))) + _MOST_A_FIELD * (
        len(row.metadata) + 1
    )


def text_content(row: SealedRow) -> bytes:
    """A row's id, text and metadata as they are sealed."""
    return padded(_written(row))


def _written(row: SealedRow) -> bytes:
    return _JSON.encode([row.id, row.text, row.metadata]).encode()


def read_text(content: bytes | None) -> SealedRow | None:
    """A row as it was before it was sealed; None for what is not one."""
    if content is None:
        return None
    try:
        name, text, metadata = json.loads(unpadded(content))
    except (ArtifactError, ValueError, TypeError):
        return None
    return SealedRow(name, text, metadata)


def counter_content(value: int, change: bytes, signature: bytes = b"") -> bytes:
    """How many changes there were, the name of the last, and its writer's signature if there is one."""
    return padded(_COUNTER.pack(value, change) + signature)


def read_counter(content: bytes | None) -> tuple[int | None, bytes, bytes]:
    """The number that a counter holds, or None, the name of the last change, and the signature behind it."""
    try:
        plain = b"" if content is None else unpadded(content)
        if len(plain) == _NUMBER.size:
            # Changes once had no names.
            return _NUMBER.unpack(plain)[0], b"", b""
        number, change = _COUNTER.unpack_from(plain)
        return number, change, plain[_COUNTER.size :]
    except (ArtifactError, struct.error):
        return None, b"", b""
