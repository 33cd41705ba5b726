"""How opaque records sit in any store: an id, bytes in one metadata field, and a vector that says nothing.

Stores ask for a vector with every row. It is a function of the id alone, so whoever reads it learns what the
id says already; it is spread over a circle, since graphs of many equal vectors are slow to build.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from sfumato.stores.base import Store
from sfumato.types import Vectors

CONTENT_FIELD = "sealed"
DIM = 2
_AT_ONCE = 500
LONGEST = 1 << 25
"""Characters of one content; what is longer was never written here, and is left out."""
_LARGEST_BATCH = 8 << 20
"""Bytes that are handed to a product at once, where one record is not larger by itself."""


class Records:
    """Records of bytes in a store, each under an id that was never used for anything else."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def put(self, ids: Sequence[str], contents: Sequence[bytes]) -> None:
        """Write records in the order they are given; on disk once `settle` has returned."""
        for part in _batches(ids, [len(each) for each in contents]):
            fields = [{CONTENT_FIELD: base64.b64encode(each).decode()} for each in contents[part]]
            self.store.add(ids[part], vectors_of(ids[part]), fields)

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
