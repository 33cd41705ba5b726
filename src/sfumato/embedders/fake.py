"""An embedder for tests: hashed character n-grams, the same on every machine, with nothing to install."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from math import gcd

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.texts.soft import SoftText, shares
from sfumato.embedders.base import OnBatch
from sfumato.embedders.texts import checked_texts, unit_rows
from sfumato.numbers import whole_number

_BUCKETS = 4096
_SIZES = (2, 3, 4)
_BATCH = 256


class Fake:
    """Gives similar texts similar vectors and knows no meaning; the empty text has a vector of its own.

    The n-grams of a text are counted in 4096 buckets and projected to `dim` by a fixed matrix of signs. The
    sums are whole numbers, so that they are exact in any order.
    """

    soft = True

    def __init__(self, *, dim: int = 384) -> None:
        self.dim = whole_number(dim, "dim", 1, 1 << 16)
        self.name = f"fake:{self.dim}"
        self.model_id = f"fake-1:{self.dim}"
        bits = hashlib.shake_256(b"sfumato fake embedder 1").digest(-(-_BUCKETS * self.dim // 8))
        ones = np.unpackbits(np.frombuffer(bits, np.uint8), count=_BUCKETS * self.dim)
        self._signs = (2 * ones.astype(np.int8) - 1).reshape(_BUCKETS, self.dim)

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, dim)` unit vectors in the order of the texts."""
        found = checked_texts(texts)
        vectors = np.empty((len(found), self.dim), np.float32)
        for start in range(0, len(found), _BATCH):
            part = found[start : start + _BATCH]
            sums = np.stack([self._sum(text) for text in part])
            vectors[start : start + len(part)] = unit_rows(sums, start)
            if on_batch is not None:
                on_batch(len(part))
        return vectors

    def seen(self, texts: Sequence[str]) -> list[bytes]:
        """Return the share of each word in each text, which is all that its vector depends on."""
        bags = [sorted(_bag(text).items()) for text in checked_texts(texts)]
        shared = [gcd(*(count for _, count in bag)) for bag in bags]
        return [
            repr([(word, count // common) for word, count in bag]).encode()
            for bag, common in zip(bags, shared, strict=True)
        ]

    def _sum(self, text: str) -> NDArray[np.int64]:
        counts: Counter[int] = Counter()
        for word, count in _bag(text).items():
            for gram in _grams(word):
                counts[gram] += count
        weights = np.fromiter(counts.values(), np.int64, len(counts))
        total: NDArray[np.int64] = weights @ self._signs[list(counts)].astype(np.int64)
        # Signs may cancel out, in few dimensions above all: no text gets the zero vector.
        return total if total.any() else self._signs[next(iter(counts))].astype(np.int64)


def _bag(text: str) -> Counter[str]:
    """How often each word counts; in a soft place every term has its share."""
    if not isinstance(text, SoftText):
        return Counter(text.lower().split() or [""])
    whole, weights = shares(text.places)
    bag: Counter[str] = Counter()
    at = 0
    for place, weight in zip(text.places, weights, strict=True):
        bag.update(
            {word: count * whole for word, count in Counter(text[at : place.start].lower().split()).items()}
        )
        for term in place.terms:
            bag.update({word: count * weight for word, count in Counter(term.lower().split()).items()})
        at = place.end
    bag.update({word: count * whole for word, count in Counter(text[at:].lower().split()).items()})
    return bag or Counter([""])


def _grams(word: str) -> Iterator[int]:
    """The bucket of each n-gram of a word, with marks where it starts and ends."""
    marked = f"\x02{word}\x03"
    for size in _SIZES:
        for start in range(len(marked) - size + 1):
            gram = marked[start : start + size].encode()
            yield int.from_bytes(hashlib.blake2b(gram, digest_size=2).digest(), "big") % _BUCKETS
