"""How likely a word has to be of its kind, so that a wanted share of labelled terms is found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.concepts.base import Span
from sfumato.concepts.concept import Concept
from sfumato.concepts.spans import SpanLike
from sfumato.errors import InputError, ParameterError
from sfumato.metrics.intervals import exact_share
from sfumato.tagging.detector import Tagger
from sfumato.tagging.model import LEAST, Words

FEWEST = 30
"""Labelled terms; fewer say little about a share near one."""


@dataclass(frozen=True, slots=True)
class Recall:
    """What a threshold finds of labelled terms, together with everything else that finds the concept."""

    threshold: float
    labelled: int
    found: int
    low: float
    """The lower end of the exact interval of 95 %."""
    found_before: int
    """How many are found without a threshold of one's own."""

    @property
    def share(self) -> float:
        """The share of labelled terms that is found here."""
        return self.found / self.labelled

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "threshold": self.threshold,
            "labelled": self.labelled,
            "found": self.found,
            "recall": self.share,
            "low": self.low,
            "found_before": self.found_before,
        }


def threshold_for(
    concept: Concept, texts: Sequence[str], spans: Sequence[Sequence[SpanLike]], labels: str, recall: float
) -> Recall:
    """The highest threshold at which the concept's detectors touch that share of the labelled terms.

    Args:
        concept: of the catalog, found by the tagger among others.
        texts: drawn at random from texts like those that are to be protected.
        spans: what people labelled in each of them.
        labels: the label, or several between commas, that says what the concept is.
        recall: the share to be found, above 0 and below 1.
    """
    if not 0 < recall < 1:
        raise ParameterError(f"`recall` must lie between 0 and 1. Found {recall:g}.")
    tagger = Tagger(labels=[concept.name])
    wanted = list(Concept.from_spans(labels).find_all(texts, spans))
    count = sum(map(len, wanted))
    if count < FEWEST:
        raise InputError(
            f"There must be at least {FEWEST} labelled terms to set a threshold by. Found {count} under "
            f"`{labels:.60}`: label more texts, or check the label."
        )
    usual = Concept.named(concept.name, wide=concept.wide)
    others = _without_tagger(usual, texts)
    likely = _likelihoods(tagger, concept.name, texts, wanted, others)
    before = sum(
        any(_touch(term, span) for span in found)
        for found, terms in zip(usual.find_all(texts), wanted, strict=True)
        for term in terms
    )
    needed = int(np.ceil(recall * count - 1e-9))
    ordered = np.sort(likely)[::-1]
    threshold = float(min(ordered[needed - 1], 0.99))
    if threshold < LEAST:
        reached = int((likely >= LEAST).sum())
        raise InputError(
            f"A recall of {recall:g} is not reached on these texts: at most {reached} of {count} labelled "
            f"terms ({reached / count:.3f}) are found. Ask for less, add --terms, or check the labels."
        )
    found = int((likely >= threshold).sum())
    return Recall(threshold, count, found, exact_share("found", found, count).low, before)


def _without_tagger(concept: Concept, texts: Sequence[str]) -> list[list[Span]]:
    """What everything but the tagger finds: with a threshold that no word reaches."""
    silent = Concept.named(concept.name, wide=concept.wide, threshold=1 - 1e-9)
    return list(silent.find_all(texts))


def _likelihoods(
    tagger: Tagger,
    kind: str,
    texts: Sequence[str],
    wanted: Sequence[Sequence[Span]],
    others: Sequence[Sequence[Span]],
) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Of each labelled term how likely its likeliest word is; 1 where something else finds it."""
    column = tagger.kinds.index(kind)
    found = []
    for words, terms, known in zip(tagger.likelihoods(texts), wanted, others, strict=True):
        for term in terms:
            certain = any(_touch(term, span) for span in known)
            found.append(1.0 if certain else _likeliest(words, column, term))
    return np.array(found)


def _likeliest(words: Words, column: int, term: Span) -> float:
    inside = (words.starts < term.end) & (words.ends > term.start)
    return float(words.kinds[inside, column].max(initial=0.0))


def _touch(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end
