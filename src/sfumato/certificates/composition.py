"""Several fresh releases of one input: their losses add, so that the law of the sum is a convolution.

Beside it the simple rule, k fresh releases cost sqrt(k) mu (Dong, Roth and Su 2019).
"""

from __future__ import annotations

import math

from sfumato.accounting.curves import CELLS, MOST_RELEASES, discretised, summed
from sfumato.certificates.tradeoff import POINTS, TradeOff, band, from_law, loss_between, symmetric_grid
from sfumato.mechanisms.base import Mechanism
from sfumato.mechanisms.losses import LossLaw
from sfumato.numbers import whole_number


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
    one = discretised(law, cells)
    total = summed([(one, count)])
    losses = symmetric_grid(min(total.last, count * law.largest), 4 * POINTS)
    low, high = band(*total.bounds(losses), 0.0)
    return TradeOff(losses, low, high, law.mu * math.sqrt(count))
