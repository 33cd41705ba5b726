"""How much a word matters to a task: its cosine to the task's words, or to the task as an encoder sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.embedders.base import Embedder
from sfumato.errors import ParameterError
from sfumato.text.vocabulary import UNKNOWN, WordVectors
from sfumato.text.words import FUNCTION_WORDS, find_words
from sfumato.types import Floats

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

    def __init__(self, vocabulary: WordVectors, *, pool: Pool = "mean") -> None:
        if pool not in ("mean", "closest"):
            raise ParameterError(f"`pool` must be mean or closest. Found {pool!r:.40}.")
        self.vocabulary, self.pool = vocabulary, pool
        self.name = f"{vocabulary.name}, {pool}"
        self.cased = vocabulary.cased
        self._mean = vocabulary.vectors.mean(axis=0, dtype=np.float64)

    def scores(self, words: Sequence[str], task: str) -> Floats:
        """Return `[n]` cosines; 0 for words outside the vocabulary and for a task without known words."""
        asked = [task[start:end] for start, end in find_words(task)]
        asked = asked if self.cased else [word.lower() for word in asked]
        content = [word for word in asked if word.lower() not in FUNCTION_WORDS]
        ask, known = self._centred(sorted(set(content or asked)))
        own, inside = self._centred(words)
        if not known.any() or not inside.any():
            return np.zeros(len(words))
        ask = ask[known]
        if self.pool == "mean":
            ask = _unit(ask.mean(axis=0, keepdims=True))
        return np.where(inside, np.clip((own @ ask.T).max(axis=1), -1.0, 1.0), 0.0)

    def _centred(self, words: Sequence[str]) -> tuple[Floats, NDArray[np.bool_]]:
        """`[n, d]` unit vectors around the mean, pieces of a word averaged; `[n]` which of them are known."""
        numbers = [self.vocabulary.numbers(word) for word in words]
        known = np.array([UNKNOWN not in found for found in numbers], bool)
        first = np.array([max(found[0], 0) for found in numbers], np.int64)
        rows = self.vocabulary.vectors[first] - self._mean
        for row, found in enumerate(numbers):
            if len(found) > 1:
                rows[row] = self.vocabulary.vectors[found].mean(axis=0) - self._mean
        return _unit(rows), known


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
