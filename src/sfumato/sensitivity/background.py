"""The background: how embeddings of ordinary text spread, which sets what noise costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import row_blocks
from sfumato.errors import ParameterError
from sfumato.sensitivity.moments import as_rows, sums
from sfumato.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """Mean and covariance of public text under one encoder."""

    mean: Floats
    """`[d]`"""
    covariance: Floats
    """`[d, d]`, shrunk towards a multiple of the identity."""
    rows: int
    source: str = "unknown"
    """Where the text came from: "public", "synthetic", "private" or "unknown"."""

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return self.mean.size

    @classmethod
    def fit(cls, vectors: Any, *, source: str = "unknown") -> Background:
        """Shortcut for vectors that fit in memory."""
        fitter = BackgroundFitter()
        fitter.update(vectors)
        return fitter.finish(source=source)

    def filter_for(self, noise: Floats) -> Floats:
        """The public filter S (S + N)^-1 for noise of covariance N."""
        return np.asarray(np.linalg.solve(self.covariance + noise, self.covariance).T)

    def filtered(self, released: NDArray[np.float32], matrix: Floats) -> NDArray[np.float32]:
        """Releases pulled towards what public text looks like."""
        out = np.empty_like(released)
        for start, block in row_blocks(released, 1 << 20):
            out[start : start + len(block)] = (block - self.mean) @ matrix.T + self.mean
        return out


class BackgroundFitter:
    """Gathers mean and covariance batch by batch."""

    def __init__(self) -> None:
        self.rows = 0
        self._sum: Floats | None = None
        self._outer: Floats | None = None

    def update(self, vectors: Any) -> None:
        """Add a batch of vectors; of a tensor only its sums leave the device."""
        batch = as_rows(vectors, dim=None if self._sum is None else self._sum.size)
        total, outer = sums(batch)
        if not np.isfinite(np.diagonal(outer)).all():
            raise ParameterError("Background vectors must be finite. Found NaN or infinity.")
        self.rows += len(batch)
        self._sum = total if self._sum is None else self._sum + total
        self._outer = outer if self._outer is None else self._outer + outer

    def finish(self, *, source: str = "unknown") -> Background:
        """Shrink by the oracle approximating estimator (Chen, Wiesel, Eldar and Hero 2010, eq. 23)."""
        if self._sum is None or self._outer is None or self.rows < 2:
            raise ParameterError(f"A background needs at least 2 vectors. Found {self.rows}.")
        mean = self._sum / self.rows
        covariance = self._outer / self.rows - np.outer(mean, mean)
        n, p = self.rows, mean.size
        trace, square = float(np.trace(covariance)), float((covariance**2).sum())
        if trace <= 0:
            raise ParameterError("A background needs vectors that differ. Found only equal ones.")
        above = (1 - 2 / p) * square + trace**2
        below = (n + 1 - 2 / p) * (square - trace**2 / p)
        # The floor keeps the covariance invertible even where the text leaves a direction empty.
        weight = max(1e-3, min(1.0, above / below if below > 0 else 1.0))
        shrunk = (1 - weight) * covariance + weight * trace / p * np.eye(p)
        return Background(mean, (shrunk + shrunk.T) / 2, n, source)
