"""Defences of the text before it is embedded (SPARSE, section F.3), attacked like any other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.concepts.base import Span
from sfumato.concepts.concept import Concept
from sfumato.concepts.detectors.dictionary import folded
from sfumato.concepts.texts.edits import put
from sfumato.concepts.texts.swaps import pick, written_like
from sfumato.embedders.base import Embedder
from sfumato.errors import InputError, ParameterError
from sfumato.evaluation.baselines import Baseline, Sample
from sfumato.evaluation.defence import Defence, Rewrite
from sfumato.metrics.leakage import words
from sfumato.metrics.similarity import unit_rows
from sfumato.preparing import RowSpans

Edit = Callable[[str, list[Span], np.random.Generator], str]
"""A text, where the concept stands in it and a generator in, the text to embed instead out."""


def rewriting(concept: Concept, edit: Edit) -> Rewrite:
    """Apply an edit wherever the concept is found."""

    def rewrite(texts: Sequence[str], spans: RowSpans | None, rng: np.random.Generator) -> list[str]:
        places = concept.find_all(texts, spans)
        return [edit(text, found, rng) if found else text for text, found in zip(texts, places, strict=True)]

    return rewrite


@dataclass(frozen=True, kw_only=True)
class Removal(Baseline):
    """The concept taken out and the text tidied, or a star put in its place as redaction tools do."""

    name = "removal"
    paper = "SPARSE, table 9: RemovePII"
    stars: tuple[bool, ...] = (True, False)

    def fit(self, sample: Sample) -> list[Defence]:
        """Nothing is learned; with the concept taken out this is the floor itself."""
        concept = sample.concept
        edits: dict[bool, Edit] = {
            True: lambda text, found, rng: put(text, found, lambda _: "*"),
            False: lambda text, found, rng: concept.without(text, found),
        }
        return [
            Defence(
                name=self.name,
                setting="starred" if star else "taken out",
                rewrite=rewriting(concept, edits[star]),
                embedder=sample.embedder,
                parameters={"star": star},
            )
            for star in self.stars
        ]


@dataclass(frozen=True, kw_only=True)
class RandomWord(Baseline):
    """A random word of the sample in the concept's place, another one each time."""

    name = "random-word"
    paper = "SPARSE, table 9: Random-Replace"

    def fit(self, sample: Sample) -> list[Defence]:
        """Gather the different words of the sample."""
        corpus = sorted({word for text in sample.texts for word in words(text) if word.isalpha()})
        if not corpus:
            raise InputError("There must be a word in the texts to put in a concept's place. Found none.")

        def edit(text: str, found: list[Span], rng: np.random.Generator) -> str:
            return put(text, found, lambda surface: written_like(surface, pick(corpus, rng), text))

        rewrite = rewriting(sample.concept, edit)
        return [Defence(name=self.name, rewrite=rewrite, embedder=sample.embedder)]


@dataclass(frozen=True, kw_only=True)
class NearestTerm(Baseline):
    """The term whose vector is nearest in its place: the meaning is kept, and so is a pattern to learn."""

    name = "nearest-term"
    paper = "SPARSE, table 9: Semantic-Replace"

    def fit(self, sample: Sample) -> list[Defence]:
        """Embed the concept's terms, or those found in the sample where it lists none."""
        listed = sample.concept.terms or _surfaces(sample)
        terms = list({folded(term): term for term in listed}.values())
        if len(terms) < 2:
            raise ParameterError(
                f"The concept `{sample.concept.name}` must have two terms to put one in another's place. "
                f"Found {len(terms)}."
            )
        nearest = _Nearest(terms, sample.embedder)

        def edit(text: str, found: list[Span], rng: np.random.Generator) -> str:
            return put(text, found, lambda surface: written_like(surface, nearest(surface), text))

        rewrite = rewriting(sample.concept, edit)
        return [
            Defence(
                name=self.name,
                rewrite=rewrite,
                embedder=sample.embedder,
                parameters={"terms": len(terms)},
            )
        ]


class _Nearest:
    """Looks up the listed term whose vector is nearest to a term's, and is not that term."""

    def __init__(self, terms: list[str], embedder: Embedder) -> None:
        self._terms = terms
        self._embedder = embedder
        self._unit = unit_rows(embedder.embed(terms))
        cosines = self._unit @ self._unit.T
        np.fill_diagonal(cosines, -np.inf)
        best = cosines.argmax(axis=1)
        self._known: dict[str, str] = {
            folded(term): terms[other] for term, other in zip(terms, best, strict=True)
        }

    def __call__(self, surface: str) -> str:
        key = folded(" ".join(surface.split()))
        if key not in self._known:
            cosines = self._unit @ unit_rows(self._embedder.embed([surface]))[0]
            self._known[key] = self._terms[int(cosines.argmax())]
        return self._known[key]


def _surfaces(sample: Sample) -> list[str]:
    places = zip(sample.texts, sample.found(), strict=True)
    return sorted({text[span.start : span.end] for text, found in places for span in found})
