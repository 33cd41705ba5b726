"""What goes beside the figures: settings to repeat an audit, the size of the noise, showable examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.auditing.control import MARGIN
from sfumato.auditing.material import Material
from sfumato.auditing.reading import Guesses, Reading, Scale
from sfumato.auditing.settings import AuditSettings
from sfumato.auditing.subject import Subject
from sfumato.auditing.target import Target
from sfumato.auditing.terms import public_terms
from sfumato.errors import ParameterError
from sfumato.protector import Protector
from sfumato.version import __version__

_EXAMPLES, _LISTED = 6, 3
HIDDEN = "(not shown)"


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


def settings_of(
    settings: AuditSettings, given: Subject, material: Material, target: Target
) -> dict[str, Any]:
    """Everything needed to run the audit again, and not one text."""
    concept = material.concept
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
        "embedder": None if material.embedder is None else material.embedder.model_id,
        "dim": int(material.clean.shape[1]),
        "texts": len(given.texts),
        "pool": len(material.texts),
        "learned_from": len(material.learn),
        "attacked": len(material.test),
        "groups": len(np.unique(material.groups[material.test])),
        "releases_read": target.draws,
        "texts_embedded": 0 if material.embedder is None else len(material.embedder),
        "coverage": 0.95,
        "margin": MARGIN,
        "sfumato": __version__,
    }


def examples(
    material: Material, read: dict[str, tuple[Scale, Reading]], showable: list[bool]
) -> list[dict[str, Any]]:
    """The first attacked texts that may be shown, beside what was read from clean and released vectors.

    A guess repeats what the attacker learned from other texts, so it is shown only where it is a public term
    or stands in a showable text; what he wrote, only where all he learned from may be shown.
    """
    visible = np.array([showable[row] for row in material.source])
    holders = zip(material.rows.tolist(), material.terms, strict=True)
    allowed = public_terms(material.concept) | {
        term for row, terms in holders if visible[row] for term in terms
    }
    texts_allowed = bool(visible[material.learned].all())

    def shown(guesses: Guesses, position: int) -> str | list[str]:
        guess = guesses[position]
        if isinstance(guess, str):
            return guess if texts_allowed else HIDDEN
        return [term if term.lower() in allowed else HIDDEN for term in guess[:_LISTED]]

    rows = []
    for position in np.flatnonzero(visible[material.attacked])[:_EXAMPLES].tolist():
        row = int(material.attacked[position])
        found = {
            name: {"clean": shown(scale.clean, position), "released": shown(reading.guesses, position)}
            for name, (scale, reading) in read.items()
        }
        terms = list(material.truth[position])
        rows.append(
            {"row": int(material.source[row]), "text": material.texts[row], "terms": terms, "read": found}
        )
    return rows
