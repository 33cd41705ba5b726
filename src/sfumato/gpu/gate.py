"""The gate for tensors: the rules of `sfumato.arrays`, checked where the vectors are, in one reduction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from sfumato.arrays import NORM_TOLERANCE, check_rows
from sfumato.errors import VectorError
from sfumato.mechanisms import Mechanism
from sfumato.mechanisms.base import LARGEST_DIM

Tensor = Any
_SUSPECTS = 4096


def as_tensor(mechanism: Mechanism, vectors: Any) -> Tensor:
    """Return `vectors` as a contiguous `(n, d)` float32 or float64 tensor on its own device, or refuse it."""
    if not isinstance(vectors, torch.Tensor):
        raise VectorError(f"Vectors must be a torch tensor. Found {type(vectors).__name__}.")
    if vectors.is_complex() or vectors.dtype == torch.bool or vectors.is_sparse or vectors.is_quantized:
        raise VectorError(f"Vectors must hold real numbers in a dense tensor. Found type {vectors.dtype}.")
    if vectors.ndim != 2:
        hint = " For one vector, pass X[None, :]." if vectors.ndim == 1 else ""
        raise VectorError(
            f"Vectors must be a two-dimensional (n, d) tensor. Found {vectors.ndim} dimensions.{hint}"
        )
    dim = vectors.shape[1]
    if mechanism.dim is not None and dim != mechanism.dim:
        raise VectorError(
            f"Vectors must have dimension {mechanism.dim}. Found {dim}. Use the matching encoder."
        )
    if not max(1, mechanism.smallest_dim) <= dim <= LARGEST_DIM:
        raise VectorError(
            f"{mechanism.name} takes vectors of {max(1, mechanism.smallest_dim)} to {LARGEST_DIM} "
            f"dimensions. Found {dim}."
        )
    small = vectors.is_floating_point() and vectors.dtype.itemsize <= 4
    return vectors.detach().to(torch.float32 if small else torch.float64).contiguous()


def row_norms(vectors: Tensor) -> Tensor:
    """Norms of the rows, in their own precision, for `watch`."""
    return torch.linalg.vector_norm(vectors, dim=1)


def watch(vectors: Tensor, norms: Tensor, largest: float) -> Callable[[], None]:
    """Start the check of every row; what is returned waits for it, and raises if a row is refused.

    Work queued on the device between the two runs without waiting for the answer. Norms may be rounded: they
    pass a row only well inside float32's range, and a row that they do not pass is measured again.
    """
    good = (norms <= largest * (1.0 + NORM_TOLERANCE)) & (norms >= largest * 1e-15)
    answer = good.all()
    if not vectors.is_cuda:
        return lambda: None if bool(answer) else _refuse(vectors, good, largest)
    host = torch.empty((), dtype=torch.bool, pin_memory=True)
    host.copy_(answer, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record()

    def settle() -> None:
        arrived.synchronize()
        if not bool(host):
            _refuse(vectors, good, largest)

    return settle


def _refuse(vectors: Tensor, good: Tensor, largest: float) -> None:
    """Decide suspects again in float64 on the host: float32 squares may overflow or vanish."""
    suspects = torch.nonzero(~good)[:, 0]
    for part in suspects.split(_SUSPECTS):
        try:
            check_rows(vectors[part].cpu().numpy(), largest)
        except VectorError as error:
            row = int(part[error.row or 0])
            raise VectorError(f"Row {row}" + str(error).removeprefix(f"Row {error.row}"), row) from None
