"""The trade-off between two inputs: what a test that tells their releases apart must get wrong.

A test of "the first input" against "the second" has a chance alpha to reject the first where it is true, and
a chance beta to miss the second. The best tests compare the privacy loss with a threshold l (Neyman and
Pearson), so that the curve T(alpha) = smallest beta (f-DP; Dong, Roth and Su 2019) runs
through the points alpha = P(loss <= l), beta = Q(loss > l), with slope -exp(-l) there. Every pair here is
symmetric, so that Q(loss > l) = P(loss < -l).

Whatever is done to a release afterwards (filter, eraser, unit length, grid) can only raise the curve.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sfumato.accounting.curves import reach
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.losses import LossLaw
from sfumato.numbers import finite_number
from sfumato.types import Floats

POINTS = 1025
"""Thresholds on a curve; an odd number, so that 0 is one of them."""

LARGEST_DISTANCE = 1e6
_STEEPEST = 700.0


@dataclass(frozen=True, slots=True, eq=False)
class TradeOff:
    """A symmetric trade-off curve, as a band that the exact one lies in."""

    losses: Floats
    """`[n]` thresholds, ascending and the same on either side of 0."""
    low: Floats
    """`[n]` alpha at each threshold is at least this; beta is that of the opposite threshold."""
    high: Floats
    """`[n]` and at most this."""
    mu: float
    """Of the Gaussian curve that it comes close to in many dimensions."""

    @property
    def total_variation(self) -> float:
        """Best advantage over chance, max 1 - alpha - T(alpha): the middle of its band."""
        least, most = self._total_variation()
        return (least + most) / 2

    @property
    def error(self) -> float:
        """The total variation is off by no more than this."""
        least, most = self._total_variation()
        return (most - least) / 2

    @property
    def worst_total_variation(self) -> float:
        """The upper end of the band: what a certificate says."""
        return self._total_variation()[1]

    def _total_variation(self) -> tuple[float, float]:
        # The likelihoods are equal where the loss is 0: no other threshold separates better.
        middle = len(self.losses) // 2
        least, most = 1 - 2 * float(self.high[middle]), 1 - 2 * float(self.low[middle])
        return min(max(least, 0.0), 1.0), min(max(most, 0.0), 1.0)

    def beta(self, alpha: Floats | float) -> Floats:
        """T(alpha) at its lowest: no attacker does better."""
        return self.bounds(alpha)[0]

    def bounds(self, alpha: Floats | float) -> tuple[Floats, Floats]:
        """The least and the most that T(alpha) can be: under its tangents, over its chords."""
        x = np.atleast_1d(np.asarray(alpha, np.float64))
        slopes = np.exp(np.clip(-self.losses, -_STEEPEST, _STEEPEST))
        tangents = self.low[::-1] - slopes * (x[:, None] - self.low)
        chords = np.interp(x, np.r_[0.0, self.high, 1.0], np.r_[1.0, self.high[::-1], 0.0])
        upper = np.minimum(chords, 1 - x)
        lower = np.minimum(np.maximum(tangents.max(axis=1), 0.0), upper)
        return lower, upper

    def gaussian(self, alpha: Floats | float) -> Floats:
        """The asymptotic curve G_mu(alpha) = Phi(Phi^-1(1 - alpha) - mu) (Dong, Roth and Su 2019)."""
        from scipy.special import ndtr, ndtri

        return np.asarray(ndtr(ndtri(1 - np.atleast_1d(np.asarray(alpha, np.float64))) - self.mu))

    @property
    def gaussian_total_variation(self) -> float:
        """2 Phi(mu/2) - 1, of the asymptotic curve."""
        return math.erf(self.mu / math.sqrt(8))


def trade_off(mechanism: Mechanism, distance: float, dim: int | None = None) -> TradeOff:
    """The exact curve of one release between two inputs at a distance, or the worst two where they differ.

    Args:
        mechanism: whose releases are told apart. One that knows no law of its loss promises nothing: its
            curve is 0.
        distance: in the metric of its guarantee: Euclidean (laplace, gaussian, projection), Mahalanobis,
            radians (purkayastha), chord (polar).
        dim: of the vectors, where the mechanism fixes none.
    """
    law = loss_between(mechanism, distance, dim)
    return from_law(law) if isinstance(law, LossLaw) else law


def loss_between(mechanism: Mechanism, distance: float, dim: int | None) -> LossLaw | TradeOff:
    """The law of the loss between two inputs, or a curve where there is no loss to speak of."""
    apart = finite_number(distance, "distance", 0.0, LARGEST_DISTANCE)
    if apart == 0:
        return ALIKE
    law = mechanism.loss_law(apart, dim)
    return TOLD_APART if law is None else law


def from_law(law: LossLaw) -> TradeOff:
    """The curve of a law of the privacy loss."""
    losses = symmetric_grid(reach(law), POINTS)
    alpha, error = law.cdf(losses)
    return TradeOff(losses, *band(alpha, alpha, error), law.mu)


def band(low: Floats, high: Floats, error: float) -> tuple[Floats, Floats]:
    """Two distribution functions moved apart by an error, and still distribution functions."""
    return (
        np.minimum.accumulate(np.clip(low - error, 0.0, 1.0)[::-1])[::-1],
        np.maximum.accumulate(np.clip(high + error, 0.0, 1.0)),
    )


def symmetric_grid(end: float, points: int) -> Floats:
    """An odd number of thresholds around an exact 0, inside the largest loss."""
    half = np.linspace(0.0, end * (1 - 1e-12), points // 2 + 1)
    return np.concatenate([-half[:0:-1], half])


TOLD_APART = TradeOff(np.zeros(1), np.zeros(1), np.zeros(1), math.inf)
"""Of inputs that are always told apart."""
ALIKE = TradeOff(np.zeros(1), np.full(1, 0.5), np.full(1, 0.5), 0.0)
"""Of inputs that never are."""
