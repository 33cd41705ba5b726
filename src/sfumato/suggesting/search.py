"""Spans of the notes that are most like some examples: nearest in contextual vectors, beside all others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sfumato.embedders.base import OnBatch
from sfumato.errors import InputError, ParameterError
from sfumato.numbers import whole_number
from sfumato.suggesting.gather import Gathered, SeenSpan
from sfumato.suggesting.spans import Key, folded_words
from sfumato.suggesting.tokens import TokenVectors
from sfumato.types import Floats

MOST_TEXTS, MOST_EXAMPLES, MOST_SHOWN = 20_000, 64, 1000
LIKELY = 1.3
"""Deviations above the notes' other spans from which a span is likely rather than possible."""
_AROUND = 0.5
"""How much what stands around a span counts beside the span itself."""


class ReadsTokens(Protocol):
    """Whatever gives the tokens of texts with their vectors."""

    def read(self, texts: Sequence[str], on_batch: OnBatch | None = None) -> Iterator[TokenVectors]:
        """Yield the tokens of each text in order."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A span that may belong to the concept."""

    term: str
    """As it is written most often."""
    score: float
    """How many deviations it is above the notes' other spans."""
    likely: bool
    count: int
    """How often it stands in the notes."""
    texts: int
    """In how many of them."""
    row: int
    """The first of them, and where in it."""
    start: int
    end: int


def suggest(
    texts: Sequence[str],
    like: Sequence[str],
    *,
    tokens: ReadsTokens,
    describe: str = "",
    most: int = 40,
    on_batch: OnBatch | None = None,
) -> list[Suggestion]:
    """Return spans of the texts that are like the examples, the nearest first.

    Args:
        texts: where to look.
        like: examples of the concept; where they stand in the texts, their vectors are taken from there.
        tokens: what reads the texts, such as `MiniLMTokens`.
        describe: the concept in a few words, if that helps.
        most: how many to return at most.
        on_batch: told how many texts were just read.
    """
    whole_number(most, "most", 1, MOST_SHOWN)
    wanted = [" ".join(each.split()) for each in like if each.strip()]
    if not 1 <= len(wanted) <= MOST_EXAMPLES:
        raise ParameterError(f"`like` must hold 1 to {MOST_EXAMPLES} examples. Found {len(wanted)}.")
    if not 1 <= len(texts) <= MOST_TEXTS:
        raise InputError(f"There must be 1 to {MOST_TEXTS:,} texts. Found {len(texts):,}. Take a sample.")
    found = Gathered(wanted)
    for row, (text, read) in enumerate(zip(texts, tokens.read(texts, on_batch), strict=True)):
        found.add(row, text, read)
    said = [each for each in (*wanted, describe.strip()) if each]
    alone = [read.vectors.mean(axis=0) for read in tokens.read(said) if len(read.vectors)]
    scores = _scores(found, np.array(alone, np.float64))
    return list(_ranked(found.spans, scores, {folded_words(each) for each in wanted}, most))


def _scores(found: Gathered, alone: Floats) -> Floats:
    """How like the examples each span is, in deviations above the notes' other spans."""
    if not found.spans:
        return np.zeros(0)
    there = [each.own / each.count for each in found.examples.values()]
    own = _above(_means(seen.own / seen.count for seen in found.spans.values()), np.array([*there, *alone]))
    if not there:
        return own
    total = sum(each.count for each in found.examples.values())
    around = np.sum([each.around for each in found.examples.values()], axis=0) / total
    near = _above(_means(seen.around / seen.count for seen in found.spans.values()), around[None])
    return np.asarray((own + _AROUND * near) / np.hypot(1.0, _AROUND))


def _means(rows: Iterable[Floats]) -> Floats:
    return np.stack(list(rows))


def _above(vectors: Floats, prototypes: Floats) -> Floats:
    """How near each row is to its nearest prototype, beside how near rows commonly are."""
    middle = vectors.mean(axis=0)
    near = (_unit(vectors - middle) @ _unit(prototypes - middle).T).max(axis=1)
    # Deviations by the median: the few that are like the examples do not raise their own bar.
    spread = float(1.4826 * np.median(np.abs(near - np.median(near)))) or 1.0
    return np.asarray((near - np.median(near)) / spread)


def _unit(rows: Floats) -> Floats:
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))


def _ranked(spans: dict[Key, SeenSpan], scores: Floats, given: set[Key], most: int) -> Iterator[Suggestion]:
    """The best spans, without the examples, and without a better one's parts or it with its neighbours."""
    keys, kept = list(spans), list(given)
    for place in np.argsort(-scores, kind="stable"):
        key, score, seen = keys[place], float(scores[place]), spans[keys[place]]
        if any(_holds(key, other) for other in kept):
            continue
        if any(_holds(other, key) and spans[other].count == seen.count for other in kept if other in spans):
            continue
        kept.append(key)
        term = max(seen.written, key=lambda each: (seen.written[each], each))
        yield Suggestion(term, score, score >= LIKELY, seen.count, seen.texts, *seen.first)
        if len(kept) == len(given) + most:
            return


def _holds(key: Key, other: Key) -> bool:
    size = len(other)
    return any(key[first : first + size] == other for first in range(len(key) - size + 1))
