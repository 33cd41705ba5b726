"""Averaging: several releases of the same texts, their mean, and then any attack.

Independent noise shrinks by the square root of the number of releases; sticky noise is the same every time,
so its mean is what one release already was.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.attacks.base import Inverter, Recovered
from sfumato.errors import InputError
from sfumato.likelihood import Likelihood, simulated
from sfumato.metrics.intervals import Figure
from sfumato.numbers import whole_number
from sfumato.release import Release
from sfumato.types import Vectors

Releases = NDArray[Any] | Sequence[Any] | Callable[[], Any]
"""`(k, n, d)` releases, or what makes one more release of the same n texts at every call."""

Score = Callable[[Any], Figure]
"""What an attack recovered in, one figure out."""

_UNIT = 1e-3


@dataclass(frozen=True, slots=True)
class Averaged:
    """What an attack gets from the mean of so many releases."""

    releases: int
    value: float
    low: float
    high: float


def mean_release(releases: Releases, count: int | None = None) -> Vectors:
    """Average the first `count` releases; where every release has unit length, so has the mean.

    Args:
        releases: the releases, or what makes one.
        count: how many; all of them, if left out.
    """
    if callable(releases):
        if count is None:
            raise InputError("`count` must say how many releases to make. Found none.")
        drawn = [as_vectors(releases()) for _ in range(whole_number(count, "count", 1, 10**6))]
    else:
        drawn = [as_vectors(one) for one in releases]
        wanted = len(drawn) if count is None else whole_number(count, "count", 1, 10**6)
        if not drawn or wanted > len(drawn):
            raise InputError(f"There must be at least {max(wanted, 1)} releases. Found {len(drawn)}.")
        drawn = drawn[:wanted]
    if len({one.shape for one in drawn}) > 1:
        raise InputError("All releases must be of the same texts: one shape. Found several.")
    return _mean(drawn)


def _mean(drawn: Sequence[NDArray[Any]]) -> Vectors:
    total = np.zeros(drawn[0].shape)
    unit = True
    for one in drawn:
        total += one
        unit = unit and bool((np.abs(np.linalg.norm(one, axis=1) - 1.0) < _UNIT).all())
    total /= len(drawn)
    if unit:
        total /= np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)
    return np.asarray(total, np.float32)


@dataclass(frozen=True, eq=False)
class AveragedRelease(Release):
    """Releases the mean of several releases, so that an attack can be fitted to what `mean_release` gives."""

    times: int = 1

    def __call__(self, vectors: Any, rng: object = None, *, rows: NDArray[np.intp] | None = None) -> Any:
        """The mean of `times` releases, at unit length where each has it."""
        drawn = [super(AveragedRelease, self).__call__(vectors, rng, rows=rows) for _ in range(self.times)]
        if isinstance(drawn[0], np.ndarray):
            return _mean(drawn)
        total = sum(drawn[1:], drawn[0]) / self.times
        return total / total.norm(dim=1, keepdim=True).clamp_min(1e-12) if self.normalise else total

    def likelihood(self, dim: int, *, seed: int = 0) -> Likelihood:
        """A mean of several has no density of its own: it is simulated."""
        return simulated(self.fresh(seed)) if self.mechanism.noisy else super().likelihood(dim, seed=seed)


def averaged(releases: Releases, inverter: Inverter, count: int | None = None) -> Recovered:
    """Attack the mean of several releases of the same texts."""
    return inverter.recover(mean_release(releases, count))


def leakage_curve(
    release: Callable[[], Any],
    inverter: Inverter | Callable[[int], Inverter],
    score: Score,
    counts: Sequence[int] = (1, 2, 4, 8, 16),
) -> list[Averaged]:
    """Return what an attack gets from the mean of more and more releases of the same texts.

    Args:
        release: makes one more release at every call.
        inverter: the fitted attack, or what gives the one fitted to the mean of so many releases.
        score: what it recovered in, one figure out.
        counts: how many releases to average, ascending.
    """
    steps = [whole_number(count, "counts", 1, 10**6) for count in counts]
    if sorted(set(steps)) != steps or not steps:
        raise InputError(f"`counts` must ascend. Found {steps}.")
    drawn: list[NDArray[Any]] = []
    curve = []
    for count in steps:
        drawn += [as_vectors(release()) for _ in range(count - len(drawn))]
        attack = inverter if isinstance(inverter, Inverter) else inverter(count)
        figure = score(attack.recover(_mean(drawn)))
        curve.append(Averaged(count, figure.value, figure.low, figure.high))
    return curve
