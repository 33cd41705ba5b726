"""Find the strength of a mechanism that gives a wanted noise ratio or cosine."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from sfumato.errors import ParameterError

if TYPE_CHECKING:
    from sfumato.mechanisms.base import Mechanism

M = TypeVar("M", bound="Mechanism")


def solve(kind: type[M], measure: Callable[[M], float], target: float, parameters: dict[str, Any]) -> M:
    """Return `kind(strength, **parameters)` whose `measure`, which grows with the noise, is `target`."""
    if kind.strength in parameters:
        raise ParameterError(f"`{kind.strength}` is what is being solved for. Do not pass it as well.")

    def make(log_strength: float) -> M:
        return kind(**{kind.strength: math.exp(log_strength)}, **parameters)

    from scipy.optimize import brentq  # imported when used: it takes longer to load than the rest together

    low, high = (math.log(bound) for bound in kind.strength_range)

    def gap(log_strength: float) -> float:
        return measure(make(log_strength)) - target

    ends = gap(low), gap(high)
    if ends[0] * ends[1] > 0:
        reach = sorted(end + target for end in ends)
        raise ParameterError(
            f"{kind.name} cannot reach that much or that little noise: its {kind.strength} stays in "
            f"[{kind.strength_range[0]:g}, {kind.strength_range[1]:g}] "
            f"(reach {reach[0]:.4g} to {reach[1]:.4g})."
        )
    return make(float(brentq(gap, low, high, xtol=1e-13, rtol=1e-13)))
