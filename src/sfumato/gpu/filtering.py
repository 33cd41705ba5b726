"""What follows the noise, on a device: the public filter, the public eraser and the length."""

from __future__ import annotations

from typing import Any

import torch

from sfumato.types import Floats

Tensor = Any

_NUMBERS = 1 << 24
"""Numbers that are widened to float64 at a time."""


def apply_filter(released: Tensor, matrix: Floats, mean: Floats) -> None:
    """Filter rows around a mean, in place, in float64 inside."""
    factor = torch.tensor(matrix.T, dtype=torch.float64, device=released.device)
    centre = torch.tensor(mean, dtype=torch.float64, device=released.device)
    for block in released.split(max(1, _NUMBERS // released.shape[1])):
        block.copy_((block - centre) @ factor + centre)


def apply_eraser(released: Tensor, read: Floats, taken: Floats) -> None:
    """Take the directions of an eraser out of rows, in place, in float64 inside."""
    readers = torch.tensor(read, dtype=torch.float64, device=released.device)
    moves = torch.tensor(taken.T, dtype=torch.float64, device=released.device)
    for block in released.split(max(1, _NUMBERS // released.shape[1])):
        wide = block.double()
        block.copy_(wide - (wide @ readers) @ moves)


def unit_rows(rows: Tensor) -> Tensor:
    """Rows of length one."""
    return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True).clamp_min(1e-12)
