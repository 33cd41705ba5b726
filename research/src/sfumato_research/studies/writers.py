"""Attacks that write texts, made by a study with settings of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sfumato.attacks.base import Embeds
from sfumato.release import Releasing
from sfumato.trials.reading import Instrument, Read
from sfumato.types import Vectors


def writer(name: str, attack: Callable[[int], Any], *, needs_texts: bool = True) -> Instrument:
    """An attack that writes texts; `attack` makes it for a seed."""

    def fit(
        texts: Sequence[str], vectors: Vectors, victim: Releasing | None, embedder: Embeds | None, seed: int
    ) -> Read:
        if not needs_texts:
            texts, vectors = [], vectors[:0]
        fitted = attack(seed).fit(texts, vectors, victim)
        return lambda released: fitted.recover(released).rows

    return Instrument(name, "text", fit, learns=needs_texts)
