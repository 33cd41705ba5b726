"""Privacy losses on a grid, which add up by convolution: what several fresh releases give away together.

The loss of one release is rounded to cells of width h, a power of two, and moved so that its mean is kept;
laws of sums come by fast Fourier transform (Gopi, Lee and Wutschitz 2021). Rounding errors have mean 0 and an
interval of length h, so their sum over n releases stays within h sqrt(n ln(2/eta)/2) but for a chance eta
(Hoeffding): the exact distribution lies between the computed one moved left and moved right by that much, and
by eta up or down. Cells of two grids fit into each other, so that releases of different kinds add as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Protocol

import numpy as np

from sfumato.types import Floats

CELLS = 1 << 13
MOST_RELEASES = 10_000
TAIL = 1e-12
"""A loss beyond the grid has no more than about this chance, on either side."""
_CHANCE = 1e-10
"""Eta: a sum of rounding errors strays further than its bound with no more than this chance."""
_TRANSFORM = 1e-9
"""Room for the rounding of the transforms, in sums of probabilities."""
_FINER = 4
"""Cells of the common grid are at most 2^this narrower than the widest that are added."""


class KnownLoss(Protocol):
    """A distribution of the privacy loss, symmetric in that the second input has it with its sign turned."""

    mu: float
    largest: float

    def cdf(self, losses: Floats) -> tuple[Floats, float]:
        """P(loss <= l) for a release of the first input, and how far any of these may be off."""


class Lossy(Protocol):
    """What is needed of a mechanism."""

    @property
    def guarantee(self) -> Any:
        """What one release promises."""

    def fingerprint(self) -> bytes:
        """Changes whenever anything of it changes."""

    def loss_law(self, distance: float, dim: int | None = None) -> KnownLoss | None:
        """Law of the loss between the worst two inputs at a distance."""


@dataclass(frozen=True, slots=True, eq=False)
class GridLoss:
    """The loss of one release between two inputs at a distance, in cells of width 2^exponent."""

    exponent: int
    first: int
    """Number of the first cell; cell 0 begins at a loss of 0."""
    masses: Floats
    """`[n]` chance of each cell."""
    mean: float
    """Of the loss itself."""
    mean_error: float
    wrong: float
    """Its distribution may be off by so much; that of a sum by no more than the sum of these."""
    mu: float
    largest: float
    """The nominal bound: no loss is larger."""
    slack: float = 0.0
    """What floating point may add to the loss."""
    distance: float = 0.0
    name: str = ""
    """The same for the same mechanism, distance and dimension."""


def reach(law: KnownLoss) -> float:
    """A loss that is exceeded with a chance of no more than about `TAIL`, on either side."""
    low, high = 0.0, min(law.largest, law.mu**2 / 2 + 12 * law.mu + 12)

    def covered(end: float) -> bool:
        values, _ = law.cdf(np.array([end]))
        return bool(values[0] >= 1 - TAIL)

    while high < law.largest and not covered(high):
        low, high = high, min(2 * high, law.largest)
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if covered(middle) else (middle, high)
    return high


def discretised(law: KnownLoss, cells: int = CELLS) -> GridLoss:
    """Put a law on the grid, in `cells` to twice as many cells."""
    end = reach(law)
    exponent = math.floor(math.log2(2 * end / cells))
    width = 2.0**exponent
    half = math.ceil(end / width)
    values, error = law.cdf(np.arange(-half, half + 1, dtype=np.float64) * width)
    values[0], values[-1] = 0.0, 1.0  # a loss beyond stands at the end, and is counted as misplaced
    masses = np.diff(np.maximum.accumulate(np.clip(values, 0.0, 1.0)))
    mean, mean_error = _mean(law, end)
    # The distribution may be off by `error` everywhere, and with it the mean that is kept.
    return GridLoss(
        exponent,
        -half,
        masses,
        mean,
        mean_error + 2 * end * error,
        error + 4 * TAIL,
        law.mu,
        law.largest,
    )


def loss_of(mechanism: Lossy, distance: float, dim: int) -> GridLoss | None:
    """The loss of one release of a mechanism, for accounts; None where no law is known.

    It takes seconds to compute and is remembered.
    """
    terms = f"1 {mechanism.fingerprint().hex()} {distance!r} {dim}"
    name = sha256(terms.encode()).hexdigest()
    if name not in _REMEMBERED:
        law = mechanism.loss_law(distance, dim)
        if law is None:
            return None
        if len(_REMEMBERED) >= _MOST_REMEMBERED:
            _REMEMBERED.clear()
        slack = float(mechanism.guarantee.slack)
        made = discretised(law, CELLS // 2)
        _REMEMBERED[name] = replace(made, slack=slack, distance=distance, name=name)
    return _REMEMBERED[name]


_MOST_REMEMBERED = 32
_REMEMBERED: dict[str, GridLoss] = {}


@dataclass(frozen=True, slots=True, eq=False)
class SummedLoss:
    """The loss of several releases together: a distribution on the grid, and how far it may be off."""

    start: float
    width: float
    cumulative: Floats
    """`[n + 1]` chance of what lies before each cell's place."""
    stray: float
    """The exact loss is within this of the one on the grid."""
    room: float
    """But for a chance of this."""
    mu: float
    slack: float

    def bounds(self, losses: Floats) -> tuple[Floats, Floats]:
        """The least and the most that P(loss <= l) can be."""
        return self._cdf(losses - self.stray) - self.room, self._cdf(losses + self.stray) + self.room

    def _cdf(self, losses: Floats) -> Floats:
        place = np.floor((losses - self.start) / self.width).astype(np.int64) + 1
        return np.asarray(self.cumulative[np.clip(place, 0, len(self.cumulative) - 1)])

    @property
    def last(self) -> float:
        """A loss beyond which there is next to nothing."""
        return self.start + self.width * float(np.searchsorted(self.cumulative, 1 - 1e-10)) + self.stray

    @property
    def advantage(self) -> float:
        """At most this is the total variation, what floating point may add included."""
        low = float(self.bounds(np.zeros(1))[0][0])
        return min(1.0, max(0.0, 1 - 2 * max(low, 0.0)) + self.slack)


def summed(parts: Sequence[tuple[GridLoss, int]]) -> SummedLoss:
    """The loss of so many fresh releases of each kind together."""
    exponents = [loss.exponent for loss, _ in parts]
    exponent = max(min(exponents), max(exponents) - _FINER)
    width = 2.0**exponent
    grids = [(_regridded(loss, exponent), loss, count) for loss, count in parts]
    size = _period([(masses, count) for masses, _, count in grids])
    transform = np.ones(size // 2 + 1, np.complex128)
    middle = start = stray = wrong = slack = squares = 0.0
    for masses, loss, count in grids:
        transform *= np.fft.rfft(masses, size) ** count
        at = float(masses @ np.arange(len(masses)))
        middle += count * at
        # Where the first cell stands, moved so that the mean is that of the loss.
        start += count * (loss.mean - at * width)
        stray += count * loss.mean_error
        wrong += count * loss.wrong
        slack += count * loss.slack
        squares += count * 4.0 ** max(loss.exponent, exponent)
    lowest = math.floor(middle) - size // 2
    masses = np.fft.irfft(transform, size)[(lowest + np.arange(size)) % size]
    cumulative = np.minimum(np.cumsum(np.maximum(masses, 0.0)), 1.0)
    return SummedLoss(
        start + lowest * width,
        width,
        np.concatenate([[0.0], cumulative]),
        stray + math.sqrt(squares * math.log(2 / _CHANCE) / 2),
        wrong + 2 * _CHANCE + _TRANSFORM,
        math.sqrt(sum(count * loss.mu**2 for loss, count in parts)),
        slack,
    )


def _regridded(loss: GridLoss, exponent: int) -> Floats:
    """The masses on another grid: cells put together, or each as one cell of many that are narrower."""
    if loss.exponent >= exponent:
        times = 1 << (loss.exponent - exponent)
        masses = np.zeros((len(loss.masses) - 1) * times + 1)
        masses[::times] = loss.masses
        return masses
    times = 1 << (exponent - loss.exponent)
    places = (loss.first + np.arange(len(loss.masses))) // times
    return np.asarray(np.bincount(places - places[0], loss.masses), np.float64)


def _period(grids: Sequence[tuple[Floats, int]]) -> int:
    """Cells that hold the sum but for a chance of `_CHANCE`: by Hoeffding's or Bernstein's inequality."""
    log = math.log(2 / _CHANCE)
    all_of_it = 2 * sum(count * len(masses) for masses, count in grids)
    hoeffding = math.sqrt(sum(count * len(masses) ** 2 for masses, count in grids) * log / 2)
    widest, variance = 0.0, 0.0
    for masses, count in grids:
        at = np.arange(len(masses))
        mean = float(masses @ at)
        variance += count * float(masses @ (at - mean) ** 2)
        widest = max(widest, mean, len(masses) - mean)
    bernstein = widest * log / 3 + math.sqrt((widest * log / 3) ** 2 + 2 * variance * log)
    needed = min(2 * math.ceil(min(hoeffding, bernstein)) + 2, all_of_it)
    return 1 << max(1, (needed - 1).bit_length())


def _mean(law: KnownLoss, end: float) -> tuple[float, float]:
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
