"""Laws of the angle between a unit vector and its release, density ~ sin(t)^(n-2) exp(tilt(t)).

Angles are drawn from a table of cells, each bounded by the largest density in it, and then accepted or
rejected: the table sets the speed, the density alone sets the distribution. All weights stay in logarithms,
because sin^(n-2) underflows in a few dozen dimensions.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness import Draws
from sfumato.sampling import normals, rejection_rounds, unit_interval
from sfumato.types import FloatArray, Floats

_CELLS = 4096
_TAIL_CELLS = 64
_DEPTH = 80.0
"""Cells are fine wherever the density is above exp(-_DEPTH) of its peak, and coarse beyond."""


class AngleLaw:
    """A unimodal law on (0, pi), tabulated for exact sampling."""

    def __init__(self, dim: int, tilt: Callable[[Floats], Floats], mode: float) -> None:
        self.dim = dim
        self._tilt = tilt
        self._mode = mode
        self._peak = float(self._log_weight(np.array([mode]))[0])
        edges = self._edges()
        heights = self._log_weight(edges)
        cell = np.maximum(heights[:-1], heights[1:])
        top = int(np.searchsorted(edges, mode, side="right")) - 1
        cell[min(max(top, 0), len(cell) - 1)] = self._peak
        # A hair of room keeps a bound a bound after rounding; cells without weight stay at minus infinity.
        self._bound = np.where(np.isfinite(cell), cell + 1e-12 * (1 + np.abs(np.nan_to_num(cell))), -np.inf)
        self._edges_array, self._width = edges, np.diff(edges)
        weights = self._width * np.exp(self._bound - self._peak)
        self._cumulative = np.cumsum(weights)
        self._summary = self._integrate(edges)

    def _log_weight(self, angle: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            sine = (self.dim - 2) * np.log(np.sin(angle)) if self.dim > 2 else np.zeros_like(angle)
        # sin(pi) is not quite 0 in floating point, and may even be negative.
        sine = np.where((angle <= 0.0) | (angle >= math.pi), 0.0 if self.dim == 2 else -np.inf, sine)
        return np.asarray(sine + self._tilt(angle))

    def _edges(self) -> Floats:
        """Fine cells around the mode, coarse ones from there to both ends."""

        def reach(end: float) -> float:
            inside, outside = self._mode, end
            for _ in range(60):
                middle = (inside + outside) / 2
                deep = self._log_weight(np.array([middle]))[0] < self._peak - _DEPTH
                inside, outside = (inside, middle) if deep else (middle, outside)
            return outside

        low, high = self._span = reach(0.0), reach(math.pi)
        parts = [np.linspace(low, high, _CELLS + 1)]
        if low > 0.0:
            parts.insert(0, np.linspace(0.0, low, _TAIL_CELLS + 1)[:-1])
        if high < math.pi:
            parts.append(np.linspace(high, math.pi, _TAIL_CELLS + 1)[1:])
        return np.concatenate(parts)

    def _integrate(self, edges: Floats) -> tuple[float, float, float]:
        """Log of the total weight, E cos and E sin^2, by Gauss-Legendre in every cell."""
        nodes, weights = np.polynomial.legendre.leggauss(5)
        half = np.diff(edges) / 2
        angle = (edges[:-1] + half)[:, None] + half[:, None] * nodes
        mass = np.exp(self._log_weight(angle) - self._peak) * weights * half[:, None]
        total = float(mass.sum())
        cosine = float((mass * np.cos(angle)).sum()) / total
        sine2 = float((mass * np.sin(angle) ** 2).sum()) / total
        return self._peak + math.log(total), cosine, sine2

    @property
    def span(self) -> tuple[float, float]:
        """Where all of the law is but for a share of about exp(-_DEPTH)."""
        return self._span

    def log_density(self, angle: Floats) -> Floats:
        """Log density of the angle itself."""
        return np.asarray(self._log_weight(angle) - self._summary[0])

    @property
    def mean_cosine(self) -> float:
        """E cos(angle)."""
        return self._summary[1]

    @property
    def mean_sine2(self) -> float:
        """E sin(angle)^2."""
        return self._summary[2]

    @property
    def log_normaliser(self) -> float:
        """Log of the integral of exp(tilt) over the whole sphere."""
        shell = math.log(2.0) + (self.dim - 1) / 2 * math.log(math.pi) - math.lgamma((self.dim - 1) / 2)
        return self._summary[0] + shell

    def sample(self, draws: Draws) -> Floats:
        """Draw one angle for each row."""
        out = np.empty(draws.rows)
        open_rows = np.arange(draws.rows)
        for _ in rejection_rounds(open_rows.size):
            words = draws.words(3, None if open_rows.size == draws.rows else open_rows.tolist())
            pick, place, keep = unit_interval(words).T
            cell = np.searchsorted(self._cumulative, pick * self._cumulative[-1])
            angle = self._edges_array[cell] + place * self._width[cell]
            accepted = np.log(keep) <= self._log_weight(angle) - self._bound[cell]
            out[open_rows[accepted]] = angle[accepted]
            open_rows = open_rows[~accepted]
            if not open_rows.size:
                break
        return out


def turn(vectors: FloatArray, draws: Draws, law: AngleLaw) -> Floats:
    """Rotate every row's direction by an angle from `law` towards a uniform tangent direction."""
    unit = draws.space.take("vectors", vectors.shape)
    np.copyto(unit, vectors)
    # The norm of a tiny float64 vector may underflow when squared; the gate has bounded it from below.
    unit *= 1.0 / np.sqrt(np.vecdot(unit, unit))[:, None]
    tangent = normals(draws, unit.shape[1])
    angle = law.sample(draws)
    along = np.vecdot(tangent, unit)
    # |tangent|^2 - along^2 is the squared length of what remains after taking the component along x away.
    length = np.sqrt(np.maximum(np.vecdot(tangent, tangent) - along * along, np.finfo(np.float64).tiny))
    sine = np.sin(angle) / length
    tangent *= sine[:, None]
    unit *= (np.cos(angle) - sine * along)[:, None]
    unit += tangent
    return unit


def angle_between(outputs: Floats, inputs: Floats) -> Floats:
    """Angle of each pair of rows, accurate for small and for large angles alike (Kahan)."""
    # A release that rounds to zero has no direction; it counts as a right angle to everything.
    tiny = np.finfo(np.float64).tiny
    a = outputs / np.maximum(np.linalg.norm(outputs, axis=1, keepdims=True), tiny)
    b = inputs / np.maximum(np.linalg.norm(inputs, axis=1, keepdims=True), tiny)
    return np.asarray(2 * np.arctan2(np.linalg.norm(a - b, axis=1), np.linalg.norm(a + b, axis=1)))


def unit(rows: NDArray[Any]) -> NDArray[Any]:
    """Rows scaled to unit length; a row of nothing stays one."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-30))


def cosines(released: NDArray[Any], vectors: NDArray[Any]) -> NDArray[Any]:
    """`[n, k]` cosine of every release with every vector, in the precision they come in."""
    return np.asarray(np.clip(unit(released) @ unit(vectors).T, -1.0, 1.0))
