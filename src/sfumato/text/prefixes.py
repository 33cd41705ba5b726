"""Leaving words out for certain: leading principal coordinates bound a cosine from above.

Turned to the principal axes of the vocabulary, <y, w> = <y1, w1> + <y2, w2> <= <y1, w1> + |y2| |w2| (Cauchy
and Schwarz) for any split into leading and other coordinates. The lengths |y2| and |w2| stand as one more
coordinate, so that one short matrix product gives the bound of every pair. A word whose bound lies below a
cosine that is already reached cannot be the nearest; the few that are left are compared in full. Where noise
is so strong that nothing is left out, the full product is as good, and is taken.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sfumato.types import Floats, Vectors
from sfumato.workspace import Workspace

Ids = NDArray[np.int64]

_SHARES = (0.125, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""How many of the coordinates lead, tried in this order."""
_LEFT = 5e-4
"""A prefix is worth it when at most this share of the words is left."""
_SAMPLE = 512
_WORDS = 1024
_UP = np.float32(1 + 2.0**-16)
"""Lengths are rounded up, so that a bound stays one."""


def where(mask: NDArray[np.bool_]) -> tuple[Ids, Ids]:
    """Rows and columns that are True; far faster on few of them than numpy's own way in two dimensions."""
    row, column = np.divmod(np.flatnonzero(mask), mask.shape[1])
    return row, column


def margin_of(rows: Vectors) -> Vectors:
    """`[n]` more than twice the rounding error of any inner product here, in units of a unit vector."""
    return np.asarray(rows.shape[1] * 2.0**-22 * np.linalg.norm(rows, axis=1), np.float32)


class Prefixes:
    """The words, turned to their principal axes, as prefixes of several lengths."""

    def __init__(self, words: Vectors) -> None:
        count, dim = words.shape
        self._axes: Floats = np.linalg.eigh((words.T @ words).astype(np.float64))[1][:, ::-1]
        # One coordinate more makes a multiple of 16, which processors like.
        sizes = sorted({round(share * dim / 16) * 16 - 1 for share in _SHARES})
        self._tables = {size: np.empty((count, size + 1), np.float32) for size in sizes if 0 < size < dim}
        for low in range(0, count, _WORDS):
            turned = words[low : low + _WORDS].astype(np.float64) @ self._axes
            for size, table in self._tables.items():
                table[low : low + _WORDS] = _shortened(turned, size)
        self._sample = np.linspace(0, len(words) - 1, min(_SAMPLE, len(words))).astype(np.int64)

    def candidates(self, rows: Vectors, least: Floats, space: Workspace) -> tuple[Ids, Ids] | None:
        """Return (row, word) pairs among which every row's nearest word is, or None where they are too many.

        Args:
            rows: `[n, d]` released vectors.
            least: `[n]` a cosine that the nearest word reaches for certain.
            space: buffers to use again.
        """
        if not self._tables or not np.isfinite(least).all():
            return None
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1)
        turned = rows.astype(np.float64) @ self._axes
        enough = (least * lengths).astype(np.float32) - margin_of(rows)
        chosen = None
        # From the longest down, so that rows without hope are found out at once.
        for table in reversed(self._tables.values()):
            short = _shortened(turned, table.shape[1] - 1)
            if (short @ table[self._sample].T >= enough[:, None]).mean() > _LEFT:
                break
            chosen = short, table
        return None if chosen is None else self._left(*chosen, enough, space)

    def _left(self, short: Vectors, table: Vectors, enough: Vectors, space: Workspace) -> tuple[Ids, Ids]:
        found: list[tuple[Ids, Ids]] = []
        for low in range(0, len(table), _WORDS):
            words = table[low : low + _WORDS]
            bounds = space.take("scores", (len(short), len(words)), np.float32)
            np.matmul(short, words.T, out=bounds)
            row, word = where(bounds >= enough[:, None])
            found.append((row, word + low))
        rows, words_left = (np.concatenate(part) for part in zip(*found, strict=True))
        return rows, words_left


def _shortened(turned: Floats, size: int) -> Vectors:
    """The leading coordinates, and the length of the others as one more."""
    out = np.empty((len(turned), size + 1), np.float32)
    out[:, :size] = turned[:, :size]
    out[:, size] = np.linalg.norm(turned[:, size:], axis=1)
    out[:, size] *= _UP
    return out
