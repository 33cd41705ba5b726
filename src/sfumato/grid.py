"""The output grid: every released number is a multiple of a power of two that depends on parameters only.

Floating point leaves traces of the input in the low bits of `x + noise`; one release of a plain float32 sum
identifies its text. Noise is drawn and added in float64, and the sum is rounded to a grid far coarser than
the rounding error of any step and far finer than the noise. docs/numerics.md has the argument.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.types import Floats

STEPS_PER_SD = 1024
"""At least this many grid steps to a standard deviation of the noise."""

LARGEST = 2**24 - 1
"""Multiples of the step stay below this, so that float32 holds every released number exactly."""

_SMALLEST_STEP = 2.0**-100
_LARGEST_STEP = 2.0**80


def step(sd: float, largest_input: float) -> float:
    """Choose the grid for noise of standard deviation `sd` a coordinate; refuse what float32 cannot carry."""
    if not (math.isfinite(sd) and sd > 0):
        raise ParameterError(f"The noise must have a positive, finite standard deviation. Found {sd}.")
    exponent = math.floor(math.log2(sd / STEPS_PER_SD))
    grid = math.ldexp(1.0, exponent)
    if not _SMALLEST_STEP <= grid <= _LARGEST_STEP:
        raise ParameterError(
            f"Noise of standard deviation {sd:.3g} a coordinate does not fit float32 output. "
            "Choose another epsilon."
        )
    if largest_input / grid > LARGEST / 2:
        raise ParameterError(
            f"Noise of standard deviation {sd:.3g} a coordinate is too small to hide vectors of norm up to "
            f"{largest_input:.3g}: float32 has no room for its grid. "
            "Lower epsilon, or use Identity() for no noise."
        )
    return grid


def snap(scaled: Floats, grid: float, out: NDArray[np.float32]) -> None:
    """Round `scaled` (values divided by the grid; overwritten) and write the grid values to `out`."""
    np.rint(scaled, out=scaled)
    with np.errstate(over="ignore"):  # what float32 cannot hold is cut on the next line
        np.multiply(scaled, grid, out=out, casting="unsafe")
    edge = np.float32(LARGEST * grid)
    np.clip(out, -edge, edge, out=out)
    out += np.float32(0.0)  # turns -0.0 into 0.0: a signed zero would tell on which side of zero the sum fell


def is_on(values: NDArray[np.floating], grid: float) -> bool:
    """Whether every value is a multiple of `grid` that float32 holds exactly."""
    scaled = np.asarray(values, np.float64) / grid
    return bool(np.all(scaled == np.rint(scaled)) and np.all(np.abs(scaled) <= LARGEST))
