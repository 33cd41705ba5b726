"""Samplers over words in plain torch operations; `kernels` does the same operations in the same order.

Every step is one IEEE operation in float64 or on whole numbers, so a CPU, a GPU and a Triton kernel agree to
the last bit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from sfumato.gpu import coefficients as c

Tensor = Any
"""A torch tensor; torch is optional and has no types here."""


def root(values: Tensor) -> Tensor:
    """The correctly rounded square root; torch's own on a CPU may be off by a last place."""
    if values.device.type != "cpu":
        return torch.sqrt(values)
    with np.errstate(invalid="ignore"):
        return torch.from_numpy(np.sqrt(values.numpy()))


def _horner(z: Tensor, terms: tuple[float, ...]) -> Tensor:
    total = z * terms[-1] + terms[-2]
    for term in terms[-3::-1]:
        total = total * z + term
    return total


def unit_interval(words: Tensor) -> Tensor:
    """Map int64 words to (0, 1], with 63 bits; small values keep full relative precision."""
    return ((words & 0x7FFFFFFFFFFFFFFF) | 1).to(torch.float64) * c.TO_UNIT


def _mantissa(values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Split into a power of two and a mantissa m near 1: exponent, m - 1 and m + 1."""
    bits = values.view(torch.int64)
    exponent = (bits - c.HALF_ROOT_BITS) >> 52
    mantissa = (bits - (exponent << 52)).view(torch.float64)
    return exponent.to(torch.float64), mantissa - 1.0, mantissa + 1.0


def _from_ratio(exponent: Tensor, s: Tensor) -> Tensor:
    """-2 ln of 2^exponent (1 + s)/(1 - s)."""
    return exponent * c.MINUS_TWO_LN2 + s * _horner(s * s, c.LOG)


def minus_two_log(values: Tensor) -> Tensor:
    """-2 ln(values) of positive, normal float64 numbers."""
    exponent, below, above = _mantissa(values)
    return _from_ratio(exponent, below / above)


def minus_two_logs(values: list[Tensor]) -> list[Tensor]:
    """The same of four tensors, which share one division: it costs as much as ten products."""
    (e0, a0, b0), (e1, a1, b1), (e2, a2, b2), (e3, a3, b3) = (_mantissa(value) for value in values)
    b01, b23 = b0 * b1, b2 * b3
    inverse = torch.reciprocal(b01 * b23)
    i01, i23 = inverse * b23, inverse * b01
    return [
        _from_ratio(e0, (a0 * b1) * i01),
        _from_ratio(e1, (a1 * b0) * i01),
        _from_ratio(e2, (a2 * b3) * i23),
        _from_ratio(e3, (a3 * b2) * i23),
    ]


def eighth_turn(t: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine of pi/4 t, for t in [-1, 1]."""
    z = t * t
    return _horner(z, c.COSINE), t * _horner(z, c.SINE)


def cosine_sine(angle: Tensor) -> tuple[Tensor, Tensor]:
    """Cosine and sine of angles in [0, pi]."""
    quarter = (angle * c.TWO_OVER_PI + c.TO_WHOLE) - c.TO_WHOLE
    rest = (angle - quarter * c.HALF_PI) - quarter * c.HALF_PI_REST
    cos, sin = eighth_turn(rest * c.FOUR_OVER_PI)
    turned_cos = torch.where(quarter == 1.0, -sin, torch.where(quarter == 2.0, -cos, cos))
    turned_sin = torch.where(quarter == 1.0, cos, torch.where(quarter == 2.0, -sin, sin))
    return turned_cos, turned_sin


def _on_circle(squared: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    """A point at a random angle on the circle of this squared radius.

    The word places it in the quarter turn around the first axis; its last two bits, far below what a float64
    resolves, swap the axes and flip the sign, which carries that quarter to any of the four.
    """
    cos, sin = eighth_turn(angle.to(torch.float64) * c.TO_UNIT)
    length = root(squared)
    length = torch.where((angle & 2) != 0, -length, length)
    swap = (angle & 1) != 0
    return length * torch.where(swap, sin, cos), length * torch.where(swap, cos, sin)


def normal_pair(radius: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    """Two independent standard normals from two words (Box and Muller 1958)."""
    return _on_circle(minus_two_log(unit_interval(radius)), angle)


def eight_normals(words: list[Tensor]) -> list[Tensor]:
    """Eight independent standard normals from eight words: a radius and an angle in turns."""
    squared = minus_two_logs([unit_interval(word) for word in words[::2]])
    pairs = [_on_circle(own, angle) for own, angle in zip(squared, words[1::2], strict=True)]
    return [normal for pair in pairs for normal in pair]


def exact_sum(terms: Tensor) -> Tensor:
    """Sum the last axis so that no partial sum rounds: the order of addition does not matter."""
    coarse = (terms + c.COARSE) - c.COARSE
    fine = ((terms - coarse) + c.FINE) - c.FINE
    return coarse.sum(-1) + fine.sum(-1)


def power_below(peak: Tensor) -> Tensor:
    """The power of two that brings each positive number into [1, 2)."""
    return ((2046 - (peak.view(torch.int64) >> 52)) << 52).view(torch.float64)


def snap(values: Tensor, step: float, largest: float) -> Tensor:
    """Round to multiples of the grid `step`, a power of two, cut at `largest`, and cast to float32."""
    magic = c.TO_WHOLE * step
    return ((values + magic) - magic).to(torch.float32).clamp(-largest, largest)
