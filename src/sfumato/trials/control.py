"""The positive control: an attack that cannot read clean vectors proves nothing about released ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from sfumato.metrics.intervals import Interval, Resampling, percentile_interval, resampled_sums
from sfumato.metrics.leakage import Hits, pool
from sfumato.types import Vectors

Found = TypeVar("Found")

MARGIN = 0.05
"""Share of the sensitive terms by which the control has to lie above floor and prior, with confidence."""


def undefended(
    fit: Callable[[Vectors], Callable[[Vectors], Found]], learned: Vectors, attacked: Vectors
) -> Found:
    """What an attack reads where nothing is in its way: fitted to vectors as they are, tried on others.

    With clean vectors of the very texts that are attacked, that is the control; with those of the same
    texts without the concept, the floor.

    Args:
        fit: fits the attack, with the settings it has for releases.
        learned: vectors of the texts it learns from.
        attacked: vectors of the texts it is tried on.
    """
    return fit(learned)(attacked)


def gap(higher: Hits | Sequence[Hits], lower: Hits | Sequence[Hits], how: Resampling) -> Interval | None:
    """The interval of a difference of two leakages; the same rows are drawn for both."""
    one, other = pool(higher), pool(lower)
    sums = resampled_sums(np.stack([one.found, one.total, other.found, other.total], axis=1), how)
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return percentile_interval(draws, how.coverage)


def above(control: Sequence[Hits], below: Hits | Sequence[Hits], how: Resampling) -> bool:
    """Whether the control lies clearly above another figure of the same rows."""
    found = gap(control, below, how)
    return found is not None and found[0] >= MARGIN


def works(control: Sequence[Hits], floor: Sequence[Hits], prior: Hits, how: Resampling) -> bool:
    """Whether an attack reads clearly more from clean vectors than there is to guess without them."""
    return above(control, floor, how) and above(control, prior, how)
