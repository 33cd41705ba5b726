"""Gaussian noise: a plain scale (Vec2Text's defence), or the analytic mechanism of Balle and Wang 2018."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sfumato.accounting.guarantee import Guarantee
from sfumato.arrays import NORM_TOLERANCE
from sfumato.mechanisms.base import EPSILON_RANGE, MAX_NORM_RANGE, SLACK, Mechanism, add_noise
from sfumato.mechanisms.ellipse import Ellipse
from sfumato.mechanisms.moments import chi_mean
from sfumato.numbers import finite_number
from sfumato.randomness import Draws
from sfumato.sampling import normals
from sfumato.types import FloatArray, Floats

if TYPE_CHECKING:
    from sfumato.mechanisms.losses import LossLaw

SIGMA_RANGE = (1e-6, 1e6)


def gaussian_delta(epsilon: float, distance: float, sigma: float) -> float:
    """Smallest delta at `epsilon` for two inputs at `distance` (Balle and Wang 2018, theorem 8)."""
    from scipy.special import log_ndtr

    a, b = distance / (2 * sigma), epsilon * sigma / distance
    # log(exp(log_p) - exp(log_q)) keeps precision where both terms are tiny.
    log_p, log_q = float(log_ndtr(a - b)), epsilon + float(log_ndtr(-a - b))
    return math.exp(log_p) * -math.expm1(min(0.0, log_q - log_p)) if log_q < log_p else 0.0


def analytic_sigma(epsilon: float, delta: float, distance: float) -> float:
    """Smallest sigma that gives (epsilon, delta) between any two inputs at most `distance` apart."""
    from scipy.optimize import brentq

    def gap(log_sigma: float) -> float:
        return gaussian_delta(epsilon, distance, math.exp(log_sigma)) - delta

    low, high = (math.log(bound * distance) for bound in SIGMA_RANGE)
    solved = float(brentq(gap, low, high, xtol=1e-13, rtol=1e-13))
    return math.exp(solved) * (1 + 1e-9)  # the root-finder's error falls on the private side


class Gaussian(Mechanism):
    """Independent normal noise; `Gaussian.analytic` promises (epsilon, delta), a bare scale nothing."""

    name = "gaussian"
    paper = "Vec2Text; Balle and Wang 2018"
    strength = "sigma"
    strength_range = SIGMA_RANGE

    def __init__(self, *, sigma: float, max_norm: float = 1.0) -> None:
        super().__init__(max_norm=max_norm)
        self.sigma = finite_number(sigma, "sigma", *SIGMA_RANGE)
        self._promise: tuple[float, float] | None = None

    @classmethod
    def analytic(cls, *, epsilon: float, delta: float, max_norm: float = 1.0) -> Gaussian:
        """Make the mechanism that is (epsilon, delta) private between any two vectors within `max_norm`."""
        epsilon = finite_number(epsilon, "epsilon", *EPSILON_RANGE)
        delta = finite_number(delta, "delta", 1e-300, 0.5)
        bound = finite_number(max_norm, "max_norm", *MAX_NORM_RANGE)
        # The gate lets a norm exceed its bound by NORM_TOLERANCE; the promise covers those vectors too.
        made = cls(sigma=analytic_sigma(epsilon, delta, 2 * bound * (1 + NORM_TOLERANCE)), max_norm=bound)
        made._promise = (epsilon, delta)
        return made

    @property
    def guarantee(self) -> Guarantee:
        """(epsilon, delta) between any two inputs for the analytic form, otherwise none."""
        if self._promise is None:
            note = "a bare noise scale carries no epsilon; use Gaussian.analytic(epsilon=, delta=) for one"
            return Guarantee(self.name, math.inf, "none", "none", notes=(note,))
        epsilon, delta = self._promise
        return Guarantee(self.name, epsilon, "bounded", "proved", delta=delta, slack=SLACK)

    def parameters(self) -> dict[str, Any]:
        """Sigma, the norm bound and the promise, if there is one."""
        epsilon, delta = self._promise or (None, None)
        return {"sigma": self.sigma, "epsilon": epsilon, "delta": delta, "max_norm": self.max_norm}

    def _given(self) -> dict[str, Any]:
        """Scale and norm bound: a promise belongs to one scale."""
        return {"sigma": self.sigma, "max_norm": self.max_norm}

    @classmethod
    def from_saved(
        cls, parameters: Mapping[str, Any], tensors: Mapping[str, Floats], *, source: str = "unknown"
    ) -> Gaussian:
        """Make it from its promise where it has one, else from its scale."""
        given = dict(parameters)
        epsilon, delta = given.pop("epsilon"), given.pop("delta")
        if epsilon is None:
            return cls(**given)
        return cls.analytic(epsilon=epsilon, delta=delta, max_norm=given["max_norm"])

    def noise_sd(self, dim: int) -> float:
        """Sigma."""
        return self.sigma

    def noise_ratio(self, dim: int | None = None) -> float:
        """Sigma times the mean length of a standard normal vector."""
        return self.sigma * chi_mean(self._dim(dim)) / self.max_norm

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        return add_noise(vectors, normals(draws, vectors.shape[1]), np.array([self.sigma]), step, draws.space)

    def ellipse(self, dim: int) -> Ellipse:
        """Independent normals."""
        log_constant = -dim * math.log(self.sigma * math.sqrt(2 * math.pi))
        return Ellipse(lambda noise: noise / self.sigma, log_constant, squared=True)

    def loss_law(self, distance: float, dim: int | None = None) -> LossLaw:
        """The same for any two inputs at this Euclidean distance, in any dimension."""
        from sfumato.mechanisms.losses import NormalLoss

        return NormalLoss(distance / self.sigma)
