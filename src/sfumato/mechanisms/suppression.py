"""Suppression (DPPN, eq. 6): pushes the most sensitive dimensions towards and past zero; no guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.accounting.guarantee import Guarantee
from sfumato.errors import ParameterError
from sfumato.mechanisms.base import EPSILON_RANGE, Mechanism
from sfumato.mechanisms.moments import expected_root
from sfumato.numbers import finite_number
from sfumato.randomness import Draws
from sfumato.sampling import exponentials
from sfumato.sensitivity.mask import Mask
from sfumato.types import FloatArray, Floats


class Suppression(Mechanism):
    """One-sided noise x - sign(x)|v| on the top `share` of dimensions; the others pass through unchanged.

    Args:
        epsilon: the paper's level; the rate of v is epsilon * sqrt(k/n), to match noise in all n dimensions.
        mask: which dimensions are sensitive.
        share: the part of the dimensions that is suppressed.
    """

    name = "suppression"
    steady = False
    paper = "DPPN"
    needs_shape = True

    def __init__(
        self, *, epsilon: float, mask: Mask | NDArray[np.float64], share: float = 0.2, max_norm: float = 1.0
    ) -> None:
        super().__init__(max_norm=max_norm)
        self.epsilon = finite_number(epsilon, "epsilon", *EPSILON_RANGE)
        self.mask = mask if isinstance(mask, Mask) else Mask(np.asarray(mask, np.float64))
        self.share = finite_number(share, "share", 1e-9, 1.0)
        self.dim: int = self.mask.dim
        self.axes = self.mask.top(max(1, round(self.share * self.dim)))
        self.rate = self.epsilon * math.sqrt(len(self.axes) / self.dim)

    @property
    def guarantee(self) -> Guarantee:
        """None: most dimensions are released as they are."""
        note = f"{self.dim - len(self.axes)} of {self.dim} dimensions are released without noise"
        return Guarantee(self.name, math.inf, "none", "none", notes=(note,))

    def parameters(self) -> dict[str, Any]:
        """Epsilon, share and the norm bound."""
        return {"epsilon": self.epsilon, "share": self.share, "max_norm": self.max_norm}

    def tensors(self) -> dict[str, Floats]:
        """The mask."""
        return {"mask": self.mask.scores}

    def _given(self) -> dict[str, Any]:
        """The mask with its source."""
        return {**self.parameters(), "mask": self.mask}

    @classmethod
    def from_saved(
        cls, parameters: Mapping[str, Any], tensors: Mapping[str, Floats], *, source: str = "unknown"
    ) -> Suppression:
        """Make it from the mask's scores."""
        return cls(**parameters, mask=Mask(tensors["mask"], source=source))

    @classmethod
    def example(cls, dim: int) -> Suppression:
        """The last fifth of the dimensions."""
        return cls.from_noise_ratio(1.0, mask=Mask(np.linspace(0.0, 1.0, dim), source="synthetic"))

    def noise_sd(self, dim: int) -> float:
        """Root mean square of the noise where there is noise."""
        return math.sqrt(2.0) / self.rate

    def noise_covariance(self, dim: int) -> Floats:
        """Refuse: the noise depends on the signs of the vector."""
        raise ParameterError(
            "suppression pushes against the vector's signs, so its noise has no fixed covariance."
        )

    def noise_ratio(self, dim: int | None = None) -> float:
        """E of the length of k exponentials of the given rate."""
        from scipy.special import erfcx

        self._dim(dim)
        k = len(self.axes)

        def log_transform(t: Floats) -> Floats:
            # E exp(-t e^2) of a standard exponential e; the series is exact where the closed form cancels.
            closed = np.log(0.5 * np.sqrt(math.pi / t) * erfcx(0.5 / np.sqrt(t)))
            small = np.minimum(t, 1e-4)
            series = np.log1p(-2 * small + 12 * small**2 - 120 * small**3 + 1680 * small**4)
            return np.asarray(k * np.where(t < 1e-4, series, closed))

        return expected_root(log_transform, 2.0 * k) / self.rate / self.max_norm

    def cosine_kept(self, dim: int | None = None) -> float:
        """Predicted for evenly spread directions; noise that points against x costs more than even noise."""
        n, k = self._dim(dim), len(self.axes)
        pull = k * math.sqrt(2 / (math.pi * n)) / self.rate / self.max_norm
        length = math.sqrt(max(1.0 - 2 * pull + 2 * k / (self.rate * self.max_norm) ** 2, 1e-300))
        return (1.0 - pull) / length

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        released = vectors.astype(np.float64)
        push = exponentials(draws, len(self.axes))
        push /= self.rate
        released[:, self.axes] -= np.sign(released[:, self.axes]) * push
        released *= 1.0 / step
        return released

    def log_density(self, released: Any, vectors: Any) -> Floats:
        """Log density over the noised dimensions; minus infinity where an un-noised one or a sign says no."""
        outputs, inputs = self._pairs(released, vectors)
        room = self.step(self.dim)
        gap = (inputs - outputs) * np.where(inputs == 0.0, 0.0, np.sign(inputs))
        noised = np.zeros(self.dim, bool)
        noised[self.axes] = True
        possible = (np.abs(inputs - outputs)[:, ~noised] <= room).all(axis=1) & (gap[:, noised] >= -room).all(
            axis=1
        )
        total = (math.log(self.rate) - self.rate * np.maximum(gap[:, noised], 0.0)).sum(axis=1)
        return np.where(possible, total, -np.inf)
