"""An ellipsoid: noise covariance in every direction a concept moves an embedding, not only along axes.

Noise costs utility where ordinary text varies (the background covariance S) and protects where the concept
moves vectors (the second moment C of concept differences). In coordinates that whiten S, a direction whose
concept energy is g gets noise t/(1 - t) with t = min(strength * (g / g_max)^p, cap): t is the share of that
direction's variance that the best linear filter gives up. p = 1/2 minimises the mean attack signal for a mean
squared distortion (reverse water-filling); p = 1 spends more on the directions that give the concept away.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from sfumato.arrays import as_vectors
from sfumato.errors import ParameterError
from sfumato.numbers import finite_number, whole_number
from sfumato.sensitivity.background import Background
from sfumato.sensitivity.moments import as_rows, sums
from sfumato.sensitivity.shapes import Factored
from sfumato.types import Floats

EllipsoidKind = Literal["sharp", "water", "blend"]
"""sharp: p = 1; water: p = 1/2; blend: (1 - strength) C/trace C + strength I/n at noise ratio 2."""

DEFAULT_STRENGTH: dict[str, float] = {"sharp": 10.0, "water": 3.0, "blend": 0.03}

_CAP = 0.995
_LEAST_SHARE = 0.02


@dataclass(frozen=True, slots=True, eq=False)
class Ellipsoid:
    """Noise covariance F F' + floor I with the background that its public filter needs."""

    factors: Floats
    """`[d, k]` factors F."""
    floor: float
    """Variance in every direction, also where the concept never went."""
    background: Background
    kind: EllipsoidKind
    strength: float
    source: str = "unknown"
    """What the concept differences were learned from."""

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.factors)

    @property
    def shape(self) -> Factored:
        """The covariance scaled to trace n, as `Mahalanobis` takes it."""
        scale = self.dim / self.trace
        return Factored(np.full(self.dim, self.floor * scale), self.factors * math.sqrt(scale))

    @property
    def trace(self) -> float:
        """Mean squared length of the noise as learned."""
        return float((self.factors**2).sum()) + self.floor * self.dim

    @property
    def epsilon(self) -> float:
        """The epsilon at which `Mahalanobis(shape=...)` has this covariance: trace n (n + 1)/epsilon^2."""
        return math.sqrt(self.dim * (self.dim + 1) / self.trace)

    def covariance(self) -> Floats:
        """The noise covariance as learned."""
        return self.factors @ self.factors.T + self.floor * np.eye(self.dim)

    def filter(self, epsilon: float | None = None) -> Floats:
        """The public linear filter S (S + N)^-1 for noise at `epsilon`: post-processing, no privacy cost."""
        scale = 1.0 if epsilon is None else (self.epsilon / epsilon) ** 2
        spread = self.background.covariance
        return np.asarray(np.linalg.solve(spread + scale * self.covariance(), spread).T)


def differences(plus: Any, minus: Any) -> Any:
    """Row differences of paired embeddings, as float64; of two tensors on one device, a tensor there."""
    left, right = as_rows(plus), as_rows(minus)
    if left.shape != right.shape or not len(left):
        shapes = f"{tuple(left.shape)} and {tuple(right.shape)}"
        raise ParameterError(f"Pairs must match row by row. Found shapes {shapes}.")
    if not isinstance(left, np.ndarray) and getattr(right, "device", None) == left.device:
        return left.double() - right.double()
    return np.asarray(as_vectors(left), np.float64) - np.asarray(as_vectors(right), np.float64)


class EllipsoidLearner:
    """Learns where a concept moves embeddings from paired differences.

    Args:
        kind: how noise follows the concept's energy, see `EllipsoidKind`.
        strength: how far it goes; None takes the default of the kind.
        floor: share of a direction's variance given up everywhere, in (0, 1).
        rank: most directions kept; the rest get the floor.
    """

    def __init__(
        self,
        *,
        kind: EllipsoidKind = "sharp",
        strength: float | None = None,
        floor: float = 0.01,
        rank: int = 256,
    ) -> None:
        if kind not in get_args(EllipsoidKind):
            raise ParameterError(f"`kind` must be one of {get_args(EllipsoidKind)}. Found {kind!r}.")
        self.kind = kind
        given = DEFAULT_STRENGTH[kind] if strength is None else strength
        self.strength = finite_number(given, "strength", 1e-6, 1e6)
        self.floor = finite_number(floor, "floor", 1e-6, 0.9)
        self.rank = whole_number(rank, "rank", 1, 8192)

    def fit(self, moves: Any, background: Background, *, source: str = "unknown") -> Ellipsoid:
        """Return the ellipsoid for `[m, d]` concept differences, or for a list of them, one a concept.

        Several concepts weigh the same: each second moment is scaled to the same peak beside the background.
        """
        several = moves if isinstance(moves, list) else [moves]
        whitened = [self._moment(each, background) for each in several]
        total = np.sum([moment / np.linalg.eigvalsh(moment)[-1] for moment in whitened], axis=0)
        root = _power(background.covariance, 0.5)
        if self.kind == "blend":
            factors, floor = self._blend(root @ total @ root)
        else:
            spread = float(np.trace(background.covariance)) / background.dim
            factors, floor = self._water(total, root), self.floor / (1 - self.floor) * spread
        return Ellipsoid(factors, floor, background, self.kind, self.strength, source)

    def _moment(self, moves: Any, background: Background) -> Floats:
        """Second moment of one concept's differences in coordinates that whiten the background."""
        rows = as_rows(moves, dim=background.dim)
        outer = sums(rows, _power(background.covariance, -0.5))[1]
        energy = np.diagonal(outer)
        if not np.isfinite(energy).all() or not energy.any():
            raise ParameterError("Concept differences must be finite and not all zero.")
        return np.asarray(outer / len(rows))

    def _water(self, moment: Floats, root: Floats) -> Floats:
        energy, directions = np.linalg.eigh(moment)
        energy = np.maximum(energy, 0.0)
        power = 1.0 if self.kind == "sharp" else 0.5
        share = np.minimum(self.strength * (energy / energy[-1]) ** power, _CAP)
        keep = np.flatnonzero(share > max(_LEAST_SHARE, self.floor))[-self.rank :]
        if not keep.size:
            keep = np.array([len(energy) - 1])
        return np.asarray(root @ (directions[:, keep] * np.sqrt(share[keep] / (1 - share[keep]))))

    def _blend(self, moment: Floats) -> tuple[Floats, float]:
        tau, length2 = min(self.strength, 0.999), 2.0**2
        energy, directions = np.linalg.eigh(moment)
        keep = np.flatnonzero(energy > 1e-12 * energy[-1])[-self.rank :]
        weights = (1 - tau) * energy[keep] / energy[keep].sum() * length2
        return np.asarray(directions[:, keep] * np.sqrt(weights)), tau / len(moment) * length2


def _power(matrix: Floats, exponent: float) -> Floats:
    values, axes = np.linalg.eigh(matrix)
    return np.asarray((axes * np.maximum(values, 1e-300) ** exponent) @ axes.T)
