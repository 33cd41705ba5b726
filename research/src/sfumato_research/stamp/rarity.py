"""A group map by a function: a word is important when it is rare, whatever the task."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.text import Group, WordPlace
from sfumato.text.words import find_words


@dataclass(frozen=True, slots=True, eq=False)
class RarityMap:
    """Words in few texts of the same kind are important; what is sensitive is left to the detectors."""

    weights: Mapping[str, float]
    unseen: float
    cut: float
    name: str = "rarity"

    @classmethod
    def fit(cls, others: Sequence[str], texts: Sequence[str], share: float) -> RarityMap:
        """Count in other texts, and cut where about this share of the words of `texts` is important."""
        seen: Counter[str] = Counter()
        for text in others:
            seen.update(set(_lowered(text)))
        total = len(others)
        weights = {word: math.log((total + 1) / (count + 1)) for word, count in seen.items()}
        unseen = math.log(total + 1)
        found = np.array([weights.get(word, unseen) for text in texts for word in _lowered(text)])
        cut = float(np.quantile(found, 1 - share)) if len(found) else 0.0
        return cls(weights, unseen, cut)

    def __call__(self, text: str, task: str, words: Sequence[WordPlace], /) -> list[Group]:
        """The group of every word."""
        groups = []
        for word in words:
            rare = self.weights.get(text[word.start : word.end].lower(), self.unseen) >= self.cut
            if word.sensitive:
                groups.append(Group.SENSITIVE_IMPORTANT if rare else Group.SENSITIVE)
            else:
                groups.append(Group.IMPORTANT if rare else Group.OTHER)
        return groups


def _lowered(text: str) -> list[str]:
    return [text[start:end].lower() for start, end in find_words(text)]
