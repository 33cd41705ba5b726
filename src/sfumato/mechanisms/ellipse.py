"""The law of elliptical noise, from which densities, attacks and checks of every such mechanism follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.types import Floats


@dataclass(frozen=True, slots=True, eq=False)
class Ellipse:
    """Noise of density ~ exp(-q), or exp(-q^2/2) where `squared`, with q the length of the whitened noise."""

    whiten: Callable[[Floats], Floats]
    """Linear: rows of noise in, rows out whose length is q."""
    log_constant: float
    """Log of the density's normaliser."""
    squared: bool = False

    def log_density(self, noise: Floats) -> Floats:
        """Log density of every row of noise."""
        length = np.linalg.norm(self.whiten(noise), axis=1)
        return np.asarray(self.log_constant - (length**2 / 2 if self.squared else length))

    def log_densities(self, released: NDArray[Any], centres: NDArray[Any]) -> NDArray[Any]:
        """`[n, k]` log densities of every release around every centre, less the constant.

        They come in the precision of `released`, in which the constant would cost digits.
        """
        centres = centres.astype(released.dtype, copy=False)
        # Around a point between them, so that little cancels in the squares.
        middle = centres.mean(axis=0)
        left, right = self.whiten(released - middle), self.whiten(centres - middle)
        lengths = np.vecdot(left, left)[:, None] + np.vecdot(right, right)
        squares = np.maximum(lengths - 2 * left @ right.T, 0.0)
        return np.asarray(-squares / 2 if self.squared else -np.sqrt(squares))
