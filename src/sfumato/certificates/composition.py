"""Several fresh releases of one input: their losses add, so that the law of the sum is a convolution.

The loss of one release is rounded to a grid of width h and moved so that its mean is kept, and the grid's
law is raised to the k-th power by fast Fourier transform (Gopi, Lee and Wutschitz 2021). Rounding errors have
mean 0 and an interval of length h, so their sum stays within h sqrt(k ln(2/eta)/2) but for a chance eta
(Hoeffding): the exact distribution lies between the computed one moved left and moved right by that much, and
by eta up or down. Beside it the simple rule, k fresh releases cost sqrt(k) mu (Dong, Roth and Su 2019).
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.certificates.tradeoff import (
    POINTS,
    TradeOff,
    band,
    from_law,
    loss_between,
    reach,
    symmetric_grid,
)
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.losses import LossLaw
from sfumato.numbers import whole_number
from sfumato.types import Floats

MOST_RELEASES = 10_000
CELLS = 1 << 13
_CHANCE = 1e-10
"""Eta: a sum of rounding errors strays further than its bound with no more than this chance."""
_TRANSFORM = 1e-9
"""Room for the rounding of the transforms, in sums of probabilities."""


def composed_trade_off(
    mechanism: Mechanism, distance: float, releases: int, dim: int | None = None, *, cells: int = CELLS
) -> TradeOff:
    """The curve of k releases of one input, with fresh noise each, against k of the other.

    Releases with sticky noise are one release, however often they are made.

    Args:
        mechanism: whose releases they are.
        distance: between the two inputs, see `trade_off`.
        releases: how many.
        dim: of the vectors, where the mechanism fixes none.
        cells: of the grid for one release; more make the band narrower.
    """
    count = whole_number(releases, "releases", 1, MOST_RELEASES)
    whole_number(cells, "cells", 64, 1 << 17)
    law = loss_between(mechanism, distance, dim)
    if not isinstance(law, LossLaw):
        return law
    return from_law(law) if count == 1 else compose(law, count, cells)


def compose(law: LossLaw, count: int, cells: int = CELLS) -> TradeOff:
    """The curve of the sum of independent losses of one law."""
    end = reach(law)
    width = 2 * end / cells
    edges = np.linspace(-end, end, cells + 1)
    values, error = law.cdf(edges)
    values[0], values[-1] = 0.0, 1.0  # a loss beyond stands at the end; `beyond` counts it as missed
    masses = np.maximum(np.diff(values), 0.0)
    masses /= masses.sum()
    middles = (edges[:-1] + edges[1:]) / 2
    mean, mean_error = _mean(law, end)
    total, start = _power(masses, middles[0] + mean - float(masses @ middles), width, count)
    # The masses may be off by `error` at every edge, and with them the mean that was kept.
    wrong = cells * error
    beyond = count * (wrong + 4e-12)
    stray = width * math.sqrt(count * math.log(2 / _CHANCE) / 2) + count * (mean_error + 2 * wrong * end)
    cumulative = np.concatenate([[0.0], np.minimum(np.cumsum(total), 1.0)])

    def cdf(points: Floats) -> Floats:
        place = np.floor((points - start) / width).astype(np.int64) + 1
        return np.asarray(cumulative[np.clip(place, 0, len(cumulative) - 1)])

    last = start + width * float(np.searchsorted(cumulative, 1 - 1e-10))
    losses = symmetric_grid(min(last + stray, count * end), 4 * POINTS)
    low, high = band(cdf(losses - stray), cdf(losses + stray), 2 * _CHANCE + _TRANSFORM + beyond)
    return TradeOff(losses, low, high, law.mu * math.sqrt(count))


def _mean(law: LossLaw, end: float) -> tuple[float, float]:
    """Mean of the loss, cut at both ends: end minus the integral of its distribution; and its error."""
    found = []
    error = 0.0
    nodes, weights = np.polynomial.legendre.leggauss(16)
    for panels in (16, 32):
        half = end / panels
        centres = -end + half * (2 * np.arange(panels) + 1)
        values, error = law.cdf((centres[:, None] + half * nodes).ravel())
        found.append(end - half * float(values @ np.tile(weights, panels)))
    return found[1], 4 * abs(found[1] - found[0]) + 2 * end * error


def _power(masses: Floats, first: float, width: float, count: int) -> tuple[Floats, float]:
    """Law of the sum of `count` draws from a grid: masses around its mean, and where the first one stands.

    The transform is periodic: the period holds all but a chance of `_CHANCE` of the sum (Hoeffding).
    """
    cells = len(masses)
    spread = 2 * math.ceil(cells * math.sqrt(count * math.log(2 / _CHANCE) / 2))
    size = 1 << (min(spread, 2 * count * cells) - 1).bit_length()
    periodic = np.fft.irfft(np.fft.rfft(masses, size) ** count, size)
    lowest = math.floor(count * float(masses @ np.arange(cells))) - size // 2
    total = periodic[(lowest + np.arange(size)) % size]
    return np.maximum(total, 0.0), count * first + lowest * width
