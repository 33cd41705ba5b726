"""Sums over vectors in float64: of an array with numpy, of a tensor on its device, which only they leave."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.arrays import as_vectors, tensor_rows
from sfumato.types import Floats

Rows = Any
"""A checked `(n, d)` array, or a torch tensor, which is optional and has no types here."""

_NUMBERS = 1 << 24
"""Numbers of a tensor that are widened at a time."""


def as_rows(vectors: Any, *, dim: int | None = None) -> Rows:
    """Return `vectors` as `as_vectors` does, but leave a tensor where it is."""
    tensor = tensor_rows(vectors, dim=dim)
    return as_vectors(vectors, dim=dim) if tensor is None else tensor


def sums(rows: Rows, factor: Floats | None = None) -> tuple[Floats, Floats]:
    """Sum and sum of outer products of the rows, or of the rows times a `[d, d]` factor.

    The diagonal of the second is finite only where every number of the rows is.
    """
    if isinstance(rows, np.ndarray):
        wide = rows.astype(np.float64)
        with np.errstate(invalid="ignore", over="ignore"):
            moved = wide if factor is None else wide @ factor
            return moved.sum(axis=0), moved.T @ moved
    import torch

    dim, place = rows.shape[1], {"dtype": torch.float64, "device": rows.device}
    placed = None if factor is None else torch.tensor(factor, **place)
    total, outer = torch.zeros(dim, **place), torch.zeros((dim, dim), **place)
    for block in rows.split(max(1, _NUMBERS // dim)):
        moved = block.double() if placed is None else block.double() @ placed
        total += moved.sum(dim=0)
        outer += moved.T @ moved
    return total.cpu().numpy(), outer.cpu().numpy()
