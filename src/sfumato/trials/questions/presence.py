"""Does a text hold the concept at all: a linear classifier on clean vectors and on releases."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.texts.duplicates import split_texts
from sfumato.randomness import generator
from sfumato.trials.split import Split
from sfumato.trials.target import Target
from sfumato.types import Rows, Vectors

LEAST = 20
"""Texts with the concept, and without it, that either half must have."""


@dataclass(frozen=True, slots=True)
class Presence:
    """Areas under the curve: one half is a guess, 1 tells every text with the concept from those without."""

    clean: float
    removed: float | None
    """Where the concept is taken out of the texts that hold it; None where nothing embeds them."""
    released: float

    def to_dict(self) -> dict[str, float | None]:
        """Plain values for JSON."""
        return asdict(self)


def measure_presence(split: Split, target: Target, *, seed: int) -> Presence | None:
    """Train on half of the texts and test on the other, the same halves for all; None where they are few."""
    from sfumato.metrics.probe import probe_auc

    rows, holds = _told_apart(split)
    texts = [split.texts[row] for row in rows]
    learn, test = split_texts(texts, 0.5, generator(seed))
    if min(int((holds[side] == kind).sum()) for side in (learn, test) for kind in (True, False)) < LEAST:
        return None

    def auc(vectors: Vectors) -> float:
        own = vectors[rows]
        return probe_auc(own[learn], holds[learn], own[test], holds[test])

    removed = None
    if split.removed is not None:
        removed = split.clean.copy()
        removed[split.rows] = split.removed
    released = [auc(target.documents(draw)) for draw in range(target.draws)]
    return Presence(auc(split.clean), None if removed is None else auc(removed), float(np.mean(released)))


def _told_apart(split: Split) -> tuple[Rows, NDArray[np.bool_]]:
    """Rows of the pool, and which hold the concept; one that holds it and was not chosen is left out."""
    holding = set(split.rows.tolist())
    found = split.concept.find_all(split.texts, split.spans)
    rows = [row for row, spans in enumerate(found) if row in holding or not spans]
    return np.array(rows, np.intp), np.array([row in holding for row in rows], bool)
