"""Denoising by shrinkage, learned from noisy rows alone: no clean one, only the covariance of the noise.

A release is y = x + z. Turned so that the noise has unit variance in every direction, the rows' own axes hold
the signal in few directions and nothing but noise in the others. Along an axis whose rows vary by l, 1 of it
noise, the best linear guess keeps 1 - 1/l of the row. Axes found in one part of the rows are measured in
another, or the noise they were chosen by would pass for signal.

Stein's identity says what a denoiser f is worth without one clean row:

    E|f(y) - x|^2 = E|f(y) - y|^2 - tr N + 2 E[z . f(y)],    E[z . f(y)] = E tr(N J),   J the slope of f.

The second equation holds for normal noise, and for any noise of covariance N where f is affine: J is then
constant. For l2-Laplace noise of density ~ exp(-e|z|) in n dimensions the exact one weighs the slope by the
noise's own length, E[z . f(y)] = E[(|z|/e + 1/e^2) tr J], since (r/e + 1/e^2) exp(-er) has the slope
-r exp(-er). The weight has the mean (n + 1)/e^2, which is N, and varies by 1/sqrt(n) of it: putting N in its
place is off by at most 1/sqrt(n) times the standard deviation of tr(N J), 5 % of that at 384 dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.randomness import generator
from sfumato.types import Floats, Rows

FOLDS = 5
_NO_NOISE = 1e-9
"""Directions with less than this share of the largest noise variance count as free of noise."""


class Denoiser(Protocol):
    """Rows whose noise has unit variance in every direction in, guesses of them without noise out."""

    def __call__(self, rows: Floats) -> Floats:
        """`(n, k)` guesses."""

    def slope(self, rows: Floats) -> Floats:
        """`(n,)` the trace of the denoiser's Jacobian at each row."""


@dataclass(frozen=True, slots=True, eq=False)
class Whitening:
    """Turns rows so that their noise has unit variance; what carries no noise is left out."""

    mean: Floats
    forth: Floats
    """`(d, k)`"""
    back: Floats
    """`(k, d)`"""

    @classmethod
    def of(cls, rows: Floats, noise: Floats) -> Whitening:
        """For rows with noise of this covariance."""
        values, axes = np.linalg.eigh(noise)
        noisy = values > _NO_NOISE * values[-1]
        sizes, axes = np.sqrt(values[noisy]), axes[:, noisy]
        return cls(rows.mean(axis=0), axes / sizes, (axes * sizes).T)

    def white(self, rows: Floats) -> Floats:
        """`(n, k)` rows around their mean."""
        return np.asarray((rows - self.mean) @ self.forth)

    def denoised(self, rows: Floats, denoiser: Denoiser) -> Floats:
        """`(n, d)` rows with another part in the noisy directions, and the rest as it was."""
        white = self.white(rows)
        return np.asarray(rows + (denoiser(white) - white) @ self.back)


@dataclass(frozen=True, slots=True, eq=False)
class Untouched:
    """Leaves rows as they are."""

    def __call__(self, rows: Floats) -> Floats:
        """The rows."""
        return rows

    def slope(self, rows: Floats) -> Floats:
        """One for each direction."""
        return np.full(len(rows), float(rows.shape[1]))


@dataclass(frozen=True, slots=True, eq=False)
class LinearShrinkage:
    """Keeps a share of each row along each of some axes."""

    axes: Floats
    """`(k, k)` a column each."""
    kept: Floats
    """`(k,)`"""

    def __call__(self, rows: Floats) -> Floats:
        """The best linear guess."""
        return np.asarray((rows @ self.axes * self.kept) @ self.axes.T)

    def slope(self, rows: Floats) -> Floats:
        """The same everywhere."""
        return np.full(len(rows), self.kept.sum())


def folds(count: int, parts: int, seed: int) -> list[tuple[Rows, Rows]]:
    """Rows to learn from and rows to try on, each row tried once."""
    places = generator(seed).permutation(count) % parts
    return [(np.flatnonzero(places != part), np.flatnonzero(places == part)) for part in range(parts)]


def fit_shrinkage(rows: Floats, seed: int) -> LinearShrinkage:
    """Shares to keep along the rows' own axes, measured on rows that the axes were not found in."""
    from scipy.optimize import isotonic_regression

    found = [
        np.square(rows[test] @ _axes(rows[training])).mean(axis=0)
        for training, test in folds(len(rows), FOLDS, seed)
    ]
    spread = isotonic_regression(np.mean(found, axis=0), increasing=False).x
    return LinearShrinkage(_axes(rows), 1 - 1 / np.maximum(spread, 1.0))


def _axes(rows: Floats) -> Floats:
    """`(k, k)` axes of the rows, those along which they vary most first."""
    return np.asarray(np.linalg.eigh(rows.T @ rows)[1][:, ::-1])


def risks(denoiser: Denoiser, rows: Floats) -> Floats:
    """`(n,)` what Stein's identity gives for each row's squared error, in variances of the noise."""
    moved = np.square(denoiser(rows) - rows).sum(axis=1)
    return np.asarray(moved - rows.shape[1] + 2 * denoiser.slope(rows))
