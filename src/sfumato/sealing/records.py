"""How opaque records sit in any store: an id, bytes in one metadata field, and a vector that says nothing.

Stores ask for a vector with every row. It is a function of the id alone, so whoever reads it learns what the
id says already; it is spread over a circle, since graphs of many equal vectors are slow to build. Some
handles give records a vector that the store ranks, or tags that it filters by: on its way such a record is
dressed in them. Where a store ranks, all other records point away from every query.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.stores.base import Store
from sfumato.types import Vectors

CONTENT_FIELD = "sealed"
TAG_FIELD = "tag{}"
TAG_BYTES = 16
DIM = 2
_AT_ONCE = 500
LONGEST = 1 << 25
"""Characters of one content; what is longer was never written here, and is left out."""
_LARGEST_BATCH = 8 << 20
"""Bytes that are handed to a product at once, where one record is not larger by itself."""


_DRESS = b"sfdress1"
"""What a dressed record begins with; a sealed one begins with its format, a small number."""
_SIZES = struct.Struct("<IH")
_HALF = np.float32(np.sqrt(0.5))


@dataclass(frozen=True, slots=True, eq=False)
class DressedRecord:
    """A sealed record with what the store is to rank or to filter it by."""

    content: bytes
    vector: Vectors | None = None
    """`[d]` at unit length."""
    tags: tuple[bytes, ...] = ()

    def to_bytes(self) -> bytes:
        """The record as it waits to be sent."""
        vector = b"" if self.vector is None else np.asarray(self.vector, "<f4").tobytes()
        head = _DRESS + _SIZES.pack(len(vector), len(self.tags))
        return b"".join([head, vector, *self.tags, self.content])

    @classmethod
    def from_bytes(cls, data: bytes) -> DressedRecord:
        """Read a record that waits, dressed or not."""
        if not data.startswith(_DRESS):
            return cls(data)
        length, count = _SIZES.unpack_from(data, len(_DRESS))
        start = len(_DRESS) + _SIZES.size
        end = start + length + count * TAG_BYTES
        places = range(start + length, end, TAG_BYTES)
        vector = np.frombuffer(data[start : start + length], "<f4") if length else None
        return cls(data[end:], vector, tuple(data[at : at + TAG_BYTES] for at in places))


class Records:
    """Records of bytes in a store, each under an id that was never used for anything else.

    `ranked` says what the dimension is of what the store ranks by; 0 where it ranks nothing.
    """

    def __init__(self, store: Store, ranked: Callable[[], int] = lambda: 0) -> None:
        self.store, self.ranked = store, ranked

    def put(self, ids: Sequence[str], contents: Sequence[bytes]) -> None:
        """Write records in the order they are given; on disk once `settle` has returned."""
        for part in _batches(ids, [len(each) for each in contents]):
            dressed = [DressedRecord.from_bytes(each) for each in contents[part]]
            vectors = self._vectors(ids[part], dressed)
            self.store.add(ids[part], vectors, [_fields(each) for each in dressed])

    def _vectors(self, ids: Sequence[str], dressed: Sequence[DressedRecord]) -> Vectors:
        dim = self.ranked()
        if not dim:
            return vectors_of(ids)
        vectors = _away(ids, dim)
        for row, each in enumerate(dressed):
            if each.vector is not None:
                vectors[row] = towards(each.vector[None])[0]
        return vectors

    def search(self, vector: Vectors, k: int) -> dict[str, bytes]:
        """The k records whose vectors the store finds nearest, by its own account."""
        (hits,) = self.store.search(towards(vector[None]), k)
        return _contents([hit.id for hit in hits], [hit.metadata for hit in hits])

    def tagged(self, field: int, tags: Sequence[bytes], k: int) -> dict[str, bytes]:
        """Up to k records that have one of these tags in a field."""
        if self.store.dim is None:
            return {}
        where = {TAG_FIELD.format(field): [each.hex() for each in tags]}
        (hits,) = self.store.search(np.array([[1.0, 0.0]], np.float32), k, where)
        return _contents([hit.id for hit in hits], [hit.metadata for hit in hits])

    def get(self, ids: Iterable[str]) -> dict[str, bytes]:
        """Return the records that are there and are records at all; what else stands there is left out."""
        names = list(ids)
        found: dict[str, bytes] = {}
        for start in range(0, len(names), _AT_ONCE):
            rows = self.store.get(names[start : start + _AT_ONCE])
            found |= _contents(rows.ids, rows.metadata)
        return found

    def delete(self, ids: Iterable[str]) -> None:
        """Take records out; ids that are not there are passed over."""
        names = list(ids)
        for start in range(0, len(names), _AT_ONCE):
            self.store.delete(names[start : start + _AT_ONCE])

    def scan(self) -> Iterator[tuple[str, bytes]]:
        """Yield every record of the store."""
        for rows in self.store.batches(_AT_ONCE):
            yield from _contents(rows.ids, rows.metadata).items()

    def settle(self) -> None:
        """Have everything on disk that was written, where the product does not see to it by itself."""
        self.store.flush()

    def __len__(self) -> int:
        return len(self.store)


def travelling(size: int) -> int:
    """Bytes of a record's content as the store holds and sends it."""
    return 4 * -(-size // 3)


def vectors_of(ids: Sequence[str]) -> Vectors:
    """`[n, 2]` points on a circle, each a hash of its id."""
    hashes = b"".join(hashlib.sha256(each.encode()).digest()[:4] for each in ids)
    angles = np.frombuffer(hashes, "<u4") * (2 * np.pi / 2**32)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def towards(vectors: Vectors) -> Vectors:
    """`[n, d + 1]` unit vectors of what a store ranks, by any metric in the order of their cosines."""
    ones = np.ones((len(vectors), 1), np.float32)
    return np.asarray(np.concatenate([vectors, ones], axis=1) * _HALF, np.float32)


def _away(ids: Sequence[str], dim: int) -> Vectors:
    """`[n, dim + 1]` unit vectors, hashes of ids, that are farther from every query than any row can be."""
    vectors = np.zeros((len(ids), dim + 1), np.float32)
    vectors[:, :DIM] = 0.6 * vectors_of(ids)[:, :dim]
    vectors[:, -1] = -0.8
    return vectors


def _fields(record: DressedRecord) -> dict[str, str]:
    fields = {TAG_FIELD.format(at): each.hex() for at, each in enumerate(record.tags)}
    return {CONTENT_FIELD: base64.b64encode(record.content).decode(), **fields}


def _contents(ids: list[str], metadata: Sequence[Mapping[str, object]]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, fields in zip(ids, metadata, strict=True):
        text = fields.get(CONTENT_FIELD)
        if isinstance(text, str) and len(text) <= LONGEST:
            try:
                found[name] = base64.b64decode(text, validate=True)
            except (binascii.Error, ValueError):
                continue
    return found


def _batches(ids: Sequence[str], sizes: Sequence[int]) -> Iterator[slice]:
    """Slices of records that a product bears at once."""
    start = taken = 0
    for at, size in enumerate(sizes):
        if at > start and (at - start == _AT_ONCE or taken + size > _LARGEST_BATCH):
            yield slice(start, at)
            start, taken = at, 0
        taken += size
    if len(ids) > start:
        yield slice(start, len(ids))
