"""Where a concept lives in an embedding: masks and noise covariances."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from sfumato.sensitivity.background import Background
from sfumato.sensitivity.ellipsoid import Ellipsoid, EllipsoidLearner
from sfumato.sensitivity.mask import Mask
from sfumato.sensitivity.shapes import Dense, Diagonal, Factored, Shape

if TYPE_CHECKING:
    from sfumato.sensitivity.combine import combine_masks, epsilon_for
    from sfumato.sensitivity.learned import LearnedMask, MaskReport, MaskSettings
    from sfumato.sensitivity.learner import MaskLearner

# Loaded on first use: the learner needs torch.
_HOMES = {
    "LearnedMask": "learned",
    "MaskLearner": "learner",
    "MaskReport": "learned",
    "MaskSettings": "learned",
    "combine_masks": "combine",
    "epsilon_for": "combine",
}

__all__ = [
    "Background",
    "Dense",
    "Diagonal",
    "Ellipsoid",
    "EllipsoidLearner",
    "Factored",
    "LearnedMask",
    "Mask",
    "MaskLearner",
    "MaskReport",
    "MaskSettings",
    "Shape",
    "combine_masks",
    "epsilon_for",
]


def __getattr__(name: str) -> Any:
    """Load a name on first use."""
    if name in _HOMES:
        return getattr(importlib.import_module(f"sfumato.sensitivity.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'sfumato.sensitivity' has no attribute {name!r}")


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)
