"""The device that torch works on: the one asked for, or a GPU where there is one; and how it multiplies."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from functools import cache

import torch

from sfumato.errors import ParameterError


def chosen_device(device: str | None) -> torch.device:
    """The device of this name, a GPU where there is one for None; one that is not there is refused."""
    try:
        found = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    except RuntimeError:
        raise ParameterError(f'`device` must be such as "cpu" or "cuda". Found {device!r:.40}.') from None
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ParameterError(f"There is no CUDA device here. Found device={device!r:.40}: leave it out.")
    return found


def autocast(device: torch.device) -> AbstractContextManager[object]:
    """Networks of attacks multiply bfloat16, on devices that do that faster: a GPU, and newer processors.

    For attacks alone: what is released is never computed with half the digits.
    """
    able = device.type == "cuda" or (device.type == "cpu" and _multiplies_halves())
    return torch.autocast(device.type, torch.bfloat16) if able else nullcontext()


def all_digits(device: torch.device) -> AbstractContextManager[object]:
    """Inside `autocast`: what must be exact, such as the encoder and how close a text comes to its vector."""
    made: AbstractContextManager[object] = torch.autocast(device.type, enabled=False)
    return made


@cache
def _multiplies_halves() -> bool:
    """Whether this processor has instructions for bfloat16; without them it would be slower."""
    told: dict[str, object] = getattr(torch.cpu, "get_capabilities", dict)()
    return bool(told.get("avx512_bf16") or told.get("amx_bf16"))
