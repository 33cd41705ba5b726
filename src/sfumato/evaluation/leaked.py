"""Leaked pairs: what an attacker who has some clean vectors beside their releases can undo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import ParameterError, VectorError
from sfumato.numbers import finite_number
from sfumato.types import Floats

Undoing = Literal["rotation", "shuffle", "linear"]
"""rotation: an orthogonal map (Procrustes; exact from d pairs without noise); shuffle: a permutation of the
dimensions (columns matched by correlation; some 20 pairs do); linear: any linear map, by ridge regression."""


@dataclass(frozen=True, slots=True, eq=False)
class Undo:
    """A linear map from released vectors back into the space of clean ones."""

    matrix: Floats
    """`[m, d]`, for row vectors."""
    kind: Undoing
    pairs: int

    def __call__(self, released: Any) -> NDArray[np.float32]:
        """Estimate the clean vectors of a release, up to their length."""
        array = as_vectors(released, dim=len(self.matrix)).astype(np.float64)
        return np.asarray(array @ self.matrix, np.float32)


def fit_undo(clean: Any, released: Any, kind: Undoing = "rotation", *, ridge: float = 1e-3) -> Undo:
    """Learn to undo a release from `k` pairs that leaked: a backup, a log, texts the attacker wrote himself.

    Args:
        clean: `(k, d)` vectors the attacker embedded from texts he knows.
        released: `(k, m)` what is stored for the same texts.
        kind: what he takes the secret to be.
        ridge: for "linear", the penalty beside the mean square of the released columns.
    """
    if kind not in get_args(Undoing):
        raise ParameterError(f"`kind` must be one of {', '.join(get_args(Undoing))}. Found {kind!r:.40}.")
    known, seen = as_vectors(clean).astype(np.float64), as_vectors(released).astype(np.float64)
    if len(known) != len(seen) or not len(known):
        raise VectorError(f"Pairs must match row by row. Found {len(known)} and {len(seen)} rows.")
    if kind != "linear" and known.shape != seen.shape:
        raise VectorError(
            f"A {kind} keeps the dimension. Found {known.shape[1]} and {seen.shape[1]}. Use linear."
        )
    if kind == "rotation":
        left, _, right = np.linalg.svd(seen.T @ known)
        matrix = left @ right
    elif kind == "shuffle":
        matrix = _unshuffle(known, seen)
    else:
        weight = finite_number(ridge, "ridge", 0.0, 1e6) * float((seen**2).sum()) / seen.shape[1]
        matrix = np.linalg.lstsq(seen.T @ seen + weight * np.eye(seen.shape[1]), seen.T @ known)[0]
    return Undo(np.asarray(matrix), kind, len(known))


def _unshuffle(known: Floats, seen: Floats) -> Floats:
    """The permutation under which the columns correlate most, all in all."""
    from scipy.optimize import linear_sum_assignment

    def scaled(columns: Floats) -> Floats:
        centred = columns - columns.mean(axis=0) if len(columns) > 1 else columns
        return np.asarray(centred / np.maximum(np.linalg.norm(centred, axis=0), 1e-300))

    rows, columns = linear_sum_assignment(scaled(seen).T @ scaled(known), maximize=True)
    matrix = np.zeros((seen.shape[1], known.shape[1]))
    matrix[rows, columns] = 1.0
    return matrix
