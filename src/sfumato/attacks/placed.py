"""The attacker's vectors on a device: noised there as the victim noises them, and never copied back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sfumato import gpu
from sfumato.arrays import as_vectors, tensor_rows
from sfumato.attacks.base import as_many, release_array
from sfumato.devices import chosen_device
from sfumato.errors import ParameterError
from sfumato.mechanisms import Mechanism
from sfumato.protector import Protector
from sfumato.types import Vectors

Tensor = Any

NOISED_ON = ("cuda",)
"""Kinds of device on which text readers draw the releases they train on."""

_NUMBERS = 1 << 24
"""Numbers that are widened to float64 at a time."""


def place(device: str) -> torch.device:
    """The device of this name, or refuse it: noise is drawn there, in float64."""
    found = chosen_device(device)
    if found.type not in ("cpu", "cuda"):
        raise ParameterError(f"Noise needs float64 on a CPU or a CUDA device. Found {found.type}.")
    return found


def checked_on(texts: Sequence[str], vectors: Any, device: torch.device) -> tuple[list[str], Tensor]:
    """Texts and as many vectors, as float32 on the device, or refuse them."""
    rows = tensor_rows(vectors)
    if rows is None:
        rows = torch.from_numpy(as_vectors(vectors).astype(np.float32))
    return as_many(texts, len(rows)), rows.to(device, torch.float32)


def rows_on(vectors: Vectors, device: torch.device) -> Any:
    """Vectors on a network's GPU, so that their releases are drawn there; for a CPU, the array itself."""
    return torch.from_numpy(vectors).to(device) if device.type in NOISED_ON else vectors


def release_tensor(victim: Mechanism | Protector, vectors: Tensor, source: object) -> Tensor:
    """One release of every row on the device of the vectors.

    What `sfumato.gpu` cannot draw, which is Identity and Suppression, goes through the host.
    """
    mechanism = victim if isinstance(victim, Mechanism) else victim.mechanism
    if not gpu.runs_on_device(mechanism):
        return torch.from_numpy(release_array(victim, vectors, source)).to(vectors.device)
    released = gpu.privatize(mechanism, vectors, source)
    if isinstance(victim, Mechanism):
        return released
    if released.shape[1] == vectors.shape[1]:
        _filter(victim, released)
    return unit(released) if victim.normalise else released


def _filter(protector: Protector, released: Tensor) -> None:
    """Apply the public filter in place, in float64 inside."""
    matrix = protector.filter_matrix()
    if matrix is None or protector.background is None:
        return
    factor = torch.tensor(matrix.T, dtype=torch.float64, device=released.device)
    mean = torch.tensor(protector.background.mean, dtype=torch.float64, device=released.device)
    for block in released.split(max(1, _NUMBERS // released.shape[1])):
        block.copy_((block - mean) @ factor + mean)


def unit(rows: Tensor) -> Tensor:
    """Rows of length one."""
    return rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True).clamp_min(1e-12)
