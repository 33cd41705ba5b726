"""Attackers as a rig runs them: trained on the attacker's own texts, then reading what was released."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from sfumato.attacks.base import Embeds
from sfumato.release import Releasing
from sfumato.trials.split import Split
from sfumato.types import Floats, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What was read from some vectors."""

    guesses: Sequence[str] | Sequence[Sequence[str]]
    """A text a row, or terms with the likeliest first."""
    probabilities: Floats | None = None
    """`[n, v]` of each term of the vocabulary."""
    vocabulary: Sequence[str] = ()


Read = Callable[[Vectors], Found]
Fit = Callable[[Sequence[str], Vectors, Releasing | None, "Embeds | None", int], Read]
"""Texts of the attacker's own, their vectors, the victim, its encoder if it may be queried, and a seed."""


@dataclass(frozen=True, slots=True)
class Attacker:
    """One attack; one that is slow is run once whatever the effort."""

    name: str
    fit: Fit = field(repr=False)
    slow: bool = False
    everything: bool = False
    """Whether he learns from all texts that are not attacked, or only from those with the concept."""

    def runs(self, wanted: int) -> int:
        """How many seeds or draws it is given."""
        return 1 if self.slow else wanted


def tokens(material: Split, *, epochs: int, copies: int, **settings: Any) -> Attacker:
    """The token classifier (MLC) made as strong as can be: a network, a linear one, or both."""

    def fit(
        texts: Sequence[str], vectors: Vectors, victim: Releasing | None, embedder: Embeds | None, seed: int
    ) -> Read:
        from sfumato.attacks.classifier import TokenClassifier, best_of

        attack = TokenClassifier(
            vocabulary=material.vocabulary,
            embedder=embedder if copies else None,
            copies=copies,
            epochs=epochs,
            control=False,
            seed=seed,
            **settings,
        )
        reader = best_of(attack, texts, vectors, victim)
        most = min(max(len(terms) for terms in material.truth), len(reader.vocabulary))

        def read(released: Vectors) -> Found:
            return Found(reader.top(released, most), reader.probabilities(released), reader.vocabulary)

        return read

    return Attacker("tokens", fit)


def written(name: str, attack: Callable[[int], Any], *, needs_texts: bool = True) -> Attacker:
    """An attack that writes texts; `attack` makes it for a seed."""

    def fit(
        texts: Sequence[str], vectors: Vectors, victim: Releasing | None, embedder: Embeds | None, seed: int
    ) -> Read:
        if not needs_texts:
            texts, vectors = [], vectors[:0]
        fitted = attack(seed).fit(texts, vectors, victim)
        return lambda released: Found(fitted.recover(released).rows)

    return Attacker(name, fit, slow=True, everything=True)
