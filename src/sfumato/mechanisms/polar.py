"""Polar (STAMP, theorem 3): a direction from the von Mises-Fisher law, with or without a noisy radius."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sfumato import grid
from sfumato.accounting.guarantee import Guarantee
from sfumato.errors import ParameterError
from sfumato.mechanisms.angles import AngleLaw, angle_between, cosines, turn, unit
from sfumato.mechanisms.base import EPSILON_RANGE, SLACK, Mechanism
from sfumato.numbers import finite_number
from sfumato.randomness import Draws
from sfumato.sampling import exponentials
from sfumato.types import FloatArray, Floats

if TYPE_CHECKING:
    from sfumato.mechanisms.losses import LossLaw


@lru_cache(maxsize=64)
def _law(kappa: float, dim: int) -> AngleLaw:
    # kappa sin^2 = (n - 2) cos at the peak; written so that neither large n nor large kappa cancels.
    cosine = 2 * kappa / (dim - 2 + math.hypot(dim - 2, 2 * kappa))
    return AngleLaw(dim, lambda angle: kappa * np.cos(angle), math.acos(min(1.0, cosine)))


class Polar(Mechanism):
    """Metric local differential privacy in the chordal distance of directions, hence in the angle too.

    Args:
        epsilon: concentration of the direction; loss per unit of chordal distance.
        radius_epsilon: None drops the radius (normalised polar); a number releases it with Laplace noise.
    """

    name = "polar"
    paper = "STAMP"
    smallest_dim = 2
    additive = False

    def __init__(self, *, epsilon: float, radius_epsilon: float | None = None, max_norm: float = 1.0) -> None:
        super().__init__(max_norm=max_norm)
        self.epsilon = finite_number(epsilon, "epsilon", *EPSILON_RANGE)
        self.radius_epsilon = (
            None
            if radius_epsilon is None
            else finite_number(radius_epsilon, "radius_epsilon", *EPSILON_RANGE)
        )

    @property
    def guarantee(self) -> Guarantee:
        """Epsilon per unit of chord, plus radius_epsilon per unit of radius where that is released."""
        if self.radius_epsilon is None:
            note = "only the direction is released; the worst case in l2 is for unit vectors"
            return Guarantee(
                self.name,
                self.epsilon,
                "chordal",
                "proved",
                worst_case_l2=self.epsilon,
                slack=SLACK,
                notes=(note,),
            )
        note = f"direction: {self.epsilon:g} per unit of chord; radius: {self.radius_epsilon:g} per unit"
        return Guarantee(
            self.name,
            max(self.epsilon, self.radius_epsilon),
            "chordal+radius",
            "proved",
            slack=SLACK,
            notes=(note, "near the origin a short step in l2 is a large turn, so there is no bound in l2"),
        )

    def parameters(self) -> dict[str, Any]:
        """Both epsilons and the norm bound."""
        return {"epsilon": self.epsilon, "radius_epsilon": self.radius_epsilon, "max_norm": self.max_norm}

    def expected(self, vectors: Any) -> Floats:
        """The directions, or the vectors where a radius is released."""
        rows = super().expected(vectors)
        return rows if self.radius_epsilon is not None else unit(rows)

    def step(self, dim: int) -> float:
        """The grid; directions are unit vectors, and a radius is cut at twice the norm bound."""
        return grid.step(self.noise_sd(dim), 1.0 if self.radius_epsilon is None else 2 * self.max_norm)

    def noise_sd(self, dim: int) -> float:
        """Root mean square of a tangent coordinate, for the longest vector."""
        tangent = math.sqrt(_law(self.epsilon, dim).mean_sine2 / (dim - 1))
        return tangent if self.radius_epsilon is None else tangent * self.max_norm

    def cosine_kept(self, dim: int | None = None) -> float:
        """E cos(angle), exactly: the ratio of Bessel functions I_(n/2)/I_(n/2-1) at kappa."""
        return _law(self.epsilon, self._dim(dim)).mean_cosine

    def noise_ratio(self, dim: int | None = None) -> float:
        """The noise ratio of additive noise that keeps the same cosine, sqrt(1/cos^2 - 1)."""
        return math.sqrt(max(self.cosine_kept(dim) ** -2 - 1.0, 0.0))

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        released = turn(vectors, draws, _law(self.epsilon, vectors.shape[1]))
        if self.radius_epsilon is None:
            released *= 1.0 / step
            return released
        wide = vectors.astype(np.float64)
        two = exponentials(draws, 2)
        radius = np.sqrt(np.vecdot(wide, wide)) + (two[:, 0] - two[:, 1]) / self.radius_epsilon
        # Reflecting at zero and cutting at the top are post-processing and keep a direction to release.
        released *= (np.minimum(np.abs(radius), 2 * self.max_norm) / step)[:, None]
        return released

    def log_density(self, released: Any, vectors: Any) -> Floats:
        """Log density of the direction on the unit sphere, times that of the reflected, cut radius."""
        outputs, inputs = self._pairs(released, vectors)
        law = _law(self.epsilon, inputs.shape[1])
        total = self.epsilon * np.cos(angle_between(outputs, inputs)) - law.log_normaliser
        if self.radius_epsilon is None:
            return np.asarray(total)
        r, centre = np.linalg.norm(outputs, axis=1), np.linalg.norm(inputs, axis=1)
        rate, top = self.radius_epsilon, 2 * self.max_norm
        folded = np.logaddexp(-rate * np.abs(r - centre), -rate * (r + centre)) + math.log(rate / 2)
        # Everything beyond the cut sits at the cut as one atom, spread over a grid cell by the rounding.
        cell = math.sqrt(inputs.shape[1]) * self.step(inputs.shape[1])
        atom = np.logaddexp(-rate * (top - centre), -rate * (top + centre)) - math.log(2)
        return np.asarray(total + np.where(r >= top - cell, atom, folded))

    def log_densities(self, released: NDArray[Any], vectors: NDArray[Any]) -> NDArray[Any]:
        """Epsilon times every cosine, in one product, where no radius is released."""
        if self.radius_epsilon is not None:
            return super().log_densities(released, vectors)
        return self.epsilon * cosines(released, vectors)

    def direction(self) -> Polar:
        """The same law without the radius, which does not depend on the direction."""
        return Polar(epsilon=self.epsilon, max_norm=self.max_norm)

    def loss_law(self, distance: float, dim: int | None = None) -> LossLaw:
        """The same for any two inputs whose directions are this far apart as the chord goes."""
        from sfumato.mechanisms.losses import chordal_loss

        if self.radius_epsilon is not None:
            raise ParameterError(
                "polar with a released radius has no curve over one distance: directions and radii count "
                "apart. Drop the radius (radius_epsilon=None)."
            )
        chord = finite_number(distance, "distance", 0.0, 2.0)
        return chordal_loss(_law(self.epsilon, self._dim(dim)), self.epsilon, chord)
