"""The vectors that a protector is learned from: drawn and embedded in rounds, until they are enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.texts.pairs import Pairs
from sfumato.embedders.base import Embedder
from sfumato.randomness import generator
from sfumato.sensitivity import Background, Ellipsoid
from sfumato.sensitivity.ellipsoid import differences
from sfumato.sensitivity.shipped import shipped_background
from sfumato.sensitivity.stability import STABLE, halves_agree, wanted

FIRST_ROUND = 500
"""Texts with each concept that are embedded before it is asked whether they are enough."""

OnStep = Callable[[str, int], object]
OnTotal = Callable[[int], object]


def _nobody(*_: Any) -> None:
    """Where nobody listens."""


@dataclass(slots=True, kw_only=True)
class Sampled:
    """What was drawn of each concept and of ordinary text, and their vectors."""

    moves: list[Any]
    """`[n, d]` what each concept's terms change."""
    removed: list[bool]
    """Whether these lead to the text without the term, for want of another one."""
    background: Background
    rows: list[int]
    """Pairs that were used of each concept."""
    agreement: float | None
    """Of the ellipsoids of two halves; None where everything was used at once."""


@dataclass(slots=True, kw_only=True)
class Sampler:
    """Embeds pairs and ordinary texts in random order, a round at a time; each text once for all concepts.

    Args:
        pairs: what holds each concept.
        ordinary: texts without any, or their spread where that is known.
        embedder: embeds; it remembers, so that rounds and concepts share what they have in common.
        fit: the ellipsoid of some moves and some spread.
        source: what the texts are, for the record of their spread.
        seed: draws the order.
        on_step: told of texts as they are embedded.
        on_total: told how many there will be, as far as that is known.
    """

    pairs: Sequence[Pairs]
    ordinary: list[str] | Background
    embedder: Embedder
    fit: Callable[[list[Any], Background], Ellipsoid]
    source: str = "unknown"
    seed: int = 0
    on_step: OnStep = _nobody
    on_total: OnTotal = _nobody
    _seen: dict[str, None] = field(default_factory=dict, init=False)

    def gather(self) -> Sampled:
        """Draw until the halves of what was drawn agree, or all of it is used."""
        orders = self._orders()
        size, agreed = FIRST_ROUND, None
        spread = self._spread([order[:size] for order in orders])
        while True:
            chosen = [order[:size] for order in orders]
            self._embed(_texts(self.pairs, chosen))
            if all(len(some) == len(order) for some, order in zip(chosen, orders, strict=True)):
                break
            agreed = halves_agree(lambda some: self.fit(some, spread), self._moves(chosen))
            if agreed >= STABLE:
                break
            size = wanted(size, agreed)
        return Sampled(
            moves=self._moves([np.sort(places) for places in chosen]),
            removed=[not each.substitutes for each in self.pairs],
            background=spread,
            rows=[len(places) for places in chosen],
            agreement=agreed,
        )

    def _orders(self) -> list[NDArray[np.intp]]:
        """One order of all rows, so that concepts are learned from the same texts as far as they can be."""
        rows = 1 + max(max(each.rows) for each in self.pairs)
        place = generator(self.seed).permutation(rows)
        return [np.argsort(place[np.array(each.rows)], kind="stable") for each in self.pairs]

    def _spread(self, first: Sequence[NDArray[np.intp]]) -> Background:
        """The spread of ordinary text, which is embedded together with the first round."""
        if isinstance(self.ordinary, Background):
            return self.ordinary
        self._embed([*_texts(self.pairs, first), *self.ordinary])
        return Background.fit(self.embedder.embed(self.ordinary), source=self.source)

    def _embed(self, texts: Sequence[str]) -> None:
        """Embed what is new of these, in one call."""
        new = [text for text in dict.fromkeys(texts) if text not in self._seen]
        self._seen |= dict.fromkeys(new)
        self.on_total(len(self._seen))
        self.embedder.embed(new, on_batch=lambda count: self.on_step("learning", count))

    def _moves(self, chosen: Sequence[NDArray[np.intp]]) -> list[Any]:
        """Substitutions show how terms differ, which attackers read; removals serve where there are none."""
        found = []
        for pairs, places in zip(self.pairs, chosen, strict=True):
            vectors = self.embedder.embed(_both(pairs, places))
            found.append(differences(vectors[: len(places)], vectors[len(places) :]))
        return found


def _texts(pairs: Sequence[Pairs], chosen: Sequence[NDArray[np.intp]]) -> list[str]:
    return [text for each, places in zip(pairs, chosen, strict=True) for text in _both(each, places)]


def _both(pairs: Pairs, places: NDArray[np.intp]) -> list[str]:
    """Texts with the concept, and then the same with another term or without it."""
    others = pairs.substitutes or pairs.minus
    return [pairs.plus[place] for place in places] + [others[place] for place in places]


def ordinary_text(
    texts: Sequence[str],
    given: Sequence[str] | NDArray[np.float32] | Background | None,
    pairs: Sequence[Pairs],
    encoder: Embedder,
    *,
    limit: int,
    source: str,
) -> list[str] | Background:
    """What the caller gave, else the texts without a concept, or what is shipped where they are few."""
    if isinstance(given, Background):
        return given
    if isinstance(given, np.ndarray):
        return Background.fit(given, source=source)
    ordinary = list(given) if given is not None else _without_concepts(texts, pairs)
    ordinary = ordinary[:limit]
    if given is None and len(ordinary) < 2 * encoder.dim:
        shipped = shipped_background(encoder.model_id)
        if shipped is not None:
            return replace(shipped, source=f"{shipped.source} (shipped)")
    return ordinary


def _without_concepts(texts: Sequence[str], pairs: Sequence[Pairs]) -> list[str]:
    """Texts in which nothing was found, and then the others with a concept taken out, each of them once."""
    clean = set(pairs[0].clean).intersection(*(each.clean for each in pairs[1:]))
    bare: dict[int, str] = {}
    for each in pairs:
        for row, text in zip(each.rows, each.minus, strict=True):
            bare.setdefault(row, text)
    return [texts[row] for row in sorted(clean)] + list(bare.values())
