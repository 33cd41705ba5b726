"""Laws of the privacy loss: what the log-ratio of two inputs' densities is on a release of the first.

The trade-off between two inputs is all in that law (Dong, Roth and Su 2019). Every law here is of
a pair that a reflection swaps, so that the loss of a release of the second input is the same with its sign
turned. A loss depends on a radius (or an angle) and on one coordinate s of a uniform direction, and falls or
rises with s: given the radius its distribution is an incomplete beta function, and one integral is left.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sfumato.types import Floats

if TYPE_CHECKING:
    from sfumato.mechanisms.angles import AngleLaw

_NODES = 16
_LEAST_PANELS, _MOST_PANELS = 2, 256
_MOST_WORK = 1 << 22
"""Panels and nodes for all losses together; in few dimensions, where more would help, the error says so."""
_TAIL = 1e-16
_ENOUGH = 1e-12
_SAFETY = 4.0
_ROUNDING = 1e-13
"""Room for the rounding of the special functions and the sums."""
_AT_ONCE = 1 << 20
_FLAT = 0.05
"""Of inputs whose angle is so close to opposite a release is told by its angle to them alone."""


class LossLaw(ABC):
    """Distribution of the privacy loss of one release between two inputs.

    Attributes:
        mu: of the Gaussian differential privacy it comes close to: distance times root of the information.
        largest: the largest loss there can be.
    """

    mu: float
    largest: float

    @abstractmethod
    def cdf(self, losses: Floats) -> tuple[Floats, float]:
        """P(loss <= l) for a release of the first input, and how far any of these may be off."""


@dataclass(frozen=True, slots=True)
class NormalLoss(LossLaw):
    """Normal noise: the loss is normal itself, N(mu^2/2, mu^2) (as in Balle and Wang 2018)."""

    mu: float
    largest: float = math.inf

    def cdf(self, losses: Floats) -> tuple[Floats, float]:
        """In closed form."""
        from scipy.special import ndtr

        return np.asarray(ndtr(losses / self.mu - self.mu / 2)), _ROUNDING


@dataclass(frozen=True, slots=True, eq=False)
class RadialLoss(LossLaw):
    """A loss that is at most l where a coordinate s of a uniform direction is at least `threshold(r, l)`.

    The radius is integrated by Gauss and Legendre's rule in panels, as many as it takes for twice as many to
    change next to nothing; what that still changes, times `_SAFETY`, is the error.
    """

    mu: float
    largest: float
    sphere: int
    """Dimension of the space that the direction lies in."""
    log_density: Callable[[Floats], Floats]
    """Of the radius."""
    span: tuple[float, float]
    """Where all of the radius is but for `_TAIL` on either side."""
    threshold: Callable[[Floats, Floats], Floats]
    jumps: bool = False
    """Whether the integrand jumps, because the direction hardly matters or has two values alone."""

    def cdf(self, losses: Floats) -> tuple[Floats, float]:
        """By integration over the radius."""
        inside = np.clip(losses, -self.largest, self.largest)
        probes = inside[:: max(1, len(inside) // 32)]
        most = min(_MOST_PANELS, max(_LEAST_PANELS, _MOST_WORK // (_NODES * len(inside))))
        panels = most if self.jumps else _LEAST_PANELS
        while panels < most and self._change(probes, panels) > _ENOUGH:
            panels *= 2
        error = _SAFETY * self._change(inside, panels) + 2 * _TAIL + _ROUNDING
        fine = self._integral(inside, 2 * panels)
        if self.jumps:
            # A rule of positive weights misses at most those on either side of a jump.
            error += 4 * float(self._rule(2 * panels)[1].max())
        bounded = np.where(losses >= self.largest, 1.0, np.where(losses < -self.largest, 0.0, fine))
        return np.clip(bounded, 0.0, 1.0), error

    def _change(self, losses: Floats, panels: int) -> float:
        return float(np.abs(self._integral(losses, 2 * panels) - self._integral(losses, panels)).max())

    def _rule(self, panels: int) -> tuple[Floats, Floats]:
        """Radii and the mass that each stands for."""
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        edges = np.linspace(*self.span, panels + 1)
        half = (edges[1] - edges[0]) / 2
        radius = ((edges[:-1] + half)[:, None] + half * nodes).ravel()
        return radius, np.exp(self.log_density(radius)) * half * np.tile(weights, panels)

    def _integral(self, losses: Floats, panels: int) -> Floats:
        radius, mass = self._rule(panels)
        out = np.empty(len(losses))
        rows = max(1, _AT_ONCE // len(radius))
        for low in range(0, len(losses), rows):
            part = losses[low : low + rows, None]
            out[low : low + rows] = upper_cap(self.threshold(radius, part), self.sphere) @ mass
        return out


def upper_cap(height: Floats, dim: int) -> Floats:
    """P(s >= height) for a coordinate s of a uniform direction in `dim` dimensions; s^2 is a beta one."""
    from scipy.special import betainc

    if dim == 1:
        return np.asarray(np.where(height <= -1, 1.0, np.where(height <= 1, 0.5, 0.0)))
    bounded = np.clip(height, -1.0, 1.0)
    square, side = bounded**2, np.empty_like(bounded)
    near = square * dim < 1  # where 1 - s^2 no longer carries the digits
    far = bounded[~near]
    side[near] = (1 - betainc(0.5, (dim - 1) / 2, square[near])) / 2
    side[~near] = betainc((dim - 1) / 2, 0.5, (1 - far) * (1 + far)) / 2
    return np.asarray(np.where(bounded >= 0, side, 1 - side))


def laplace_loss(separation: float, dim: int) -> RadialLoss:
    """Of noise of density ~ exp(-|w|), for two inputs t = `separation` apart in that metric.

    With w = r u the loss is sqrt(r^2 - 2 r t s + t^2) - r, r ~ Gamma(n), s = <u, e>; it is at most l where
    s >= ((t^2 - l^2)/(2 r) - l)/t. The information in one direction is E s^2 = 1/n, hence mu = t/sqrt(n).
    """
    from scipy.special import gammainccinv, gammaincinv

    def log_density(radius: Floats) -> Floats:
        return np.asarray((dim - 1) * np.log(radius) - radius - math.lgamma(dim))

    def threshold(radius: Floats, losses: Floats) -> Floats:
        product = (separation - losses) * (separation + losses)
        return np.asarray((product / (2 * radius) - losses) / separation)

    span = (float(gammaincinv(dim, _TAIL)), float(gammainccinv(dim, _TAIL)))
    return RadialLoss(separation / math.sqrt(dim), separation, dim, log_density, span, threshold, dim == 1)


def angular_loss(law: AngleLaw, epsilon: float, angle: float) -> RadialLoss:
    """Of a direction of density ~ exp(-epsilon a), a its angle to the input, for inputs `angle` apart.

    The loss is epsilon (b - a), b the angle to the other: cos b = cos a cos(angle) + sin a sin(angle) s. It
    is at most l = epsilon v where cos b >= cos(a + v), written here so that nothing cancels.
    """
    sine = max(math.sin(angle), 1e-300)

    def threshold(turned: Floats, losses: Floats) -> Floats:
        v = losses / epsilon
        gap = 2 * np.sin((angle + v) / 2) * np.sin((angle - v) / 2)  # cos v - cos(angle)
        height = (gap * np.cos(turned) / np.sin(turned) - np.sin(v)) / sine
        past = turned + v
        return np.asarray(np.where(past >= math.pi, -2.0, np.where(past <= 0, 2.0, height)))

    mu = epsilon * angle / math.sqrt(law.dim - 1)
    jumps = law.dim == 2 or (sine < _FLAT and angle > 1)
    return RadialLoss(mu, epsilon * angle, law.dim - 1, law.log_density, law.span, threshold, jumps)


def chordal_loss(law: AngleLaw, kappa: float, chord: float) -> RadialLoss:
    """Of a von Mises-Fisher direction y, for inputs x and x' that are `chord` apart.

    The loss is kappa <x - x', y> = kappa chord (cos a sin h + sin a cos h s), h half the angle between them.
    """
    sine = min(chord / 2, 1.0)
    cosine = max(math.sqrt((1 - sine) * (1 + sine)), 1e-300)

    def threshold(turned: Floats, losses: Floats) -> Floats:
        height = (losses / (kappa * chord) - np.cos(turned) * sine) / (np.sin(turned) * cosine)
        return np.asarray(-height)  # s <= h as often as s >= -h

    mu = kappa * chord * math.sqrt(law.mean_sine2 / (law.dim - 1))
    jumps = law.dim == 2 or cosine < _FLAT
    return RadialLoss(mu, kappa * chord, law.dim - 1, law.log_density, law.span, threshold, jumps)
