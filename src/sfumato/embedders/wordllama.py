"""WordLlama's static token vectors, averaged: light and fast, without torch.

The package carries weights and tokenizer, but its own loader looks in another folder and then downloads: both
files are read directly, and the package is never imported.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.texts.soft import SoftPlace, SoftText, shares
from sfumato.embedders.base import OnBatch
from sfumato.embedders.digests import package_folder, require_published
from sfumato.embedders.texts import checked_texts, unit_rows
from sfumato.errors import MissingPackageError

PUBLISHED = {
    "weights/l2_supercat_256.safetensors": "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5",
    "tokenizers/l2_supercat_tokenizer_config.json": (
        "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
    ),
}
_WEIGHTS, _TOKENIZER = PUBLISHED
_BATCH = 256
Bag = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Different tokens, and how often each counts."""


class WordLlama:
    """The mean of a text's token vectors: 256 dimensions, unit length; all of a text is read.

    A text without a token gets the vector of the token that starts every text.
    """

    name = "wordllama"
    dim = 256
    soft = True
    model_id = f"wordllama-l2-supercat-256@sha256:{PUBLISHED[_WEIGHTS]}"

    def __init__(self) -> None:
        from safetensors.numpy import load_file

        folder = package_folder("wordllama")
        if folder is None:
            raise MissingPackageError("wordllama", "wordllama", "for the embedder `wordllama`")
        require_published(folder, PUBLISHED, "wordllama")
        # Half-precision weights add up exactly in float64, in any order.
        self._weights = load_file(folder / _WEIGHTS)["embedding.weight"].astype(np.float64)
        tokenizers: Any = importlib.import_module("tokenizers")
        self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / _TOKENIZER))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._first = self._tokenizer.token_to_id("<s>")

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, 256)` unit vectors in the order of the texts."""
        found = checked_texts(texts)
        vectors = np.empty((len(found), self.dim), np.float32)
        for start in range(0, len(found), _BATCH):
            part = found[start : start + _BATCH]
            sums = [counts.astype(np.float64) @ self._weights[tokens] for tokens, counts in self._bags(part)]
            vectors[start : start + len(part)] = unit_rows(np.stack(sums), start)
            if on_batch is not None:
                on_batch(len(part))
        return vectors

    def seen(self, texts: Sequence[str]) -> list[bytes]:
        """Return the share of each token in each text: order and repetition do not change its vector."""
        found = checked_texts(texts)
        return [
            np.stack([tokens, counts // np.gcd.reduce(counts)]).astype("<i8").tobytes()
            for start in range(0, len(found), _BATCH)
            for tokens, counts in self._bags(found[start : start + _BATCH])
        ]

    def _bags(self, texts: list[str]) -> Iterator[Bag]:
        """Each text's different tokens and their counts, which need no more memory for a very long text."""
        for text, each in zip(
            texts, self._tokenizer.encode_batch(texts, add_special_tokens=False), strict=True
        ):
            if isinstance(text, SoftText):
                yield self._soft_bag(text, each)
            else:
                yield np.unique(np.array(each.ids or [self._first], np.int64), return_counts=True)

    def _soft_bag(self, text: SoftText, read: Any) -> Bag:
        """The text's tokens outside its soft places, and in those every term's as a share of one."""
        starts, ends = np.array(read.offsets, np.int64).reshape(-1, 2).T
        outside = np.ones(len(starts), bool)
        whole, weights = shares(text.places)
        inside: Counter[int] = Counter()
        for (terms, weight), places in _alike(text.places, weights).items():
            for place in places:
                first = np.searchsorted(ends, place.start, side="right")
                outside[first : np.searchsorted(starts, place.end, side="left")] = False
            for each in self._tokenizer.encode_batch(list(terms), add_special_tokens=False):
                for token in each.ids:
                    inside[token] += weight * len(places)
        own, counts = np.unique(np.array(read.ids, np.int64)[outside], return_counts=True)
        inside.update(dict(zip(own.tolist(), (counts * whole).tolist(), strict=True)))
        tokens = sorted(inside)
        return np.array(tokens, np.int64), np.array([inside[token] for token in tokens], np.int64)


def _alike(
    places: Sequence[SoftPlace], weights: Sequence[int]
) -> dict[tuple[tuple[str, ...], int], list[SoftPlace]]:
    """Places that stand for the same terms, so that those are looked at once."""
    found: dict[tuple[tuple[str, ...], int], list[SoftPlace]] = {}
    for place, weight in zip(places, weights, strict=True):
        found.setdefault((place.terms, weight), []).append(place)
    return found
