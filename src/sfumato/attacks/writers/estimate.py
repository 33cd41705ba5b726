"""The best linear guess at the clean vector behind a release, which a reader of clean vectors then reads."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ArtifactError
from sfumato.types import Floats, Vectors

PENALTIES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
"""Of ridge regression, beside the mean variance of a coordinate; which one is decided on held-back rows."""


@dataclass(frozen=True, slots=True, eq=False)
class LinearEstimate:
    """Undoes what is linear in a release: a turn, signs, codes of another length, noise in some directions.

    Args:
        matrix: `[m, d]` from releases, less their mean, to clean vectors, less theirs.
        before: `[m]` mean of the releases.
        after: `[d]` mean of the clean vectors.
    """

    matrix: Vectors
    before: Vectors
    after: Vectors

    def __post_init__(self) -> None:
        """Refuse parts that do not fit each other."""
        shapes = (
            (self.before.shape[0], self.after.shape[0]) if self.before.ndim == self.after.ndim == 1 else None
        )
        if self.matrix.shape != shapes or not all(
            np.isfinite(part).all() for part in self.tensors().values()
        ):
            raise ArtifactError(
                "The parts of an estimate must be finite and fit each other. Found others. Fit it again."
            )

    @classmethod
    def fit(cls, released: Vectors, clean: Vectors, held: tuple[Vectors, Vectors]) -> LinearEstimate:
        """Ridge regression of clean vectors on releases, of the penalty that foretells held-back rows best.

        Args:
            released: `(n, m)` fresh releases.
            clean: `(n, d)` the clean vectors of the same texts.
            held: releases and clean vectors of texts that are not among them.
        """
        before, after = released.mean(axis=0), clean.mean(axis=0)
        inputs, wanted = (released - before).astype(np.float64), (clean - after).astype(np.float64)
        gram, cross = inputs.T @ inputs, inputs.T @ wanted
        values, axes = np.linalg.eigh(gram)
        turned, scale = axes.T @ cross, max(float(values.mean()), 1e-12)
        made = [cls._of(axes, values, turned, scale * penalty, before, after) for penalty in PENALTIES]
        return min(made, key=lambda each: each._error(*held))

    @classmethod
    def _of(
        cls, axes: Floats, values: Floats, turned: Floats, penalty: float, before: Vectors, after: Vectors
    ) -> LinearEstimate:
        matrix = axes @ (turned / (np.maximum(values, 0.0) + penalty)[:, None])
        return cls(matrix.astype(np.float32), before.astype(np.float32), after.astype(np.float32))

    def _error(self, released: Vectors, clean: Vectors) -> float:
        return float(np.mean((self(released) - clean) ** 2))

    @property
    def dim(self) -> int:
        """The dimension of the releases it reads."""
        return int(self.matrix.shape[0])

    def __call__(self, released: Any) -> Vectors:
        """`(n, d)` guesses at clean vectors; their length says how sure they are."""
        centred = np.asarray(released, np.float32) - self.before
        return np.asarray(centred @ self.matrix + self.after, np.float32)

    def tensors(self) -> dict[str, NDArray[Any]]:
        """All of it, to be saved."""
        return {"matrix": self.matrix, "before": self.before, "after": self.after}
