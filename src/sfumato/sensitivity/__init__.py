"""Where a concept lives in an embedding: masks and noise covariances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sfumato.lazy import on_first_use

if TYPE_CHECKING:
    from sfumato.sensitivity.analysis import (
        TopAndTail,
        rank_correlation,
        sensitivities,
        top_and_tail,
        top_overlap,
    )
    from sfumato.sensitivity.background import Background
    from sfumato.sensitivity.combine import combine_masks, epsilon_for
    from sfumato.sensitivity.ellipsoid import Ellipsoid, EllipsoidLearner
    from sfumato.sensitivity.learned import LearnedMask, MaskReport, MaskSettings
    from sfumato.sensitivity.learner import MaskLearner
    from sfumato.sensitivity.mask import Mask
    from sfumato.sensitivity.shapes import Dense, Diagonal, Factored, Shape

# The learner needs torch, the analysis scipy.stats.
__getattr__, __dir__ = on_first_use(
    __name__,
    {
        "analysis": "TopAndTail rank_correlation sensitivities top_and_tail top_overlap",
        "background": "Background",
        "combine": "combine_masks epsilon_for",
        "ellipsoid": "Ellipsoid EllipsoidLearner",
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
    "Factored",
    "LearnedMask",
    "Mask",
    "MaskLearner",
    "MaskReport",
    "MaskSettings",
    "Shape",
    "TopAndTail",
    "combine_masks",
    "epsilon_for",
    "rank_correlation",
    "sensitivities",
    "top_and_tail",
    "top_overlap",
]
