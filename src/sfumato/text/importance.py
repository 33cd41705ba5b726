"""How much a word matters to a task: its cosine to the task's words, or to the task as an encoder sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import Embedder
from sfumato.errors import ParameterError
from sfumato.sampling import Floats
from sfumato.text.vocabulary import UNKNOWN, Vocabulary
from sfumato.text.words import FUNCTION_WORDS, find_words

THRESHOLD = 0.5
"""The paper's default (figure 5)."""
SWEEP = (0.3, 0.4, 0.5, 0.6, 0.7)
"""The thresholds of the paper's figure 5."""

Pool = Literal["mean", "closest"]


class Importance(Protocol):
    """Scores words against a task."""

    name: str

    def scores(self, words: Sequence[str], task: str) -> Floats:
        """Return `[n]` cosines in [-1, 1]; a word it does not know gets 0."""


class WordImportance:
    """Cosine in the space of the vocabulary, around its mean.

    Args:
        vocabulary: words and vectors; of the task only words of content count, where it has some.
        pool: "mean" is the paper's, the cosine to the task's mean vector; "closest" is the largest cosine to
            one of its words.
    """

    def __init__(self, vocabulary: Vocabulary, *, pool: Pool = "mean") -> None:
        if pool not in ("mean", "closest"):
            raise ParameterError(f"`pool` must be mean or closest. Found {pool!r:.40}.")
        self.vocabulary, self.pool = vocabulary, pool
        self.name = f"{vocabulary.name}, {pool}"
        self._mean = vocabulary.vectors.mean(axis=0, dtype=np.float64)

    def scores(self, words: Sequence[str], task: str) -> Floats:
        """Return `[n]` cosines; 0 for words outside the vocabulary and for a task without known words."""
        known = self._asked(task)
        own = np.array([self.vocabulary.number(word) for word in words], np.int64)
        if not known or not own.size:
            return np.zeros(len(own))
        ask = self._centred(np.array(known))
        if self.pool == "mean":
            ask = _unit(ask.mean(axis=0, keepdims=True))
        found = (self._centred(np.maximum(own, 0)) @ ask.T).max(axis=1)
        return np.where(own >= 0, np.clip(found, -1.0, 1.0), 0.0)

    def _asked(self, task: str) -> list[int]:
        words = [task[start:end].lower() for start, end in find_words(task)]
        content = [word for word in words if word not in FUNCTION_WORDS]
        numbers = {self.vocabulary.number(word) for word in content or words}
        return sorted(numbers - {UNKNOWN})

    def _centred(self, numbers: NDArray[np.int64]) -> Floats:
        return _unit(self.vocabulary.vectors[numbers] - self._mean)


class EncoderImportance:
    """Cosine between a word and the task, both embedded as texts."""

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder
        self.name = embedder.name
        self._kept: dict[str, Floats] = {}

    def scores(self, words: Sequence[str], task: str) -> Floats:
        """Return `[n]` cosines; each different text is embedded once."""
        new = [text for text in dict.fromkeys((task, *words)) if text not in self._kept]
        if new:
            vectors = self.embedder.embed(new)
            self._kept.update(zip(new, _unit(vectors.astype(np.float64)), strict=True))
        if not len(words):
            return np.zeros(0)
        found = np.stack([self._kept[word] for word in words]) @ self._kept[task]
        return np.asarray(np.clip(found, -1.0, 1.0))


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
