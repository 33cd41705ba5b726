"""What a mechanism does on a device, with its parameters put there once: add shaped noise, or turn."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from functools import singledispatch
from typing import Any, Protocol

import numpy as np
import torch

from sfumato.errors import ParameterError
from sfumato.gpu.coefficients import FACTORS, NORMALS
from sfumato.gpu.laws import Turning, turning
from sfumato.gpu.streams import Streams
from sfumato.mechanisms import Gaussian, Laplace, Mahalanobis, Mechanism, Polar, Projection, Purkayastha
from sfumato.mechanisms.polar import _law as polar_law
from sfumato.mechanisms.purkayastha import _law as purkayastha_law
from sfumato.sensitivity.shapes import Dense, Diagonal, Factored
from sfumato.types import Floats

Tensor = Any
_STRIPE = 256


class Backend(Protocol):
    """What `plain` and `fused` both are; `plain` says what each function does."""

    SEES_NORMS: bool
    """Whether `add` and `turn` return the norms of the rows they read, or nothing."""

    def chunk_rows(self, dim: int, device: torch.device) -> int:
        """How many rows to release at a time."""

    def normals(self, streams: Streams, count: int, purpose: int) -> Tensor:
        """Draw `[rows, count]` standard normals."""

    def row_scales(self, streams: Streams, dim: int, factor: float) -> Tensor:
        """Draw the factor of each row that turns normals into Laplace noise."""

    def add(
        self,
        vectors: Tensor,
        out: Tensor,
        streams: Streams,
        scales: Tensor,
        deviations: Tensor | None,
        extra: Tensor | None,
        own: bool,
        step: float,
    ) -> Tensor | None:
        """Write the release of additive noise to `out`."""

    def turns(self, streams: Streams, law: Turning) -> Tensor:
        """Draw cosine and sine of each row's angle, and the noise of its radius."""

    def turn(
        self, vectors: Tensor, out: Tensor, streams: Streams, turned: Tensor, longest: float, step: float
    ) -> Tensor | None:
        """Write turned directions to `out`."""


class DevicePlan(Protocol):
    """Releases a chunk of checked rows."""

    @property
    def wide(self) -> bool:
        """Whether it keeps noise in memory, so that chunks must be smaller."""

    @property
    def reads_rows(self) -> bool:
        """Whether the backend reads the vectors themselves, so that it sees their norms."""

    def release(self, backend: Backend, vectors: Tensor, out: Tensor, streams: Streams) -> Tensor | None:
        """Write the release of `vectors` to `out`, and return the norms the backend saw."""


@dataclass(frozen=True, slots=True, eq=False)
class Adding:
    """Noise of a shape, at a fixed or a Laplace row scale, added to vectors or to their projection."""

    step: float
    dim: int
    """Dimension of the noise."""
    scale: float
    """Scale of the noise."""
    mixed: bool
    """Whether a gamma draw a row turns normals into Laplace noise."""
    fixed: Tensor
    """`[1]` the scale, on the device."""
    deviations: Tensor | None = None
    """`[d]` standard deviations of the columns."""
    factors: Tensor | None = None
    """`[k, d]` low-rank part, transposed."""
    triangle: Tensor | None = None
    """`[d, d]` Cholesky factor of a dense covariance, transposed."""
    projection: Tensor | None = None
    """`[n, d]` public matrix that vectors are multiplied with first."""

    @property
    def wide(self) -> bool:
        """Whether noise or projections are kept in memory."""
        return self.factors is not None or self.triangle is not None or self.projection is not None

    @property
    def reads_rows(self) -> bool:
        """Whether vectors are not projected first."""
        return self.projection is None

    def release(self, backend: Backend, vectors: Tensor, out: Tensor, streams: Streams) -> Tensor | None:
        """Draw the scales of the rows, then draw, shape, add and round."""
        if self.projection is not None:
            vectors = torch.matmul(vectors.to(torch.float64), self.projection)
        scales = backend.row_scales(streams, self.dim, self.scale) if self.mixed else self.fixed
        extra = None
        if self.triangle is not None:
            extra = _coloured(backend.normals(streams, self.dim, NORMALS), self.triangle)
        elif self.factors is not None:
            extra = torch.matmul(backend.normals(streams, len(self.factors), FACTORS), self.factors)
        own = self.triangle is None
        return backend.add(vectors, out, streams, scales, self.deviations, extra, own, self.step)


def _coloured(normals: Tensor, triangle: Tensor) -> Tensor:
    """Multiply by a triangular factor in stripes of columns, which skips most of its zeros."""
    out = torch.empty_like(normals)
    for low in range(0, len(triangle), _STRIPE):
        high = min(low + _STRIPE, len(triangle))
        out[:, low:high] = torch.matmul(normals[:, :high], triangle[:high, low:high])
    return out


@dataclass(frozen=True, slots=True, eq=False)
class TurnPlan:
    """A turn by a random angle towards a uniform tangent direction."""

    step: float
    law: Turning
    wide: bool = False
    reads_rows: bool = True

    def release(self, backend: Backend, vectors: Tensor, out: Tensor, streams: Streams) -> Tensor | None:
        """Draw the angles of the rows, then turn and round."""
        turned = backend.turns(streams, self.law)
        return backend.turn(vectors, out, streams, turned, self.law.longest, self.step)


@singledispatch
def make_plan(mechanism: Mechanism, dim: int, device: torch.device) -> DevicePlan:
    """Put the parameters of a mechanism for `dim`-dimensional vectors on a device."""
    raise ParameterError(
        f"{mechanism.name} does not run on a device. Use mechanism.privatize, which runs on the CPU."
    )


def runs_on_device(mechanism: Mechanism) -> bool:
    """Whether the noise of a mechanism can be drawn on a device."""
    return make_plan.dispatch(type(mechanism)) is not make_plan.dispatch(object)


def _adding(
    step: float, dim: int, scale: float, mixed: bool, device: torch.device, **parts: Floats | None
) -> Adding:
    placed = {name: _put(values, device) for name, values in parts.items() if values is not None}
    return Adding(step, dim, scale, mixed, _put(np.array([scale]), device), **placed)


def _put(values: Floats, device: torch.device) -> Tensor:
    return torch.tensor(np.ascontiguousarray(values), dtype=torch.float64, device=device)


@make_plan.register
def _(mechanism: Laplace, dim: int, device: torch.device) -> DevicePlan:
    return _adding(mechanism.step(dim), dim, 1.0 / mechanism.epsilon, True, device)


@make_plan.register
def _(mechanism: Gaussian, dim: int, device: torch.device) -> DevicePlan:
    return _adding(mechanism.step(dim), dim, mechanism.sigma, False, device)


@make_plan.register
def _(mechanism: Mahalanobis, dim: int, device: torch.device) -> DevicePlan:
    shape, step, scale = mechanism.shape, mechanism.step(dim), 1.0 / mechanism.epsilon
    if isinstance(shape, Diagonal):
        return _adding(step, dim, scale, True, device, deviations=np.sqrt(shape.variances))
    if isinstance(shape, Factored):
        roots = np.sqrt(shape.variances)
        return _adding(step, dim, scale, True, device, deviations=roots, factors=shape.factors.T)
    if isinstance(shape, Dense):
        return _adding(
            step,
            dim,
            scale,
            True,
            device,
            triangle=np.asarray(np.linalg.cholesky(shape.matrix).T, np.float64),
        )
    raise ParameterError(f"A shape of type {type(shape).__name__} does not run on a device.")


@make_plan.register
def _(mechanism: Projection, dim: int, device: torch.device) -> DevicePlan:
    scale, matrix = mechanism.stretch(dim) / mechanism.epsilon, mechanism.matrix(dim)
    return _adding(mechanism.step(dim), matrix.shape[1], scale, True, device, projection=matrix)


@make_plan.register
def _(mechanism: Polar, dim: int, device: torch.device) -> DevicePlan:
    law = polar_law(mechanism.epsilon, dim)
    longest = 2 * mechanism.max_norm
    placed = turning(law, mechanism.epsilon, True, mechanism.radius_epsilon, longest, device)
    return TurnPlan(mechanism.step(dim), placed)


@make_plan.register
def _(mechanism: Purkayastha, dim: int, device: torch.device) -> DevicePlan:
    law = purkayastha_law(mechanism.epsilon, dim)
    return TurnPlan(mechanism.step(dim), turning(law, -mechanism.epsilon, False, None, 0.0, device))


_MADE: weakref.WeakKeyDictionary[Mechanism, dict[tuple[int, str], DevicePlan]] = weakref.WeakKeyDictionary()


def plan_of(mechanism: Mechanism, dim: int, device: torch.device) -> DevicePlan:
    """The plan of a mechanism, made on first use and kept as long as the mechanism lives."""
    plans = _MADE.setdefault(mechanism, {})
    key = (dim, str(device))
    if key not in plans:
        plans[key] = make_plan(mechanism, dim, device)
    return plans[key]
