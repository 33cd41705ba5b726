"""More texts out of some: parts of them, and the beginning of one joined to the end of another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

FEWEST_WORDS = 3


def more_texts(texts: Sequence[str], count: int, random: np.random.Generator) -> list[str]:
    """So many texts, half of them parts, half of them joined; single words are left as they are."""
    made = []
    for one, other, joins in zip(
        random.integers(len(texts), size=count),
        random.integers(len(texts), size=count),
        random.random(count) < 0.5,
        strict=True,
    ):
        left = texts[one].split()
        chosen = _joined(left, texts[other].split(), random) if joins else _part(left, random)
        made.append(" ".join(chosen) or texts[one])
    return made


def _part(words: list[str], random: np.random.Generator) -> list[str]:
    if len(words) <= FEWEST_WORDS:
        return words
    size = int(random.integers(FEWEST_WORDS, len(words) + 1))
    start = int(random.integers(len(words) - size + 1))
    return words[start : start + size]


def _joined(left: list[str], right: list[str], random: np.random.Generator) -> list[str]:
    """The beginning of one and the end of the other, together about as long as one of them."""
    if min(len(left), len(right)) < 2:
        return left or right
    keep = int(random.integers(1, len(left)))
    rest = int(random.integers(1, max(len(left) - keep, 1) + 1))
    return left[:keep] + right[-rest:]
