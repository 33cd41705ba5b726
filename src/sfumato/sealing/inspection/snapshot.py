"""What a store shows of a sealed collection to whoever reads it whole, without any key.

A snapshot is to be what a simulator makes of counts and sizes alone: ids like random ones, contents that no
compression shortens, few sizes, no value twice, no field beside the sealed one, and vectors that say what the
id says. Each of these is a check that fails where it is not so.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import math
import re
import zlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.sealing.crypto.envelope import FORMAT, OVERHEAD
from sfumato.sealing.crypto.padding import LEAST, padme
from sfumato.sealing.records import CONTENT_FIELD, DIM, LONGEST, vectors_of
from sfumato.stores.base import Store

_AT_ONCE = 1000
_LOOKED_AT = 200
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_FEW = 50
_LIMIT = 8.0
"""Standard deviations that a figure may be off by: by chance it is in one of 10^15 audits."""
_COMPRESSED = 4 << 20
"""Bytes of contents that are compressed as a test."""


@dataclass(frozen=True, slots=True)
class SnapshotCheck:
    """One thing that a simulator's snapshot has, too."""

    name: str
    holds: bool
    words: str


@dataclass(slots=True)
class Snapshot:
    """What a sealed collection shows."""

    label: str
    records: int = 0
    sizes: Counter[int] = field(default_factory=Counter)
    """How many records there are of each size, in bytes before base64."""
    checks: list[SnapshotCheck] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """Whether every check holds."""
        return all(each.holds for each in self.checks)

    @property
    def size_bits(self) -> float:
        """Bits that the size of a record tells on average."""
        shares = np.array(list(self.sizes.values())) / max(1, self.records)
        return float(-(shares * np.log2(shares)).sum()) if self.records else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "records": self.records,
            "sizes": {str(size): count for size, count in sorted(self.sizes.items())},
            "size_bits": round(self.size_bits, 3),
            "checks": [{"name": each.name, "holds": each.holds, "words": each.words} for each in self.checks],
        }


def is_sealed(store: Store) -> bool:
    """Whether a collection is a sealed one, by what most of its first rows are."""
    rows = next(store.batches(_LOOKED_AT), None)
    if rows is None or not len(rows):
        return False
    return 2 * sum(_content(each) is not None for each in rows.metadata) > len(rows)


def look_at(store: Store) -> Snapshot:
    """Read a whole collection, and say what it shows."""
    made = Snapshot(store.label)
    seen = _Seen()
    for rows in store.batches(_AT_ONCE):
        seen.take(rows.ids, rows.vectors, rows.metadata)
    made.records, made.sizes = len(seen.digests), seen.sizes
    made.checks = [
        seen.sealed_alone(), seen.ids_random(), seen.contents_random(), seen.incompressible(),
        seen.few_sizes(), seen.nothing_twice(), seen.ids_tell_no_size(), seen.vectors_tell_nothing(),
    ]  # fmt: skip
    return made


def _content(metadata: Mapping[str, Any]) -> bytes | None:
    text = metadata.get(CONTENT_FIELD)
    if not isinstance(text, str) or len(text) > LONGEST:
        return None
    try:
        content = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None
    return content if len(content) >= OVERHEAD and content[0] == FORMAT else None


class _Seen:
    """What was read so far, in memory that grows by some bytes a record."""

    def __init__(self) -> None:
        self.digests: list[bytes] = []
        self.sizes: Counter[int] = Counter()
        self.clear: Counter[str] = Counter()
        self.strange_ids = self.strange_vectors = self.unsealed = 0
        self.id_bytes = np.zeros(256, np.int64)
        self.bytes = np.zeros(256, np.int64)
        self.places: list[tuple[float, int]] = []
        self.sample: list[bytes] = []
        self.sampled = 0

    def take(self, ids: list[str], vectors: Any, metadata: list[dict[str, Any]]) -> None:
        expected = vectors_of(ids)
        fits = vectors.shape == expected.shape and vectors.shape[1] == DIM
        near = np.abs(vectors - expected).max(axis=1) < 1e-4 if fits else np.zeros(len(ids), bool)
        self.strange_vectors += int((~near).sum())
        for name, fields in zip(ids, metadata, strict=True):
            self._take_one(name, fields)

    def _take_one(self, name: str, fields: dict[str, Any]) -> None:
        self.clear.update(each for each in fields if each != CONTENT_FIELD)
        content = _content(fields)
        place = 0.0
        if _ID.fullmatch(name):
            number = bytes.fromhex(name.replace("-", ""))
            self.id_bytes += np.bincount(np.frombuffer(number, np.uint8), minlength=256)
            place = int.from_bytes(number[:4], "big") / 2**32
        else:
            self.strange_ids += 1
        if content is None:
            self.unsealed += 1
            self.digests.append(
                hashlib.blake2b(repr(sorted(fields.items())).encode(), digest_size=8).digest()
            )
            return
        self.digests.append(hashlib.blake2b(content, digest_size=8).digest())
        self.sizes[len(content)] += 1
        self.bytes += np.bincount(np.frombuffer(content, np.uint8, -1, 1), minlength=256)
        self.places.append((place, len(content)))
        if self.sampled < _COMPRESSED:
            self.sample.append(content[1:])
            self.sampled += len(content)

    def sealed_alone(self) -> SnapshotCheck:
        """Nothing stands beside the sealed content."""
        named = ", ".join(f"`{name}` in {count}" for name, count in self.clear.most_common(3))
        said = f"{self.unsealed} rows are not sealed" if self.unsealed else ""
        words = "; ".join(filter(None, [named and f"fields in the clear: {named} rows", said]))
        return SnapshotCheck("fields", not words, words or "no row has a field beside the sealed one")

    def ids_random(self) -> SnapshotCheck:
        """Ids are as even as random ones."""
        if self.strange_ids:
            return SnapshotCheck("ids", False, f"{self.strange_ids} ids are not made by a sealed collection")
        return self._even("ids", self.id_bytes)

    def contents_random(self) -> SnapshotCheck:
        """Bytes of contents are as even as random ones."""
        return self._even("contents", self.bytes)

    def _even(self, name: str, counts: Any) -> SnapshotCheck:
        total = int(counts.sum())
        if total < 256 * 8:
            return SnapshotCheck(name, True, "too few bytes to tell them from random ones")
        off = (float(((counts - total / 256) ** 2 / (total / 256)).sum()) - 255) / math.sqrt(2 * 255)
        words = f"bytes are {abs(off):.1f} standard deviations {'over' if off > 0 else 'under'} random ones"
        return SnapshotCheck(name, abs(off) <= _LIMIT, words)

    def incompressible(self) -> SnapshotCheck:
        """No compression shortens contents."""
        whole = b"".join(self.sample)
        share = len(zlib.compress(whole, 9)) / max(1, len(whole))
        return SnapshotCheck(
            "compression", share >= 1.0 or not whole, f"compressed to {share:.4f} of their length"
        )

    def few_sizes(self) -> SnapshotCheck:
        """Sizes are those of Padmé, and one of postings."""
        odd = [size for size in self.sizes if not _padded(size - OVERHEAD)]
        words = f"{len(self.sizes)} sizes, {len(odd)} of them not a class of Padmé (postings have one)"
        return SnapshotCheck("sizes", len(odd) <= 1, words)

    def nothing_twice(self) -> SnapshotCheck:
        """No content occurs a second time."""
        twice = len(self.digests) - len(set(self.digests))
        return SnapshotCheck("repeats", not twice, f"{twice} contents occur a second time")

    def ids_tell_no_size(self) -> SnapshotCheck:
        """Records of one size stand nowhere else than others."""
        if len(self.places) < _FEW or len(self.sizes) < 2:
            return SnapshotCheck("places", True, "too few records or sizes to compare")
        table = np.array(self.places)
        # By class and not by rank: among equals, ranks would follow the order they are stored in.
        rank = np.unique(table[:, 1], return_inverse=True)[1]
        off = float(np.corrcoef(table[:, 0], rank)[0, 1]) * math.sqrt(len(table))
        words = f"ids and sizes are correlated by {abs(off):.1f} standard deviations"
        return SnapshotCheck("places", abs(off) <= _LIMIT, words)

    def vectors_tell_nothing(self) -> SnapshotCheck:
        """Vectors are functions of the ids: there is none to attack."""
        words = "vectors are functions of the ids: there is none to attack"
        if self.strange_vectors:
            words = (
                f"{self.strange_vectors} vectors are not functions of their ids: they may tell of the texts"
            )
        return SnapshotCheck("vectors", not self.strange_vectors, words)


def _padded(size: int) -> bool:
    return size >= LEAST and padme(size) == size
