"""Where a concept lives in an embedding: masks and noise covariances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.sensitivity.background import Background
    from sfumato.sensitivity.combine import combine_masks, epsilon_for
    from sfumato.sensitivity.ellipsoid import Ellipsoid, EllipsoidLearner
    from sfumato.sensitivity.eraser import Eraser, EraserLearner
    from sfumato.sensitivity.learned import LearnedMask, MaskReport, MaskSettings
    from sfumato.sensitivity.learner import MaskLearner
    from sfumato.sensitivity.mask import Mask
    from sfumato.sensitivity.shapes import Dense, Diagonal, Factored, Shape
else:
    # The learner needs torch.
    __getattr__, __dir__ = on_first_use(
        __name__,
        {
            "background": "Background",
            "combine": "combine_masks epsilon_for",
            "ellipsoid": "Ellipsoid EllipsoidLearner",
            "eraser": "Eraser EraserLearner",
            "learned": "LearnedMask MaskReport MaskSettings",
            "learner": "MaskLearner",
            "mask": "Mask",
            "shapes": "Dense Diagonal Factored Shape",
        },
    )

__all__ = [
    "Background",
    "Dense",
    "Diagonal",
    "Ellipsoid",
    "EllipsoidLearner",
    "Eraser",
    "EraserLearner",
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
