"""Purkayastha (PurMech, Du et al. 2023): a direction of density ~ exp(-epsilon angle(x, y)) on the sphere."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import grid
from sfumato.accounting.guarantee import Guarantee
from sfumato.mechanisms.angles import AngleLaw, angle_between, cosines, turn, unit
from sfumato.mechanisms.base import EPSILON_RANGE, SLACK, Mechanism
from sfumato.numbers import finite_number
from sfumato.randomness import Draws
from sfumato.types import FloatArray, Floats

if TYPE_CHECKING:
    from sfumato.mechanisms.losses import LossLaw


@lru_cache(maxsize=64)
def _law(epsilon: float, dim: int) -> AngleLaw:
    # The weight (n - 2) log sin t - epsilon t peaks where tan t = (n - 2)/epsilon.
    return AngleLaw(dim, lambda angle: -epsilon * angle, math.atan2(dim - 2, epsilon))


class Purkayastha(Mechanism):
    """Metric local differential privacy in the angle: loss of epsilon per radian; releases unit vectors."""

    name = "purkayastha"
    paper = "Du et al. 2023 (PurMech in SPARSE and DPPN)"
    smallest_dim = 2
    additive = False

    def __init__(self, *, epsilon: float, max_norm: float = 1.0) -> None:
        super().__init__(max_norm=max_norm)
        self.epsilon = finite_number(epsilon, "epsilon", *EPSILON_RANGE)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon per radian; on unit vectors an angle is at most pi/2 times the Euclidean distance."""
        return Guarantee(
            self.name,
            self.epsilon,
            "angular",
            "proved",
            worst_case_l2=self.epsilon * math.pi / 2,
            slack=SLACK,
            notes=("only the direction is released; the worst case in l2 is for unit vectors",),
        )

    def parameters(self) -> dict[str, Any]:
        """Epsilon and the norm bound."""
        return {"epsilon": self.epsilon, "max_norm": self.max_norm}

    def expected(self, vectors: Any) -> Floats:
        """The directions."""
        return unit(super().expected(vectors))

    def step(self, dim: int) -> float:
        """The grid; releases are unit vectors whatever the norm of the input."""
        return grid.step(self.noise_sd(dim), 1.0)

    def noise_sd(self, dim: int) -> float:
        """Root mean square of a tangent coordinate."""
        return math.sqrt(_law(self.epsilon, dim).mean_sine2 / (dim - 1))

    def cosine_kept(self, dim: int | None = None) -> float:
        """E cos(angle), exactly."""
        return _law(self.epsilon, self._dim(dim)).mean_cosine

    def noise_ratio(self, dim: int | None = None) -> float:
        """The noise ratio of additive noise that keeps the same cosine, sqrt(1/cos^2 - 1)."""
        return math.sqrt(max(self.cosine_kept(dim) ** -2 - 1.0, 0.0))

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        released = turn(vectors, draws, _law(self.epsilon, vectors.shape[1]))
        released *= 1.0 / step
        return released

    def log_density(self, released: Any, vectors: Any) -> Floats:
        """Log density on the unit sphere; released rows are normalised first."""
        outputs, inputs = self._pairs(released, vectors)
        law = _law(self.epsilon, inputs.shape[1])
        return -self.epsilon * angle_between(outputs, inputs) - law.log_normaliser

    def log_densities(self, released: NDArray[Any], vectors: NDArray[Any]) -> NDArray[Any]:
        """Minus epsilon times every angle, in one product."""
        return np.asarray(-self.epsilon * np.arccos(cosines(released, vectors)))

    def direction(self) -> Purkayastha:
        """Itself: it releases directions."""
        return self

    def loss_law(self, distance: float, dim: int | None = None) -> LossLaw:
        """The same for any two inputs at this angle, in radians."""
        from sfumato.mechanisms.losses import angular_loss

        angle = finite_number(distance, "distance", 0.0, math.pi)
        return angular_loss(_law(self.epsilon, self._dim(dim)), self.epsilon, angle)
