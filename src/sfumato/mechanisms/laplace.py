"""Laplace (LapMech in SPARSE, DPPN and PRIVEMB): noise of density ~ exp(-epsilon ||z||)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.accounting.guarantee import Guarantee
from sfumato.mechanisms.base import EPSILON_RANGE, SLACK, Mechanism, add_noise
from sfumato.mechanisms.ellipse import Ellipse
from sfumato.mechanisms.moments import laplace_log_constant
from sfumato.numbers import finite_number
from sfumato.randomness import Draws
from sfumato.sampling import gammas, normals
from sfumato.types import FloatArray, Floats

if TYPE_CHECKING:
    from sfumato.mechanisms.losses import LossLaw


def laplace_scale(draws: Draws, dim: int, epsilon: float) -> Floats:
    """Draw the row factor that turns standard normals into noise of density ~ exp(-epsilon ||z||).

    exp(-epsilon ||z||) is a mixture of normals: with v ~ Gamma((n + 1)/2, 1), sqrt(2 v)/epsilon times a
    standard normal vector has that density (Andrews and Mallows 1974, in n dimensions), so that nothing needs
    to be normalised.
    """
    scale = gammas(draws, (dim + 1) / 2)
    scale *= 2.0
    np.sqrt(scale, out=scale)
    scale /= epsilon
    return scale


class Laplace(Mechanism):
    """Metric local differential privacy in the Euclidean distance: loss of epsilon per unit."""

    name = "laplace"
    paper = "Wu et al. 2017; Feyisetan et al. 2020"

    def __init__(self, *, epsilon: float, max_norm: float = 1.0) -> None:
        super().__init__(max_norm=max_norm)
        self.epsilon = finite_number(epsilon, "epsilon", *EPSILON_RANGE)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon in l2, from the triangle inequality alone."""
        return Guarantee(self.name, self.epsilon, "l2", "proved", worst_case_l2=self.epsilon, slack=SLACK)

    def parameters(self) -> dict[str, Any]:
        """Epsilon and the norm bound."""
        return {"epsilon": self.epsilon, "max_norm": self.max_norm}

    def noise_sd(self, dim: int) -> float:
        """sqrt(n + 1)/epsilon: the radius is Gamma(n), spread evenly over n coordinates."""
        return math.sqrt(dim + 1) / self.epsilon

    def noise_ratio(self, dim: int | None = None) -> float:
        """n/epsilon for unit vectors."""
        return self._dim(dim) / self.epsilon / self.max_norm

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        dim = vectors.shape[1]
        return add_noise(
            vectors, normals(draws, dim), laplace_scale(draws, dim, self.epsilon), step, draws.space
        )

    def ellipse(self, dim: int) -> Ellipse:
        """A ball: q is epsilon times the length of the noise."""
        return Ellipse(lambda noise: noise * self.epsilon, laplace_log_constant(dim, self.epsilon))

    def loss_law(self, distance: float, dim: int | None = None) -> LossLaw:
        """The same for any two inputs at this Euclidean distance."""
        from sfumato.mechanisms.losses import laplace_loss

        return laplace_loss(self.epsilon * distance, self._dim(dim))
