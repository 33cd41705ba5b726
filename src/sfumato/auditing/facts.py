"""What goes beside the figures: settings to repeat an audit with, and the size of the noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.auditing.settings import AuditSettings
from sfumato.auditing.subject import Subject
from sfumato.errors import ParameterError
from sfumato.protector import Protector
from sfumato.trials.control import MARGIN
from sfumato.trials.split import Split
from sfumato.trials.target import Target
from sfumato.version import __version__


def noise_of(protector: Protector | None, dim: int) -> dict[str, float | None]:
    """How long the noise is beside a vector, and which cosine that leaves; before any filter."""
    unknown: dict[str, float | None] = {"ratio": None, "cosine": None}
    if protector is None:
        return unknown
    try:
        return {
            "ratio": float(protector.mechanism.noise_ratio(dim)),
            "cosine": float(protector.mechanism.cosine_kept(dim)),
        }
    except ParameterError:
        return unknown


def settings_of(settings: AuditSettings, given: Subject, split: Split, target: Target) -> dict[str, Any]:
    """Everything needed to run the audit again, and not one text."""
    concept = split.concept
    return settings.to_dict() | {
        "target": "protector" if given.protector is not None else "embeddings",
        "parameters": None if given.protector is None else given.protector.mechanism.parameters(),
        "neutral": None if given.protector is None else given.protector.neutral,
        "concept": {
            "name": concept.name,
            "source": concept.source,
            "found_by": concept.found_by,
            "terms": len(concept.terms),
        },
        "embedder": None if split.embedder is None else split.embedder.model_id,
        "dim": int(split.clean.shape[1]),
        "texts": len(given.texts),
        "pool": len(split.texts),
        "learned_from": len(split.learn),
        "attacked": len(split.test),
        "groups": len(np.unique(split.groups[split.test])),
        "releases_read": target.draws,
        "texts_embedded": 0 if split.embedder is None else len(split.embedder),
        "coverage": 0.95,
        "margin": MARGIN,
        "sfumato": __version__,
    }
