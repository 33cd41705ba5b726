"""Parameters of a mechanism on a device: a table of angles, or the factors of a covariance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from sfumato.mechanisms.angles import AngleLaw

Tensor = Any


@dataclass(frozen=True, slots=True, eq=False)
class Turning:
    """A law of angles, density ~ sin^(n-2) exp(tilt), as a table of cells with rejection."""

    cumulative: Tensor
    """`[cells]` running sum of the cells' weights."""
    edges: Tensor
    """`[cells + 1]` where cells begin and end."""
    widths: Tensor
    """`[cells]` their widths."""
    bounds: Tensor
    """`[cells]` log of the largest density in each."""
    total: float
    sine_factor: float
    """-(n - 2)/2, for a log weight of -(n - 2)/2 times -2 ln sin."""
    tilt: float
    by_cosine: bool
    """Whether the tilt multiplies the cosine (von Mises-Fisher) or the angle itself (Purkayastha)."""
    radius_factor: float
    """1/(2 radius_epsilon), or 0 where the radius is dropped."""
    longest: float
    """Where a radius is cut, or 0."""


def turning(
    law: AngleLaw, tilt: float, by_cosine: bool, rate: float | None, longest: float, device: torch.device
) -> Turning:
    """Put a tabulated law on a device."""
    cumulative, edges, widths, bounds = (
        torch.from_numpy(values).to(device)
        for values in (law._cumulative, law._edges_array, law._width, law._bound)
    )
    return Turning(
        cumulative,
        edges,
        widths,
        bounds,
        total=float(law._cumulative[-1]),
        sine_factor=-0.5 * (law.dim - 2),
        tilt=tilt,
        by_cosine=by_cosine,
        radius_factor=0.0 if rate is None else 0.5 / rate,
        longest=0.0 if rate is None else longest,
    )
