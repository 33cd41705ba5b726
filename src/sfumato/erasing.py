"""What a protector's eraser is learned from: its releases of neutral texts, beside those of other texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.concept import surfaces
from sfumato.concepts.detectors.capitals import Capitals
from sfumato.concepts.texts.pairs import Pairs
from sfumato.embedders.base import Embedder
from sfumato.preparing import RowSpans
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.sensitivity.eraser import Eraser, EraserLearner
from sfumato.types import Floats

MOST_ROWS = 1500
"""Texts with each concept, and without any, that an eraser is learned from."""
LEAST_ROWS = 20
"""Texts without a concept below which nothing can be said about its presence."""


def learn_eraser(
    protector: Protector,
    texts: Sequence[str],
    pairs: Sequence[Pairs],
    learner: EraserLearner,
    spans: RowSpans | None,
    seed: int,
    on_step: Callable[[str, int], object],
) -> Eraser | None:
    """Learn what to take out of the releases of a protector that embeds neutral texts.

    Args:
        protector: what it is for, without an eraser.
        texts: those the protector is learned from.
        pairs: for each of its concepts, which of the texts hold it.
        learner: which kinds of directions are taken out.
        spans: labelled spans of each text.
        seed: draws the texts where there are many.
        on_step: called with a label and a number of texts as they are embedded.
    """
    if not (learner.presence or learner.context or learner.missed):
        return None
    rng = generator(seed)
    release = replace(protector.as_release(), normalise=False, eraser=None)

    def released(rows: Sequence[int], label: str) -> Floats:
        """Releases of these texts without their noise."""
        if not len(rows):
            return np.zeros((0, protector.encoder.dim))
        ready = protector.entrance().prepare(
            [texts[row] for row in rows],
            spans=None if spans is None else [spans[row] for row in rows],
            on_batch=lambda count: on_step(label, count),
        )
        return release.expected(ready.vectors)

    having, terms = [], []
    for each in pairs:
        chosen = _some(len(each.rows), rng)
        having.append(released([each.rows[place] for place in chosen], "neutral texts"))
        terms.append(_term_vectors([each.terms[place] for place in chosen], protector.encoder, on_step))
    clean = sorted(set(pairs[0].clean).intersection(*(each.clean for each in pairs[1:])))
    others = [clean[place] for place in _some(len(clean), rng)] if len(clean) >= LEAST_ROWS else []
    lacking = released(others, "other texts")
    named = None
    if learner.missed and any(concept.is_name for concept in protector.concepts):
        unknown = [surfaces(texts[row], Capitals().find(texts[row])) for row in others]
        rows = [place for place, names in enumerate(unknown) if names]
        if len(rows) >= LEAST_ROWS:
            vectors = _term_vectors([unknown[place] for place in rows], protector.encoder, on_step)
            named = lacking[rows], vectors
    dim = having[0].shape[1]
    matrix, noise = release.linear, release.mechanism.noise_covariance(dim)
    after = noise if matrix is None else matrix @ noise @ matrix.T
    source = protector.learned.source or "unknown"
    return learner.fit(having, lacking, terms, after, named=named, source=source)


def _some(count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    return np.sort(rng.permutation(count)[:MOST_ROWS])


def _term_vectors(
    terms: Sequence[Sequence[str]], encoder: Embedder, on_step: Callable[[str, int], object]
) -> Floats:
    """`[n, d]` mean vector of the terms of each text."""
    different = sorted({term for row in terms for term in row})
    embedded = encoder.embed(different, on_batch=lambda count: on_step("terms", count))
    vectors = dict(zip(different, embedded, strict=True))
    return np.array([np.mean([vectors[term] for term in row], axis=0) for row in terms], np.float64)
