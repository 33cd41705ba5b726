"""A library: the likeliest, or the nearest, of some texts whose vectors are known."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import logsumexp

from sfumato import artifacts
from sfumato.arrays import as_vectors, row_blocks
from sfumato.artifacts import PathLike
from sfumato.attacks.base import Inverter, Recovered, checked
from sfumato.attacks.kept_release import pack_texts, unpack_texts
from sfumato.errors import ArtifactError, InputError
from sfumato.metrics.similarity import unit_rows
from sfumato.types import Floats, Vectors

_CELLS = 1 << 22
"""Pairs of a vector and a text weighed at a time."""


class Library(Inverter):
    """Names one of its own texts for each vector: a reader that needs no training.

    Args:
        texts: that it can name.
        vectors: `(n, d)` where each is expected.
        spread: `(d, d)` covariance of what is read around that, of a normal law; None reads directions, and
            names the nearest by cosine.
    """

    kind = "library-reader"

    def __init__(self, texts: Sequence[str], vectors: Any, spread: Floats | None = None) -> None:
        self.texts, found = checked(texts, vectors)
        if not self.texts:
            raise InputError("A library needs at least one text. Found none.")
        self.vectors = unit(found) if spread is None else found
        self.spread = spread
        # Around a point between them, so that little cancels in the squares.
        self._middle = self.vectors.mean(axis=0, dtype=np.float64)
        self._root = None if spread is None else np.linalg.inv(np.linalg.cholesky(spread)).T
        self._seen = self._whitened(self.vectors)

    def _whitened(self, rows: Any) -> Floats:
        wide = np.asarray(rows, np.float64)
        return wide if self._root is None else np.asarray((wide - self._middle) @ self._root)

    def recover(self, vectors: Any) -> Recovered:
        """Name a text for each row; `details` holds its `index`.

        The score is its probability among the texts, or its cosine where there is no spread.
        """
        rows = as_vectors(vectors, dim=self.vectors.shape[1])
        rows = unit(rows) if self._root is None else rows
        best, sure = np.zeros(len(rows), np.intp), np.zeros(len(rows))
        lengths = np.vecdot(self._seen, self._seen) / 2
        for start, block in row_blocks(rows, max(1, _CELLS // len(self.texts)) * rows.shape[1]):
            table = self._whitened(block) @ self._seen.T
            if self._root is not None:
                table -= lengths
                table -= logsumexp(table, axis=1, keepdims=True)
            best[start : start + len(block)] = table.argmax(axis=1)
            top = table.max(axis=1)
            sure[start : start + len(block)] = top if self._root is None else np.exp(top)
        return Recovered([self.texts[index] for index in best.tolist()], sure, {"index": best})

    def save(self, path: PathLike) -> str:
        """Write the texts, their vectors and the spread."""
        tensors = {"vectors": self.vectors, **pack_texts(self.texts)}
        if self.spread is not None:
            tensors["spread"] = self.spread
        return artifacts.save(path, self.kind, {}, tensors)

    @classmethod
    def load(cls, path: PathLike) -> Library:
        """Read them back."""
        tensors = artifacts.load(path, cls.kind).tensors
        if "vectors" not in tensors:
            raise ArtifactError("The saved library lacks its vectors. Save it again.")
        spread = np.array(tensors["spread"]) if "spread" in tensors else None
        try:
            return cls(unpack_texts(tensors), np.array(tensors["vectors"]), spread)
        except (np.linalg.LinAlgError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise ArtifactError(
                "The spread of a saved library must be a covariance matrix. Found another. Save it again."
            ) from None


def unit(rows: Any) -> Vectors:
    """Rows at unit length, in float32; a zero row stays one."""
    return unit_rows(rows).astype(np.float32)
