"""The attacker's vectors on a device: noised there as the victim noises them, and never copied back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from sfumato.arrays import as_vectors, tensor_rows
from sfumato.attacks.base import as_many
from sfumato.devices import chosen_device
from sfumato.errors import ParameterError
from sfumato.types import Vectors

Tensor = Any

NOISED_ON = ("cuda",)
"""Kinds of device on which text readers draw the releases they train on."""


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
