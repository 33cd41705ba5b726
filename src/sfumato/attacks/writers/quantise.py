"""Weights in four bits: a network of 70 million weights in under 40 MB."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from sfumato.attacks.writers.layers import GROUP, LEVELS, fits, scales

Arrays = dict[str, NDArray[Any]]


def pack(module: nn.Module) -> Arrays:
    """Every weight of a module, the large matrices in four bits with one 16-bit scale a group."""
    arrays: Arrays = {}
    for name, weight in module.state_dict().items():
        if fits(weight):
            step = scales(weight)
            levels = weight.float() / step.float().repeat_interleave(GROUP, -1)
            whole = (levels.round().clamp(-LEVELS, LEVELS) + 8).to(torch.uint8).cpu().numpy()
            arrays[f"{name}.bits"] = whole[:, 0::2] | (whole[:, 1::2] << 4)
            arrays[f"{name}.scale"] = _bytes(step)
        else:
            arrays[f"{name}.half"] = _bytes(weight.half())
    return arrays


def unpack(module: nn.Module, arrays: Arrays) -> None:
    """Set every weight of a module to what `pack` kept."""
    state: dict[str, Tensor] = {}
    for name, weight in module.state_dict().items():
        if f"{name}.bits" in arrays:
            both = arrays[f"{name}.bits"]
            whole = np.empty((both.shape[0], 2 * both.shape[1]), np.int8)
            whole[:, 0::2], whole[:, 1::2] = both & 15, both >> 4
            step = _halves(arrays[f"{name}.scale"]).reshape(len(whole), -1)
            state[name] = torch.from_numpy((whole - np.int8(8)).astype(np.float32) * step.repeat(GROUP, 1))
        else:
            state[name] = torch.from_numpy(_halves(arrays[f"{name}.half"]).reshape(tuple(weight.shape)))
    module.load_state_dict(state)


def _bytes(values: Tensor) -> NDArray[np.uint8]:
    return np.ascontiguousarray(values.cpu().numpy().astype("<f2")).view(np.uint8).reshape(-1)


def _halves(raw: NDArray[Any]) -> NDArray[np.float32]:
    return np.ascontiguousarray(raw).view("<f2").astype(np.float32)
