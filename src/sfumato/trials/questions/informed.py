"""The worst case: an attacker who knows each text but for its term, and everything about the release."""

from __future__ import annotations

from collections import Counter

import numpy as np

from sfumato.concepts.concept import Concept
from sfumato.metrics.leakage import Hits, count_leaked, count_prior
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.release import Releasing
from sfumato.trials.making import make_attack
from sfumato.trials.rows import AttackRow, LeftOut, row_of
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import FixedTarget, Target, protector_of
from sfumato.types import Rows, Vectors

NAME = "informed"
QUESTION = "Knowing the text but for the term: which term was it?"
LEAST = 10


def informed_row(split: Split, target: Target, suite: Suite, *, counts: bool, seed: int) -> AttackRow:
    """Ask the informed attacker about some of the attacked texts.

    His floor is chance: he weighs all candidates alike, so without a vector he is right one time in k.
    """
    if split.embedder is None:
        raise LeftOut("it embeds every candidate, and there is no encoder")
    spans_are_there(split, protector_of(target))
    if target.documents().shape[1] != split.clean.shape[1] and isinstance(target, FixedTarget):
        raise LeftOut("the vectors have another dimension than clean ones, and nobody says why")
    terms = candidates(split, suite.candidates)
    asked = asked_of(split, terms, suite.informed, seed)
    texts = [split.texts[row] for row in split.attacked[asked]]
    truth = [split.truth[position] for position in asked]
    asked_about = Concept.from_terms(split.concept.name, terms)
    attack = make_attack(NAME, {"concept": asked_about, "embedder": split.embedder, "seed": seed}, {})

    def hits(victim: Releasing | None, entering: Vectors, releases: list[Vectors]) -> list[Hits]:
        reader = attack.fit(texts, entering, victim)
        return [count_leaked(truth, reader.recover(release).rows) for release in releases]

    rows = split.attacked[asked]
    clean = split.clean[rows]
    vectors, victim = target.learning(rows)
    releases = [target.documents(draw)[rows] for draw in range(target.draws)]
    fixed = isinstance(target, FixedTarget)
    total = np.ones(len(asked))
    note = f"He chooses among {len(terms)} terms; his floor is chance."
    if fixed:
        note += " What was done to the vectors is not known, so he takes the nearest candidate."
    return row_of(
        NAME,
        "terms",
        QUESTION,
        control=hits(None, clean, [clean]),
        floor=[Hits(total / len(terms), total)],
        floor_is="chance",
        prior=count_prior(truth, split.known),
        released=hits(victim, clean if fixed else vectors, releases),
        how=split.resampling(split.test[asked]),
        counts=counts,
        note=note,
    )


def spans_are_there(split: Split, protector: Protector | None) -> None:
    """Leave an attack out that needs texts with another term, where terms are found by spans of the data."""
    by_itself = protector is not None and all(each.source != "spans" for each in protector.concepts)
    if split.concept.source == "spans" and not by_itself:
        raise LeftOut("the spans come with the data, so texts with another term have none")


def candidates(split: Split, most: int) -> list[str]:
    """The terms he chooses from, those of the most texts."""
    counts = Counter(term for terms in split.terms for term in terms)
    known = [term.lower() for term in split.vocabulary.terms]
    order = sorted(known, key=lambda term: (-counts[term], term))
    if len(order) < 2:
        raise LeftOut("there is one term only, so there is nothing to choose from")
    return sorted(order[:most])


def asked_of(split: Split, terms: list[str], most: int, seed: int) -> Rows:
    """Positions among the attacked texts that hold one of the terms and nothing else of the concept."""
    alone = [position for position, held in enumerate(split.truth) if len(held) == 1 and held[0] in terms]
    texts = [split.texts[row] for row in split.attacked[alone]]
    able = [
        position
        for position, text in zip(alone, texts, strict=True)
        if len(split.vocabulary.terms_in(text)) == 1
    ]
    if len(able) < LEAST:
        raise LeftOut(f"only {len(able)} of the attacked texts hold one term and no other")
    return np.sort(generator(seed).permutation(np.array(able, np.intp))[:most])
