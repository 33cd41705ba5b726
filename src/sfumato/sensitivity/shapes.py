"""Noise covariances: diagonal, dense, and low rank plus diagonal kept factored.

A shape knows how to draw normal vectors, how to whiten differences, and its own eigenvalues. Scale is
part of a shape: a mechanism neither normalises nor rescales it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import ParameterError
from sfumato.randomness import Draws
from sfumato.sampling import normals
from sfumato.types import Floats

_CONDITION_LIMIT = 1e12
_STRIPE = 64


class Shape(Protocol):
    """A covariance that can draw normal vectors and whiten differences."""

    dim: int

    def normals(self, draws: Draws) -> Floats:
        """Draw one normal vector of this covariance for each row."""

    def whiten(self, differences: Floats) -> Floats:
        """Multiply rows by an inverse square root, so that their norm is the Mahalanobis norm."""

    @property
    def eigenvalues(self) -> Floats:
        """All eigenvalues, ascending."""

    def covariance(self) -> Floats:
        """The covariance as a dense matrix."""

    def tensors(self) -> dict[str, Floats]:
        """The arrays that define the shape, for saving and fingerprints."""


def _frozen(values: NDArray[np.float64]) -> Floats:
    values = np.array(values, dtype=np.float64)
    values.flags.writeable = False
    return values


def _check_spectrum(eigenvalues: Floats) -> None:
    low, high = float(eigenvalues.min()), float(eigenvalues.max())
    if not (np.isfinite(eigenvalues).all() and low > 0):
        raise ParameterError(
            f"A covariance must be positive definite. Found a smallest eigenvalue of {low:.3g}."
        )
    if high / low > _CONDITION_LIMIT:
        raise ParameterError(
            f"A covariance must have a condition number of at most {_CONDITION_LIMIT:g}. "
            f"Found {high / low:.3g}. Add a floor to its small eigenvalues."
        )


class Diagonal:
    """One variance per dimension."""

    def __init__(self, variances: NDArray[np.float64]) -> None:
        self.variances = _frozen(variances)
        if self.variances.ndim != 1 or self.variances.size == 0:
            raise ParameterError(
                f"Variances must be a one-dimensional array. Found shape {self.variances.shape}."
            )
        _check_spectrum(self.variances)
        self.dim = self.variances.size
        self._sd = np.sqrt(self.variances)

    def normals(self, draws: Draws) -> Floats:
        """Scale each column of standard normals by its standard deviation."""
        block = normals(draws, self.dim)
        block *= self._sd
        return block

    def whiten(self, differences: Floats) -> Floats:
        """Divide each column by its standard deviation."""
        return np.asarray(differences / self._sd)

    @property
    def eigenvalues(self) -> Floats:
        """The sorted variances."""
        return np.sort(self.variances)

    def covariance(self) -> Floats:
        """The diagonal matrix."""
        return np.diag(self.variances)

    def tensors(self) -> dict[str, Floats]:
        """The variances."""
        return {"variances": self.variances}


class Dense:
    """A full covariance matrix, applied through its Cholesky factor."""

    def __init__(self, covariance: NDArray[np.float64]) -> None:
        matrix = _frozen(covariance)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.size == 0:
            raise ParameterError(f"A covariance must be a square matrix. Found shape {matrix.shape}.")
        if not np.isfinite(matrix).all():
            raise ParameterError("A covariance must be finite. Found NaN or infinity.")
        if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max():
            raise ParameterError(
                "A covariance must be symmetric. Found entries that differ across the diagonal."
            )
        self.matrix = _frozen((matrix + matrix.T) / 2)
        self.dim = len(matrix)
        _check_spectrum(self.eigenvalues)
        factor = np.linalg.cholesky(self.matrix)
        # Blocks of columns of the transposed factor skip the zeros above the diagonal.
        edges = [*range(0, self.dim, _STRIPE), self.dim]
        self._stripes = [
            (low, high, np.ascontiguousarray(factor[low:high, :high].T))
            for low, high in zip(edges[:-1], edges[1:], strict=True)
        ]
        self._factor = factor

    def normals(self, draws: Draws) -> Floats:
        """Multiply standard normals by the triangular factor: little more than half of a full product."""
        block = normals(draws, self.dim)
        out = draws.space.take("coloured", (draws.rows, self.dim))
        for low, high, stripe in self._stripes:
            np.matmul(block[:, :high], stripe, out=out[:, low:high])
        return out

    def whiten(self, differences: Floats) -> Floats:
        """Solve with the triangular factor."""
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self._factor, differences.T, lower=True).T)

    @cached_property
    def eigenvalues(self) -> Floats:
        """All eigenvalues, ascending."""
        return np.asarray(np.linalg.eigvalsh(self.matrix), np.float64)

    def covariance(self) -> Floats:
        """The matrix itself."""
        return self.matrix

    def tensors(self) -> dict[str, Floats]:
        """The matrix."""
        return {"covariance": self.matrix}


class Factored:
    """Low rank plus diagonal, D + F F', never multiplied out."""

    def __init__(self, variances: NDArray[np.float64], factors: NDArray[np.float64]) -> None:
        self.variances, self.factors = _frozen(variances), _frozen(factors)
        if self.variances.ndim != 1 or self.factors.ndim != 2 or len(self.factors) != self.variances.size:
            raise ParameterError(
                "A factored covariance needs variances (d,) and factors (d, k). "
                f"Found {self.variances.shape} and {self.factors.shape}."
            )
        if not (np.isfinite(self.factors).all() and np.isfinite(self.variances).all()):
            raise ParameterError("A factored covariance must be finite. Found NaN or infinity.")
        self.dim = len(self.factors)
        _check_spectrum(self.variances)
        self._sd = np.sqrt(self.variances)
        self._transposed = np.ascontiguousarray(self.factors.T)
        # I + V V' with V = D^-1/2 F has the inverse root I - U (1 - 1/sqrt(1 + s^2)) U'.
        left, values, _ = np.linalg.svd(self.factors / self._sd[:, None], full_matrices=False)
        self._strongest = float(np.linalg.norm(self.factors, 2)) ** 2
        self._left, self._shrink = left, 1.0 - 1.0 / np.sqrt(1.0 + values**2)
        # The largest eigenvalue is at most the sum of the two parts', the smallest at least the diagonal's.
        _check_spectrum(np.array([self.variances.min(), self.variances.max() + self._strongest]))

    def normals(self, draws: Draws) -> Floats:
        """Add the low-rank part to the diagonal one: D^1/2 g + F h."""
        out = draws.space.take("coloured", (draws.rows, self.dim))
        np.matmul(normals(draws, self.factors.shape[1], "factors"), self._transposed, out=out)
        own = normals(draws, self.dim)
        own *= self._sd
        out += own
        return out

    def whiten(self, differences: Floats) -> Floats:
        """Apply (I + V V')^-1/2 D^-1/2 through the thin factors."""
        scaled = differences / self._sd
        return np.asarray(scaled - ((scaled @ self._left) * self._shrink) @ self._left.T)

    @cached_property
    def eigenvalues(self) -> Floats:
        """All eigenvalues, ascending."""
        if self.variances.min() == self.variances.max():
            added = np.linalg.svd(self.factors, compute_uv=False)[: self.dim] ** 2
            return np.sort(np.r_[np.zeros(self.dim - added.size), added] + self.variances[0])
        return np.asarray(np.linalg.eigvalsh(self.covariance()), np.float64)

    def covariance(self) -> Floats:
        """Multiply the factors out."""
        return np.diag(self.variances) + self.factors @ self.factors.T

    def tensors(self) -> dict[str, Floats]:
        """Variances and factors."""
        return {"variances": self.variances, "factors": self.factors}


def shape_from(tensors: Mapping[str, Floats]) -> Shape:
    """Make a shape again from its `tensors`."""
    if "covariance" in tensors:
        return Dense(tensors["covariance"])
    if "factors" in tensors:
        return Factored(tensors["variances"], tensors["factors"])
    return Diagonal(tensors["variances"])
