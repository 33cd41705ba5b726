"""The oracle attack on a protector with a secret: what do releases of texts of one's own tell?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.concept import Concept
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.metrics.intervals import Figure, exact_share
from sfumato.protector import Protector
from sfumato.trials.control import MARGIN
from sfumato.trials.questions.informed import asked_of, candidates, spans_are_there
from sfumato.trials.rows import AttackRow, LeftOut, percent
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite

NAME = "oracle"
QUESTION = (
    "Knowing the text but for the term, and asking the same protector for every candidate: which was it?"
)


@dataclass(frozen=True, slots=True)
class Oracle:
    """How many terms he named; intervals are exact (Clopper and Pearson)."""

    candidates: int
    named: Figure
    """Of all texts he asked about."""
    found: Figure | None
    """Of those in which the protector's detectors find the term."""
    missed: Figure | None
    """Of those in which they do not: there the noise is all that stands between."""

    @property
    def chance(self) -> float:
        """One in as many candidates."""
        return 1.0 / self.candidates

    def verdict(self) -> str:
        """What he got, for the verdict."""
        right, of = round(self.named.value * self.named.count), self.named.count
        return (
            f"Whoever may ask the same protector for releases of his own texts names {right} of {of} terms "
            f"({percent(self.named.value)}, 95 % interval {percent(self.named.low)} to "
            f"{percent(self.named.high)}; chance {percent(self.chance)})."
        )

    def describe(self) -> str:
        """Who named what, in words."""
        parts = [f"He chooses among {self.candidates} terms; his floor is chance."]
        for figure, where in ((self.found, "found"), (self.missed, "missed")):
            if figure is not None:
                right = round(figure.value * figure.count)
                parts.append(f"Terms the protector {where}: {right} of {figure.count} named.")
        return " ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""

        def plain(figure: Figure | None) -> dict[str, Any] | None:
            if figure is None:
                return None
            return {"share": figure.value, "interval": [figure.low, figure.high], "rows": figure.count}

        return {
            "candidates": self.candidates,
            "chance": self.chance,
            "named": plain(self.named),
            "found": plain(self.found),
            "missed": plain(self.missed),
        }


def oracle_row(
    split: Split, protector: Protector | None, suite: Suite, *, seed: int
) -> tuple[AttackRow, Oracle]:
    """Ask a protector about some of the attacked texts; its ledger is left alone.

    His control is the same choice among clean vectors; his floor and prior are chance.
    """
    from sfumato.attacks.known_texts.oracle import candidate_sentences, name_by_asking

    encoder, asked_for = _able(split, protector)
    terms = candidates(split, suite.candidates)
    asked = asked_of(split, terms, suite.informed, seed)
    texts = [split.texts[row] for row in split.attacked[asked]]
    concept = Concept.from_terms(split.concept.name, terms)
    names = [term.lower() for term in concept.terms]
    truth = np.array([names.index(split.truth[position][0]) for position in asked])
    sentences = [
        candidate_sentences(concept, text, own) for text, own in zip(texts, truth.tolist(), strict=True)
    ]
    clean = name_by_asking(encoder.embed, encoder.embed(texts), sentences, seed=seed) == truth
    hits = name_by_asking(asked_for.embed, asked_for.embed(texts), sentences, seed=seed) == truth
    covered = _covered(asked_for, concept, texts)
    found = Oracle(len(names), _named(hits), _some(hits[covered]), _some(hits[~covered]))
    return _row(found, _named(clean)), found


def _able(split: Split, protector: Protector | None) -> tuple[RememberingEmbedder, Protector]:
    """The encoder, and the protector as it can be asked; or why it cannot."""
    if protector is None:
        raise LeftOut("nobody can be asked for another release of these vectors")
    if protector.secret is None:
        raise LeftOut(
            "this protector has no secret here, so noise is fresh and asking tells no more than `informed` "
            "learns; where noise is sticky, give the key with --secret"
        )
    if split.embedder is None or protector.embedder is None:
        raise LeftOut("it asks for releases of texts, and there is no encoder")
    spans_are_there(split, protector)
    return split.embedder, replace(protector, ledger=None, embedder=split.embedder)


def _row(found: Oracle, control: Figure) -> AttackRow:
    chance, named = found.chance, found.named
    room = control.value - chance

    def scaled(share: float) -> float:
        return (share - chance) / room

    works = control.low - chance >= MARGIN
    excess = scaled(named.value) if room > 0 else None
    interval = (scaled(named.low), scaled(named.high)) if room > 0 else None
    return AttackRow(
        name=NAME,
        reads="terms",
        question=QUESTION,
        control=control.value,
        floor=chance,
        floor_is="chance",
        prior=chance,
        released=named.value,
        excess=excess,
        interval=interval,
        absolute=excess,
        absolute_interval=interval,
        works=works,
        separates=works,
        counts=True,
        only_fails=True,
        rows=named.count,
        note=found.describe(),
    )


def _covered(protector: Protector, concept: Concept, texts: list[str]) -> NDArray[np.bool_]:
    """Which texts have their term found by the protector."""
    places = concept.find_all(texts)
    mentions = protector.mentions(texts)
    return np.array(
        [
            any(m.span.start < each.end and each.start < m.span.end for m in found for each in own)
            for own, found in zip(places, mentions, strict=True)
        ]
    )


def _some(hits: NDArray[np.bool_]) -> Figure | None:
    return _named(hits) if len(hits) else None


def _named(hits: NDArray[np.bool_]) -> Figure:
    return exact_share("named", int(hits.sum()), len(hits))
