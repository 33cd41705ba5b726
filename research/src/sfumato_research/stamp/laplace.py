"""The Laplace baseline as STAMP's published code has it: noise in every coordinate on its own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.accounting.guarantee import Guarantee
from sfumato.mechanisms import Mechanism
from sfumato.randomness import Draws
from sfumato.sampling import exponentials
from sfumato.text import WordVectors
from sfumato.types import FloatArray, Floats


class CoordinateLaplace(Mechanism):
    """Independent noise whose scale is the l1 range of the whole table over epsilon.

    Any two words are neighbours in its promise, so that it draws far more noise than Laplace on a metric.
    """

    name, paper = "coordinate laplace", "STAMP's code"

    def __init__(self, epsilon: float, span: float) -> None:
        super().__init__()
        self.epsilon, self.span = epsilon, span

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon between any two words of the table."""
        return Guarantee(self.name, self.epsilon, "bounded", "proved")

    def parameters(self) -> dict[str, Any]:
        """Epsilon and the range of the table."""
        return {"epsilon": self.epsilon, "span": self.span}

    def noise_sd(self, dim: int) -> float:
        """Root mean square of one coordinate's noise."""
        return math.sqrt(2) * self.span / self.epsilon

    def noise_ratio(self, dim: int | None = None) -> float:
        """Length of the noise over that of a unit vector."""
        return self.noise_sd(dim or 1) * math.sqrt(dim or 1)

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        two = exponentials(draws, 2 * vectors.shape[1])
        noise = (two[:, ::2] - two[:, 1::2]) * (self.span / self.epsilon)
        return np.asarray((vectors + noise) / step, np.float64)


def table_span(vocabulary: WordVectors) -> float:
    """The largest l1 distance that two vectors inside the ranges of the table's coordinates can have."""
    vectors = vocabulary.vectors
    return float((vectors.max(axis=0) - vectors.min(axis=0)).sum(dtype=np.float64))
