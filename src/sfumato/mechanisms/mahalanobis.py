"""Mahalanobis (SPARSE, algorithm 1): noise of density ~ exp(-epsilon sqrt(z' Sigma^-1 z))."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import grid
from sfumato.accounting.guarantee import Guarantee, Substitutions
from sfumato.errors import ParameterError
from sfumato.mechanisms.base import EPSILON_RANGE, SLACK, Mechanism, add_noise
from sfumato.mechanisms.ellipse import Ellipse
from sfumato.mechanisms.laplace import laplace_scale
from sfumato.mechanisms.moments import chi_mean, coloured_norm_mean, laplace_log_constant
from sfumato.numbers import finite_number
from sfumato.randomness import Draws
from sfumato.sensitivity.ellipsoid import Ellipsoid
from sfumato.sensitivity.mask import Mask
from sfumato.sensitivity.shapes import Dense, Diagonal, Factored, Shape, shape_from
from sfumato.types import FloatArray, Floats

if TYPE_CHECKING:
    from sfumato.mechanisms.losses import LossLaw


def as_shape(value: Mask | Ellipsoid | Shape | NDArray[np.float64]) -> Shape:
    """Turn a mask, an ellipsoid, a vector of variances or a covariance matrix into a shape."""
    if isinstance(value, Diagonal | Dense | Factored):
        return value
    if isinstance(value, Mask):
        return Diagonal(value.variances())
    if isinstance(value, Ellipsoid):
        return value.shape
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" or array.ndim not in (1, 2):
        raise ParameterError(
            f"`shape` must be a Mask, an Ellipsoid, variances (d,) or a covariance (d, d). "
            f"Found {type(value).__name__}."
        )
    return Diagonal(array) if array.ndim == 1 else Dense(array)


class Mahalanobis(Mechanism):
    """Metric local differential privacy in the Mahalanobis distance of `shape`.

    Args:
        epsilon: loss per unit of Mahalanobis distance.
        shape: a `Mask`, an `Ellipsoid`, a shape, variances or a covariance; its scale is used as it is.
    """

    name = "mahalanobis"
    paper = "SPARSE"
    needs_shape = True

    def __init__(
        self, *, epsilon: float, shape: Mask | Ellipsoid | Shape | NDArray[np.float64], max_norm: float = 1.0
    ) -> None:
        super().__init__(max_norm=max_norm)
        self.epsilon = finite_number(epsilon, "epsilon", *EPSILON_RANGE)
        self.shape = as_shape(shape)
        self.learned_from = shape.source if isinstance(shape, Mask | Ellipsoid) else "unknown"
        self.dim: int = self.shape.dim
        self.uses_blas = not isinstance(self.shape, Diagonal)

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon in the Mahalanobis metric; eps/sqrt(lambda_min) in the worst direction of l2."""
        return Guarantee(
            self.name,
            self.epsilon,
            "mahalanobis",
            "proved",
            worst_case_l2=self.epsilon / math.sqrt(float(self.shape.eigenvalues[0])),
            slack=self._slack(),
            notes=(
                f"the shape was learned from {self.learned_from} text",
                "learning from private text is itself a release",
            ),
        )

    def _slack(self) -> float:
        """Bound on the loss by rounding, as derived in docs/numerics.md."""
        values = self.shape.eigenvalues
        products = 2 * self.dim**1.5 if self.uses_blas else 0.0
        error = (128 + products) * 2.0**-53 * math.sqrt(float(values[-1]) * (self.dim + 1)) / self.epsilon
        cells = 4 * self.dim * error * 2 * grid.STEPS_PER_SD / self.noise_sd(self.dim)
        moved = 2 * self.epsilon * error * math.sqrt(float((1.0 / values).sum()))
        return max(SLACK, cells + moved)

    def parameters(self) -> dict[str, Any]:
        """Epsilon, the norm bound and the kind of shape."""
        return {
            "epsilon": self.epsilon,
            "max_norm": self.max_norm,
            "shape": type(self.shape).__name__.lower(),
        }

    def tensors(self) -> dict[str, Floats]:
        """The arrays of the shape."""
        return self.shape.tensors()

    def _given(self) -> dict[str, Any]:
        """The shape itself in the place of its kind."""
        return {**self.parameters(), "shape": self.shape}

    @classmethod
    def from_saved(
        cls, parameters: Mapping[str, Any], tensors: Mapping[str, Floats], *, source: str = "unknown"
    ) -> Mahalanobis:
        """Make the shape from its arrays, and the mechanism from the shape."""
        given = dict(parameters)
        given.pop("shape")
        made = cls(**given, shape=shape_from(tensors))
        made.learned_from = source
        return made

    @classmethod
    def example(cls, dim: int) -> Mahalanobis:
        """Noise that grows from axis to axis."""
        return cls.from_noise_ratio(1.0, shape=np.linspace(0.5, 1.5, dim))

    def noise_sd(self, dim: int) -> float:
        """Root mean square over all coordinates, sqrt((n + 1) trace/n)/epsilon."""
        return math.sqrt((dim + 1) * float(self.shape.eigenvalues.mean())) / self.epsilon

    def noise_covariance(self, dim: int) -> Floats:
        """The shape's covariance times (n + 1)/epsilon^2."""
        return np.asarray(self.shape.covariance() * ((self._dim(dim) + 1) / self.epsilon**2))

    def noise_ratio(self, dim: int | None = None) -> float:
        """(n/epsilon) E||Sigma^1/2 g|| / E||g||: n/epsilon only when all directions are alike."""
        n = self._dim(dim)
        spread = coloured_norm_mean(self.shape.eigenvalues) / chi_mean(n)
        return n / self.epsilon * spread / self.max_norm

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        return add_noise(
            vectors,
            self.shape.normals(draws),
            laplace_scale(draws, self.dim, self.epsilon),
            step,
            draws.space,
        )

    def ellipse(self, dim: int) -> Ellipse:
        """The shape's own: q is epsilon times the Mahalanobis length of the noise."""
        half_log_det = 0.5 * float(np.log(self.shape.eigenvalues).sum())
        constant = laplace_log_constant(self._dim(dim), self.epsilon) - half_log_det
        return Ellipse(lambda noise: self.shape.whiten(noise) * self.epsilon, constant)

    def loss_law(self, distance: float, dim: int | None = None) -> LossLaw:
        """That of a ball, once the shape is taken off: the same for any two inputs at this distance."""
        from sfumato.mechanisms.losses import laplace_loss

        return laplace_loss(self.epsilon * distance, self._dim(dim))

    def substitutions(self, distances: Mapping[str, float]) -> Substitutions:
        """Epsilon times their Mahalanobis distances."""
        return Substitutions(*(float(self.epsilon * distances[name]) for name in ("median", "p95", "max")))
