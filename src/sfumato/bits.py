"""Which inputs can a floating-point sum still have come from? What the low-order bits of a release give away.

Floating-point addition reaches only some of the numbers around its first term, so a plain float32 sum names
its own input: a candidate is impossible once one coordinate has no representable noise that leads from it to
the release (Mironov 2012 for scalars; Jin et al. 2022, arXiv:2112.05307, for vectors).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import ParameterError, VectorError

Bools = NDArray[np.bool_]

_NEIGHBOURS = 2
"""Rounding may move the difference by a last place or two from the noise that was really added."""

_COORDINATES = 64
"""Coordinates looked at together: small enough for the cache, and most candidates fall in the first piece."""


def _checked_type(dtype: DTypeLike) -> np.dtype[np.float32] | np.dtype[np.float64]:
    for kind in (np.dtype(np.float32), np.dtype(np.float64)):
        if np.dtype(dtype) == kind:
            return kind
    raise ParameterError(f"`dtype` must be float32 or float64. Found {np.dtype(dtype)}.")


def excluded(released: NDArray[Any], candidates: NDArray[Any], dtype: DTypeLike = np.float32) -> Bools:
    """Return True where no noise of type `dtype` leads from a candidate's number to the released one."""
    kind = _checked_type(dtype)
    y, c = np.broadcast_arrays(np.asarray(released, kind), np.asarray(candidates, kind))
    noise = y - c
    ruled_out = np.asarray(c + noise != y)
    # Few numbers fail the first try, so only those look at their neighbours.
    y, c, up = y[ruled_out], c[ruled_out], noise[ruled_out]
    down, possible = up, np.zeros(up.shape, bool)
    for _ in range(_NEIGHBOURS):
        up, down = np.nextafter(up, kind.type(np.inf)), np.nextafter(down, kind.type(-np.inf))
        possible |= (c + up == y) | (c + down == y)
    ruled_out[ruled_out] = ~possible
    return ruled_out


def identify(released: Any, candidates: Any, dtype: DTypeLike = np.float32) -> Bools:
    """Return `(releases, candidates)`: True where a candidate is still possible after all coordinates."""
    kind = _checked_type(dtype)
    outputs, inputs = as_vectors(released), as_vectors(candidates)
    if outputs.shape[1] != inputs.shape[1]:
        raise VectorError(
            f"Candidates must have the {outputs.shape[1]} dimensions of a release. Found {inputs.shape[1]}."
        )
    starts = range(0, inputs.shape[1], _COORDINATES)
    pieces = [np.ascontiguousarray(inputs[:, low : low + _COORDINATES], kind) for low in starts]
    survivors = np.zeros((len(outputs), len(inputs)), bool)
    for row, output in enumerate(outputs.astype(kind)):
        alive = np.arange(len(inputs))
        for low, piece in zip(starts, pieces, strict=True):
            rest = piece if len(alive) == len(inputs) else piece[alive]
            alive = alive[~excluded(output[low : low + _COORDINATES], rest, kind).any(axis=1)]
            if not alive.size:
                break
        survivors[row, alive] = True
    return survivors


def impossible(
    released: NDArray[Any], candidates: NDArray[Any], dtype: DTypeLike = np.float32
) -> NDArray[np.int64]:
    """Return `(releases, candidates)`: how many coordinates rule each candidate out."""
    inputs = np.asarray(candidates, _checked_type(dtype))
    return np.stack([excluded(row, inputs, dtype).sum(axis=1) for row in released])


def identified(survivors: Bools, truth: NDArray[np.intp]) -> int:
    """Count the releases with exactly one possible candidate that is also the true one."""
    alone = survivors.sum(axis=1) == 1
    return int((alone & survivors[np.arange(len(survivors)), truth]).sum())
