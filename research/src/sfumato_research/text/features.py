"""What the reader sees of each stretch of a context: numbers, computed for all stretches at once."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.text.words import FUNCTION_WORDS, find_words
from sfumato.types import Floats

LONGEST = 6
"""Words of the longest stretch."""

_KINDS = (
    ("who", r"\bwho(se|m)?\b"),
    ("when", r"\bwhen\b|\b(what|which) (year|date|day|month|century|decade)\b"),
    ("where", r"\bwhere\b|\b(what|which) (city|country|state|town|place|river|island)\b"),
    ("many", r"\bhow (many|much|long|old|far|often|large|big|high)\b|\bwhat (percent|percentage|number)\b"),
    ("why", r"\bwhy\b"),
    ("how", r"\bhow\b"),
    ("which", r"\bwhich\b"),
    ("what", r"\bwhat\b"),
)
_KIND_PATTERNS = tuple(re.compile(pattern) for _, pattern in _KINDS)
_NUMBER_WORDS = frozenset(
    "one two three four five six seven eight nine ten eleven twelve hundred thousand million billion".split()
)
_BEFORE = ("in", "by", "of", "the", "to", "from", "at", "as", "was", "is", "on", "for")
_BASIC = 9
_GENERAL = 14 + LONGEST + len(_BEFORE)
SIZE = _GENERAL + (len(_KINDS) + 1) * _BASIC


@dataclass(frozen=True, slots=True, eq=False)
class Rarity:
    """How rare each word is in training contexts."""

    weights: dict[str, float]
    unseen: float

    @classmethod
    def of(cls, contexts: Iterable[str]) -> Rarity:
        """Count the contexts that hold each word."""
        seen: Counter[str] = Counter()
        total = 0
        for context in contexts:
            total += 1
            seen.update({stem(context[start:end]) for start, end in find_words(context)})
        return cls(
            {word: math.log((total + 1) / (count + 1)) for word, count in seen.items()}, math.log(total + 1)
        )

    def of_word(self, word: str) -> float:
        """Its weight; 0 for words of no content."""
        return 0.0 if word in FUNCTION_WORDS else self.weights.get(word, self.unseen)


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """Every stretch of up to LONGEST words of a context."""

    context: str
    words: list[tuple[int, int]]
    start: NDArray[np.int64]
    end: NDArray[np.int64]
    """Numbers of the first word, and of the one after the last."""

    @property
    def first_letter(self) -> NDArray[np.int64]:
        """Where each stretch starts in the context."""
        return np.array([self.words[row][0] for row in self.start.tolist()], np.int64)

    def text(self, row: int) -> str:
        """The stretch as it stands in the context."""
        return self.context[self.words[int(self.start[row])][0] : self.words[int(self.end[row]) - 1][1]]


def stem(word: str) -> str:
    """A word without the endings that questions change."""
    lowered = word.lower()
    for ending in ("ing", "ed", "es", "s"):
        if lowered.endswith(ending) and len(lowered) > len(ending) + 3:
            return lowered.removesuffix(ending)
    return lowered


def candidates(context: str) -> Candidates:
    """List every stretch."""
    words = find_words(context)
    first = np.repeat(np.arange(len(words)), LONGEST)
    last = first + np.tile(np.arange(1, LONGEST + 1), len(words))
    inside = last <= len(words)
    return Candidates(context, words, first[inside], last[inside])


def describe(found: Candidates, question: str, rarity: Rarity) -> Floats:
    """Return `[n, SIZE]` features of every stretch, given a question."""
    names = [found.context[start:end] for start, end in found.words]
    general = _general(found, names, question, rarity)
    basic = _basic(found, names)
    table = np.zeros((len(found.start), SIZE))
    table[:, :_GENERAL] = np.stack([np.asarray(column, np.float64) for column in general], axis=1)
    at = _GENERAL + _BASIC * _kind(question)
    table[:, at : at + _BASIC] = np.stack([np.asarray(column, np.float64) for column in basic], axis=1)
    return table


def _inside(found: Candidates, values: Floats) -> Floats:
    """The sum of a value over the words of every stretch."""
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray(sums[found.end] - sums[found.start])


def _general(found: Candidates, names: list[str], question: str, rarity: Rarity) -> list[Any]:
    """Where a stretch stands, beside words of the question and marks."""
    stems = [stem(name) for name in names]
    asked = {stem(question[start:end]) for start, end in find_words(question)}
    weights = {word: rarity.of_word(word) for word in asked}
    match = np.array([weights.get(word, 0.0) for word in stems])
    gaps = [
        found.context[left[1] : right[0]] for left, right in zip(found.words, found.words[1:], strict=False)
    ]
    stops = np.array([0] + [int(bool(re.search(r"[.!?]", gap))) for gap in gaps])
    marks = np.array([0] + [int(bool(re.search(r"[^\s]", gap))) for gap in gaps])
    dull = np.array([float(name.lower() in FUNCTION_WORDS) for name in names])
    start, end = found.start, found.end
    total = sum(weights.values()) or 1.0
    sentence = np.cumsum(stops)
    covered = np.bincount(sentence, match, minlength=int(sentence[-1]) + 1)[sentence] / total
    left, right = _nearness(match), _nearness(match[::-1])[::-1]
    length = end - start

    crossed = _inside(found, marks.astype(float)) - marks[start]
    general = [
        covered[start],
        covered[start] == covered.max(),
        left[start] / total,
        right[end - 1] / total,
        np.maximum(left[start], right[end - 1]) / total,
        _inside(found, match) / total,
        _inside(found, match) > 0,
        crossed > 0,
        _inside(found, stops.astype(float)) - stops[start] > 0,
        dull[start],
        dull[end - 1],
        marks[start],
        np.append(marks, 1)[end],
        _inside(found, dull) / length,
        *(length == size for size in range(1, LONGEST + 1)),
    ]
    ahead = np.array([""] + [name.lower() for name in names[:-1]])[start]
    return [*general, *(ahead == word for word in _BEFORE)]


def _basic(found: Candidates, names: list[str]) -> list[Any]:
    """What a stretch is made of: capitals, digits, numbers in words."""
    caps = np.array([float(name[:1].isupper()) for name in names])
    digits = np.array([float(any(letter.isdigit() for letter in name)) for name in names])
    years = np.array([float(len(name) == 4 and name.isdigit()) for name in names])
    counted = np.array([float(name.lower() in _NUMBER_WORDS) for name in names])
    start, end = found.start, found.end
    return [
        np.ones(len(start)),
        _inside(found, caps) / (end - start),
        caps[start] * caps[end - 1],
        _inside(found, caps) == 0,
        _inside(found, digits) > 0,
        _inside(found, years) > 0,
        _inside(found, counted) > 0,
        end - start == 1,
        end - start >= 4,
    ]


def _kind(question: str) -> int:
    lowered = question.lower()
    return next((row for row, pattern in enumerate(_KIND_PATTERNS) if pattern.search(lowered)), len(_KINDS))


def _nearness(match: Floats, decay: float = 0.75) -> Floats:
    """For each word, matched words before it, nearer ones counting more."""
    out = np.zeros(len(match))
    held = 0.0
    for row, value in enumerate(match.tolist()):
        out[row] = held
        held = decay * (held + value)
    return out
