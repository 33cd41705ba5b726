"""The informed attacker, row by row, on every release that he can make candidates for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.concept import Concept
from sfumato.metrics.leakage import count_leaked
from sfumato.trials.making import make_attack
from sfumato.trials.questions.informed import NAME, asked_of, candidates
from sfumato.trials.rows import LeftOut
from sfumato.trials.split import Split
from sfumato.trials.suite import Suite
from sfumato.trials.target import DefenceTarget
from sfumato.types import Vectors


class Rewriting:
    """What a defence that rewrites texts embeds in their place; he does as it does."""

    def __init__(self, target: DefenceTarget) -> None:
        self.target = target

    def embed(self, texts: Sequence[str]) -> Vectors:
        """One vector a text."""
        return self.target.defence.prepare(texts, seed=self.target.seed)


def informed(pool: Split, target: DefenceTarget, suite: Suite, seed: int) -> dict[str, NDArray[Any]]:
    """Which attacked texts he was asked about, and whether he named the term of each; nothing if he cannot.

    He knows the text but for its term, and everything about the release. Where the defence finds the term,
    all his candidates enter it alike, and he guesses.
    """
    try:
        terms = candidates(pool, suite.candidates)
        asked = asked_of(pool, terms, suite.informed, seed)
    except LeftOut:
        return {}
    rows = pool.attacked[asked]
    texts, truth = [pool.texts[row] for row in rows], [pool.truth[position] for position in asked]
    entrance: Any = pool.embedder if target.defence.rewrite is None else Rewriting(target)
    settings = {"concept": Concept.from_terms(pool.concept.name, terms), "embedder": entrance, "seed": seed}
    vectors, victim = target.learning(rows)
    reader = make_attack(NAME, settings, {}).fit(texts, vectors, victim)
    hits = count_leaked(truth, reader.recover(target.documents()[rows]).rows)
    return {
        "informed.right": hits.found,
        "informed.rows": asked.astype(np.int32),
        "informed.terms": np.array(len(terms)),
    }
