"""The device that torch works on: the one asked for, or a GPU where there is one."""

from __future__ import annotations

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
