"""How opaque records sit in any store: an id, bytes in one metadata field, and a vector that says nothing.

Stores ask for a vector with every row. It is a function of the id alone, so whoever reads it learns what the
id says already; it is spread over a circle, since graphs of many equal vectors are slow to build. Some
handles give records a vector that the store ranks, or tags that it filters by: on its way such a record is
dressed in them. Where a store ranks, all other records are farther from every query than any row.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.errors import ArtifactError
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
LAYOUT, NEWEST_LAYOUT = "layout", 2
"""The setting of a collection that says where its records stand; those of before it have the first."""
_ROWS, _OTHERS = {1: 45, 2: 20}, 62
"""Degrees from one axis, by layout: a row and a query are at most twice the first apart, another record and a
query at least the difference of both. In the first layout others stand opposite to all rows, and graphs of
products lose their way between two groups so far apart."""


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


@dataclass(frozen=True, slots=True)
class Layout:
    """Where records stand that a store ranks: rows near an axis, all others around them."""

    dim: int
    """Of what is ranked; the axis is one more."""
    version: int = NEWEST_LAYOUT

    def __post_init__(self) -> None:
        if self.version not in _ROWS:
            raise ArtifactError("The collection's records are laid out as a later version does. Update.")

    def rows(self, vectors: Vectors) -> Vectors:
        """`[n, dim + 1]` unit vectors of rows and queries, by any metric in the order of their cosines."""
        return _around(vectors, _ROWS[self.version])

    def others(self, ids: Sequence[str]) -> Vectors:
        """`[n, dim + 1]` unit vectors, hashes of ids, farther from every query than any row can be."""
        if self.version == 1:
            vectors = np.zeros((len(ids), self.dim + 1), np.float32)
            vectors[:, :DIM], vectors[:, -1] = 0.6 * vectors_of(ids)[:, : self.dim], -0.8
            return vectors
        drawn = b"".join(hashlib.shake_256(each.encode()).digest(2 * self.dim) for each in ids)
        # Never zero, so that each has a direction; not many are equal, even with few dimensions.
        wide = np.frombuffer(drawn, "<u2").reshape(len(ids), self.dim) - np.float32(32767.5)
        return _around(wide / np.linalg.norm(wide, axis=1, keepdims=True), _OTHERS)


class Records:
    """Records of bytes in a store, each under an id that was never used for anything else.

    `ranked` says where those stand that the store ranks; None where it ranks nothing.
    """

    def __init__(self, store: Store, ranked: Callable[[], Layout | None] = lambda: None) -> None:
        self.store, self.ranked = store, ranked

    def put(self, ids: Sequence[str], contents: Sequence[bytes]) -> None:
        """Write records in the order they are given; on disk once `settle` has returned."""
        for part in _batches(ids, [len(each) for each in contents]):
            dressed = [DressedRecord.from_bytes(each) for each in contents[part]]
            vectors = self._vectors(ids[part], dressed)
            self.store.add(ids[part], vectors, [_fields(each) for each in dressed])

    def _vectors(self, ids: Sequence[str], dressed: Sequence[DressedRecord]) -> Vectors:
        layout = self.ranked()
        if layout is None:
            return vectors_of(ids)
        vectors = layout.others(ids)
        for row, each in enumerate(dressed):
            if each.vector is not None:
                vectors[row] = layout.rows(each.vector[None])[0]
        return vectors

    def search(self, vector: Vectors, k: int, *, every: bool = False) -> dict[str, bytes]:
        """The k records whose vectors the store finds nearest; `every` one is looked at if that is asked."""
        layout = self.ranked()
        if layout is None:
            return {}
        ask = self.store.search_every if every else self.store.search
        (hits,) = ask(layout.rows(vector[None]), k)
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


def _around(vectors: Vectors, degrees: float) -> Vectors:
    """Unit vectors at an angle to one more axis."""
    angle = np.radians(degrees)
    axis = np.full((len(vectors), 1), np.cos(angle))
    return np.asarray(np.concatenate([vectors * np.sin(angle), axis], axis=1), np.float32)


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
