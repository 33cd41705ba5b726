"""Releasing tensors where they are: checked, noised and rounded on their own device."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
from collections.abc import Callable
from contextlib import nullcontext
from copy import copy
from functools import cache
from typing import Any, Literal, cast, get_args

import numpy as np
import torch
from numpy.typing import NDArray

from sfumato.arrays import as_vectors
from sfumato.errors import MissingPackageError, ParameterError
from sfumato.gpu.coefficients import NOISE_VERSION
from sfumato.gpu.gate import as_tensor, row_norms, watch
from sfumato.gpu.plans import Backend, plan_of
from sfumato.gpu.streams import open_streams
from sfumato.mechanisms import Mechanism
from sfumato.randomness import RowKeys

Tensor = Any
BackendName = Literal["auto", "triton", "plain"]
"""auto: Triton for tensors on a GPU where it is installed, plain torch everywhere else."""

_MODULES = {"triton": "sfumato.gpu.fused", "plain": "sfumato.gpu.plain"}
_WIDE_NUMBERS = 1 << 26
"""Numbers of float64 noise kept at a time where a matrix product needs them: half a gibibyte."""


def backend_of(name: BackendName, device: torch.device) -> Backend:
    """Load a backend by name."""
    if name not in get_args(BackendName):
        raise ParameterError(f"`backend` must be one of {get_args(BackendName)}. Found {name!r:.40}.")
    if device.type not in ("cpu", "cuda"):
        raise ParameterError(f"Noise needs float64 on a CPU or a CUDA device. Found {device.type}.")
    there = importlib.util.find_spec("triton") is not None
    if name == "triton" and not there:
        raise MissingPackageError("triton", "gpu", "for fused kernels")
    if name == "triton" and device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
        raise ParameterError(
            f'The backend "triton" needs tensors on a GPU. Found {device.type}: use backend="plain".'
        )
    chosen = "triton" if name == "triton" or (name == "auto" and device.type == "cuda" and there) else "plain"
    return cast(Backend, importlib.import_module(_MODULES[chosen]))


def privatize(
    mechanism: Mechanism, vectors: Tensor, rng: object = None, *, backend: BackendName = "auto"
) -> Tensor:
    """Release a noisy copy of every row of a tensor, on its own device, as float32.

    Args:
        mechanism: any that adds noise or turns vectors, from `sfumato.mechanisms` or from `on_device`.
        vectors: `(n, d)` torch tensor, on a GPU or a CPU.
        rng: None for secure noise, a `Source` or a seed for experiments; `RowKeys` with `on_device` only.
        backend: which code draws the noise; the result is the same.
    """
    if isinstance(rng, RowKeys) and not isinstance(mechanism, _Placed):
        raise ParameterError(
            "Sticky noise on a device is another noise than on a CPU. Make the mechanism with "
            "sfumato.gpu.on_device, and derive the keys for that one."
        )
    tensor = as_tensor(mechanism, vectors)
    rows, dim = tensor.shape
    device = tensor.device
    chosen = backend_of(backend, device)
    plan = plan_of(mechanism, dim, device)
    out = torch.empty((rows, mechanism.output_dim(dim)), dtype=torch.float32, device=device)
    if not rows:
        return out
    widest = max(dim, out.shape[1])
    size = chosen.chunk_rows(widest, device)
    if plan.wide:
        size = min(size, max(1, _WIDE_NUMBERS // widest))
    # Kernels are launched on the current device, whichever tensors they are given.
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        sees_norms = chosen.SEES_NORMS and plan.reads_rows
        settle = None if sees_norms else watch(tensor, row_norms(tensor), mechanism.max_norm)
        if settle is not None and device.type == "cpu":
            settle()
        streams = open_streams(rng, rows, device)
        seen = []
        for low in range(0, rows, size):
            high = min(low + size, rows)
            seen.append(plan.release(chosen, tensor[low:high], out[low:high], streams.part(low, high)))
        streams.forget()
        if settle is None:
            settle = watch(tensor, torch.cat(seen), mechanism.max_norm)
        settle()
    return out


class _Placed:
    """Marks mechanisms whose noise is drawn on a device."""

    _device: str
    _backend: BackendName


def on_device(mechanism: Mechanism, device: str = "cuda", *, backend: BackendName = "auto") -> Mechanism:
    """The same mechanism with its noise drawn on `device`; give it to a protector, an audit or `verify`.

    Its fingerprint is its own, because its noise is: sticky keys and ledger entries never mix with the CPU's.
    """
    place = torch.device(device)
    backend_of(backend, place)
    plain = type(mechanism)
    if isinstance(mechanism, _Placed):
        plain = cast(type[Mechanism], plain.__mro__[1])
    made = copy(mechanism)
    made.__class__ = _placed_class(plain)
    cast(_Placed, made)._device, cast(_Placed, made)._backend = str(place), backend
    return made


@cache
def _placed_class(kind: type[Mechanism]) -> type[Mechanism]:
    """A subclass that only changes where noise is drawn: whatever knows the mechanism knows it too."""

    def release(
        self: Any, vectors: Any, rng: object = None, *, threads: int | None = None
    ) -> NDArray[np.float32]:
        """Release a noisy copy of every row, drawn on the device; `threads` plays no part."""
        if isinstance(vectors, torch.Tensor):
            tensor = vectors.to(self._device)
        else:
            tensor = torch.tensor(as_vectors(vectors), device=self._device)
        found: NDArray[np.float32] = privatize(self, tensor, rng, backend=self._backend).cpu().numpy()
        return found

    def fingerprint(self: Any) -> bytes:
        """32 bytes that differ from those of the same mechanism on a CPU."""
        label = f"sfumato device noise {NOISE_VERSION}\0".encode()
        return hashlib.sha256(label + kind.fingerprint(self)).digest()

    methods: dict[str, Callable[..., Any]] = {"privatize": release, "fingerprint": fingerprint}
    return type(kind.__name__, (kind, _Placed), dict(methods))
