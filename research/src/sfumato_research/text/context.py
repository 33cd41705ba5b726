"""Guessing a word from the words around it: how often words stand near each other in public text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.numbers import finite_number, whole_number
from sfumato.text.prefixes import Ids
from sfumato.text.vocabulary import UNKNOWN, WordVectors
from sfumato.text.words import find_words
from sfumato.types import Floats

_SMOOTH = 10.0
"""Weight of "as often as everywhere" beside what was counted."""


_LISTS = 1 << 13
"""Lists of pairs that are gathered before they are counted together."""


class ContextModel:
    """A naive Bayes model of a word given those around it.

    log P(x | context) = log P(x) + weight * sum over context words c of log P(c | x)/P(c), counted within
    `window` words on either side and smoothed towards independence.
    """

    def __init__(self, counts: Any, unigrams: Floats, *, window: int, weight: float = 0.5) -> None:
        self.window = window
        self.weight = finite_number(weight, "weight", 0.0, 10.0)
        self.unigrams = unigrams
        """`[V]` shares of the words, all above 0."""
        near = np.asarray(counts.sum(axis=1)).ravel()
        share = (near + 1) / (near + 1).sum()
        self._unseen = np.log(_SMOOTH / (near + _SMOOTH))
        """What a context word that never stood near a word says about it."""
        lifted = counts.tocoo()
        data = np.log1p(lifted.data / (_SMOOTH * share[lifted.row]))
        self._lift = type(counts)((data, (lifted.row, lifted.col)), shape=counts.shape)

    @classmethod
    def fit(
        cls, vocabulary: WordVectors, texts: Iterable[str], *, window: int = 4, weight: float = 0.5
    ) -> ContextModel:
        """Count words and pairs of words in public texts."""
        from scipy.sparse import csr_array

        window = whole_number(window, "window", 1, 100)
        size = len(vocabulary)
        singles = np.zeros(size)
        pairs = csr_array((size, size), dtype=np.float64)
        rows: list[NDArray[np.int64]] = []
        columns: list[NDArray[np.int64]] = []

        def gathered() -> Any:
            row, column = np.concatenate(rows), np.concatenate(columns)
            return csr_array((np.ones(len(row)), (row, column)), shape=(size, size))

        for text in texts:
            found = numbered(vocabulary, text)
            singles += np.bincount(found[found >= 0], minlength=size)
            for step in range(1, window + 1):
                left, right = found[:-step], found[step:]
                both = (left >= 0) & (right >= 0)
                rows += [left[both], right[both]]
                columns += [right[both], left[both]]
            if len(rows) > _LISTS:
                pairs += gathered()
                rows, columns = [], []
        if rows:
            pairs += gathered()
        if not singles.any():
            raise InputError("The context model needs texts with known words. Found none.")
        return cls(csr_array(pairs), (singles + 0.5) / (singles + 0.5).sum(), window=window, weight=weight)

    def scores(self, context: Ids, candidates: Ids) -> Floats:
        """Return `[n]` log odds of the candidates given context words, up to a constant; without P(x)."""
        known = context[context >= 0]
        lift = np.zeros(len(candidates))
        if known.size:
            lift = np.asarray(self._lift[known].sum(axis=0)).ravel()[candidates]
        return np.asarray(self.weight * (lift + len(known) * self._unseen[candidates]))

    def around(self, words: Ids, place: int) -> Ids:
        """The words in the window around a place, without it."""
        low = max(0, place - self.window)
        return np.concatenate([words[low:place], words[place + 1 : place + 1 + self.window]])


def numbered(vocabulary: WordVectors, text: str | Sequence[str]) -> Ids:
    """The numbers of the words of a text, or of words."""
    words = [text[start:end] for start, end in find_words(text)] if isinstance(text, str) else text
    return np.array([vocabulary.number(word) if word else UNKNOWN for word in words], np.int64)
