"""Whether a log density is one: its integral over all releases, by quadrature in few dimensions."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from sfumato.mechanisms import Mechanism
from sfumato.types import Floats

TOLERANCE = 1e-6


def can_integrate(mechanism: Mechanism, dim: int) -> bool:
    """Whether releases have few enough dimensions: two, or the sphere in three."""
    return mechanism.output_dim(dim) <= 2 if mechanism.additive else dim <= 3


def total_mass(mechanism: Mechanism, vector: Floats) -> float:
    """Integrate exp(log_density) over every possible release of `vector`; 1 if the density is one."""
    points, weights = _space(mechanism, vector) if mechanism.additive else _sphere(mechanism, vector)
    return float(weights @ np.exp(mechanism.log_density(points, vector[None])))


def _space(mechanism: Mechanism, vector: Floats) -> tuple[Floats, Floats]:
    """Polar coordinates around the centre; in the log of the radius the trapezium rule converges fast."""
    middle = mechanism.expected(vector[None])[0]
    logs = np.linspace(-25.0, 6.0, 1241)
    radius = np.exp(logs)
    if len(middle) == 1:
        directions, arc = np.array([[1.0], [-1.0]]), 1.0
    else:
        turns = np.linspace(0.0, 2 * math.pi, 360, endpoint=False)
        directions, arc = np.column_stack([np.cos(turns), np.sin(turns)]), turns[1]
    ellipse = mechanism.ellipse(len(vector))
    # Whitened, because a circle of even directions hardly meets a narrow ellipse.
    whiten = (lambda rows: rows / mechanism.noise_sd(len(vector))) if ellipse is None else ellipse.whiten
    colour = np.linalg.inv(whiten(np.eye(len(middle))))
    volume = abs(float(np.linalg.det(colour)))
    points = middle + radius[:, None, None] * (directions @ colour)
    weights = radius ** len(middle) * (logs[1] - logs[0]) * arc * volume
    return points.reshape(-1, len(middle)), np.repeat(weights, len(directions))


def _panel(low: float, high: float, nodes: int = 50) -> tuple[Floats, Floats]:
    place, weight = np.polynomial.legendre.leggauss(nodes)
    half = (high - low) / 2
    return low + half * (1 + place), half * weight


def _sphere(mechanism: Mechanism, vector: Floats) -> tuple[Floats, Floats]:
    """Angles from the input by Gauss-Legendre, even tangent directions, and the radius where there is one."""
    dim, norm = len(vector), float(np.linalg.norm(vector))
    basis = np.linalg.qr(np.column_stack([vector, np.eye(dim)]))[0]
    pole, tangents = vector / norm, basis[:, 1:dim].T
    # Panels of growing width, because a strong tilt leaves only the smallest angles.
    edges = [0.0, 1e-4, 1e-3, 1e-2, 0.1, 1.0, math.pi]
    angle, weights = np.concatenate([_panel(low, high) for low, high in pairwise(edges)], axis=1)
    if dim == 2:
        around, arc = np.array([[1.0], [-1.0]]), 1.0
    else:
        turns = np.linspace(0.0, 2 * math.pi, 12, endpoint=False)
        around, arc = np.column_stack([np.cos(turns), np.sin(turns)]), turns[1]
    sideways = (around @ tangents)[None]
    points = np.cos(angle)[:, None, None] * pole + np.sin(angle)[:, None, None] * sideways
    points = points.reshape(-1, dim)
    weights = np.repeat(weights * np.sin(angle) ** (dim - 2) * arc, len(around))
    if mechanism.guarantee.metric != "chordal+radius":
        return points, weights
    top = 2 * mechanism.max_norm
    inner, outer = _panel(0.0, norm), _panel(norm, top)
    # Every radius beyond the cut is released as the cut: a point with a mass of its own.
    radius = np.concatenate([inner[0], outer[0], [top]])
    lengths = np.concatenate([inner[1], outer[1], [1.0]])
    return (radius[:, None, None] * points).reshape(-1, dim), np.outer(lengths, weights).ravel()
