"""An eraser: a public linear map that takes out of every release, touched or not, what gives a concept away.

Neutral texts leave a mark (a reader sees that something was replaced) and a context (the rest of the sentence
foretells the term). Both are directions: in coordinates that whiten releases (covariance R), the columns q of
R^-1/2 Cov(y, label) tell most about a label, and y - R^1/2 Q Q' R^-1/2 y takes them out at the least change
of y (LEACE, Belrose et al. 2023, theorem 4.3, without its constant). The labels are whether a concept was
found, and the encoder's own vector of the term: what foretells the vector of one foretells others like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arrays import row_blocks
from sfumato.errors import ParameterError
from sfumato.numbers import whole_number
from sfumato.sensitivity.background import Background
from sfumato.types import Floats

CONTEXT = 32
"""Directions of the context that are taken out."""
MISSED = 32
"""Directions that tell names which a detector may miss."""
MOST_DIRECTIONS = 128
_ROWS_A_DIRECTION = 16
_LARGEST_SHARE = 8
"""Never more than one direction in so many."""
_LEAST = 1e-3
"""Of a whitened direction: what moves less than this beside others does not show."""
_TERM_PARTS = 64
"""Principal parts of the terms' vectors that are foretold."""


@dataclass(frozen=True, slots=True, eq=False)
class Eraser:
    """The map y - T R' y with R' T = I: what it reads is gone from what it returns."""

    read: Floats
    """`[d, k]` R: the linear readers that are blinded."""
    taken: Floats
    """`[d, k]` T: what is taken away of a vector for what each of them reads."""
    presence: int = 0
    """How many of them tell whether a concept was found."""
    source: str = "unknown"
    """What kind of text it was learned from."""
    missed: int = 0
    """How many of them tell names that a detector may miss."""

    def __post_init__(self) -> None:
        """Refuse what is no projection."""
        read, taken = self.read, self.taken
        fits = read.ndim == 2 and read.shape == taken.shape and 0 < read.shape[1] < read.shape[0]
        if not (fits and np.isfinite(read).all() and np.isfinite(taken).all()):
            raise ParameterError("An eraser must hold two finite matrices of one shape. Found others.")
        if np.abs(read.T @ taken - np.eye(read.shape[1])).max() > 1e-6:
            raise ParameterError("An eraser must take out what it reads. Found matrices that do not.")
        whole_number(self.presence, "presence", 0, self.directions)
        whole_number(self.missed, "missed", 0, self.directions - self.presence)

    @property
    def dim(self) -> int:
        """Number of dimensions."""
        return len(self.read)

    @property
    def directions(self) -> int:
        """How many directions it takes out."""
        return int(self.read.shape[1])

    @property
    def context(self) -> int:
        """How many of them foretell a term that was found."""
        return self.directions - self.presence - self.missed

    @property
    def matrix(self) -> Floats:
        """`[d, d]` the map itself."""
        return np.eye(self.dim) - self.taken @ self.read.T

    @property
    def basis(self) -> Floats:
        """`[d, d - k]` orthonormal axes of where every release lies."""
        whole = np.linalg.qr(self.read, mode="complete")[0]
        return np.asarray(whole[:, self.directions :])

    def erased(self, rows: NDArray[Any]) -> NDArray[Any]:
        """The rows without those directions, in float64 inside."""
        out = np.empty_like(rows)
        for start, block in row_blocks(rows, 1 << 20):
            wide = block.astype(np.float64)
            out[start : start + len(block)] = wide - (wide @ self.read) @ self.taken.T
        return out


class EraserLearner:
    """Learns what shows that a concept was there, and what foretells which of its terms it was.

    Args:
        presence: whether to blind readers that tell texts with a concept from others.
        context: most directions that foretell a term; fewer where there are few texts or dimensions.
        missed: most directions that tell names as they are, for those that a detector may miss; likewise.
    """

    def __init__(self, *, presence: bool = True, context: int = CONTEXT, missed: int = MISSED) -> None:
        if not isinstance(presence, bool):
            raise ParameterError(f"`presence` must be True or False. Found {presence!r:.40}.")
        self.presence = presence
        self.context = whole_number(context, "context", 0, MOST_DIRECTIONS)
        self.missed = whole_number(missed, "missed", 0, MOST_DIRECTIONS)

    def fit(
        self,
        having: Sequence[Floats],
        lacking: Floats,
        terms: Sequence[Floats],
        noise: Floats,
        *,
        named: tuple[Floats, Floats] | None = None,
        source: str = "unknown",
    ) -> Eraser | None:
        """Return the eraser, or None where there is nothing to take out.

        Args:
            having: for each concept `[n, d]`, releases without their noise of texts in which it was found.
            lacking: `[m, d]`, those of texts in which nothing was found; may be empty.
            terms: for each concept `[n, d]`, the encoder's vectors of the terms found in the same texts.
            noise: `[d, d]` covariance of the noise in a release.
            named: like `having` and `terms`, of texts with names that were not looked for, as they are.
            source: what kind of text they are.
        """
        dim = len(noise)
        spread = Background.fit(np.concatenate([*having, lacking])).covariance + noise
        values, axes = np.linalg.eigh(spread)
        whiten, colour = (axes * values**power @ axes.T for power in (-0.5, 0.5))
        told = np.zeros((dim, 0))
        if self.presence and len(lacking):
            middle = lacking.mean(axis=0)
            moves = whiten @ np.stack([rows.mean(axis=0) - middle for rows in having], axis=1)
            told = _strongest(moves, moves.shape[1])
        chosen = _beside(told, whiten, having, terms, self.context)
        context = chosen.shape[1] - told.shape[1]
        if named is not None:
            chosen = _beside(chosen, whiten, named[:1], named[1:], self.missed)
        if not chosen.shape[1]:
            return None
        missed = chosen.shape[1] - told.shape[1] - context
        return Eraser(whiten @ chosen, colour @ chosen, told.shape[1], source, missed)


def _beside(
    known: Floats, whiten: Floats, having: Sequence[Floats], terms: Sequence[Floats], most: int
) -> Floats:
    """`[d, k]` the known axes, and at most so many at right angles to them that foretell terms."""
    most = min(most, len(whiten) // _LARGEST_SHARE, sum(map(len, having)) // _ROWS_A_DIRECTION)
    if not most:
        return known
    found = np.concatenate(
        [_foretelling(rows @ whiten, own) for rows, own in zip(having, terms, strict=True)], axis=1
    )
    return np.concatenate([known, _strongest(found - known @ (known.T @ found), most)], axis=1)


def _foretelling(rows: Floats, terms: Floats) -> Floats:
    """`[d, j]` covariance of whitened rows with the terms' principal parts, at most 1 in any direction."""
    parts, sizes, _ = np.linalg.svd(terms - terms.mean(axis=0), full_matrices=False)
    if not sizes.size or sizes[0] < 1e-9:  # one and the same term everywhere
        return np.zeros((rows.shape[1], 1))
    weights = np.sqrt(sizes[:_TERM_PARTS] / sizes[0])
    found = (rows - rows.mean(axis=0)).T @ (parts[:, :_TERM_PARTS] * weights)
    return np.asarray(found / max(float(np.linalg.norm(found, 2)), 1e-12))


def _strongest(columns: Floats, most: int) -> Floats:
    """`[d, <= most]` orthonormal axes along which the columns reach furthest."""
    axes, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(axes[:, :most][:, sizes[:most] > _LEAST])
