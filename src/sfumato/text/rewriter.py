"""Private text: a text in, a text out in which every word was drawn anew (STAMP, algorithm 1)."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from sfumato.concepts.base import Detector
from sfumato.concepts.concept import Concept
from sfumato.concepts.spans import SpanLike
from sfumato.errors import InputError, ParameterError
from sfumato.text.budgets import Budgets, Group
from sfumato.text.channel import Channel, Make
from sfumato.text.decoders import WordDecoder
from sfumato.text.grouping import GroupFunction, name_of
from sfumato.text.groups import Grouped, GroupMap
from sfumato.text.importance import THRESHOLD, Importance, WordImportance
from sfumato.text.pieces import CONTINUES
from sfumato.text.prefixes import Ids
from sfumato.text.promise import (
    GIVEN_GROUPS,
    LAYOUT,
    PIECES,
    UNKNOWN_BLURRED,
    UNKNOWN_HIDDEN,
    UNKNOWN_KEPT,
    WITHIN_GROUPS,
    Promise,
    promise,
)
from sfumato.text.vocabulary import UNKNOWN, WordVectors
from sfumato.text.words import case_of, in_case
from sfumato.types import Floats

Unknown = Literal["blur", "hide", "keep"]
"""What becomes of words outside the vocabulary; `keep` keeps only those that are not sensitive."""

PLACEHOLDER = "[hidden]"

_NOTES = {"blur": UNKNOWN_BLURRED, "hide": UNKNOWN_HIDDEN, "keep": UNKNOWN_KEPT}


@dataclass(frozen=True, slots=True)
class Position:
    """What became of one position; for the owner of the text only, because it shows what was changed."""

    start: int
    end: int
    """Where it stood in the text."""
    group: Group
    epsilon: float
    """0 where a placeholder stands, infinite where the word was kept."""
    score: float
    """Cosine to the task."""
    known: bool
    draws: int
    """How many draws of the mechanism it took: 1, more where a word is cut into pieces, 0 for none."""
    written: str
    """What stands there now; empty where a span's one placeholder stands for it too."""
    before: str = ""
    """What stands in front of it now."""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A private text and what it promises."""

    text: str
    promise: Promise
    positions: tuple[Position, ...]
    tail: str = ""
    """What stands after the last of them."""

    @property
    def counts(self) -> dict[Group, int]:
        """How many words each group has."""
        return {part.group: part.words for part in self.promise.groups}


class _State(NamedTuple):
    """What is to be done with one position."""

    epsilon: float
    """0 for a placeholder, infinity for a copy, else what the mechanism gets."""
    known: bool
    draws: int


@dataclass
class _Plan:
    """What is to be done with the positions of a batch, text after text."""

    numbers: list[int]
    """The words to draw."""
    epsilons: list[float]
    states: list[list[_State]]


class Rewriter:
    """Rewrites texts word by word, with more noise where it protects and less where the task needs it.

    Args:
        vocabulary: words and their vectors.
        budgets: epsilon of each group of words; the first row of the paper's table unless given.
        sensitive: concepts or detectors that say what is sensitive.
        task: what the texts are for, in words; a question. Each text may also come with its own.
        threshold: cosine to the task from which a word is important.
        importance: scores words against the task; the vocabulary's own vectors unless given.
        mechanism: "polar", "polar+radius", "laplace", another registered name, or a function of epsilon.
        decoder: "exact", "hnsw", or an object with `nearest`.
        unknown: what becomes of words outside the vocabulary.
        placeholder: what stands for a span or word with a budget of 0.
        keep_case: also keep the capitals of sensitive words, which says a little about them.
        grouping: a group map of one's own: a function of text, task and words that gives each word its group.
    """

    def __init__(
        self,
        vocabulary: WordVectors,
        budgets: Budgets | None = None,
        *,
        sensitive: Sequence[Concept | Detector] = (),
        task: str = "",
        threshold: float = THRESHOLD,
        importance: Importance | None = None,
        mechanism: str | Make = "polar",
        decoder: str | WordDecoder = "exact",
        unknown: Unknown = "blur",
        placeholder: str = PLACEHOLDER,
        keep_case: bool = False,
        grouping: GroupFunction | None = None,
    ) -> None:
        if unknown not in _NOTES:
            raise ParameterError(f"`unknown` must be blur, hide or keep. Found {unknown!r:.40}.")
        self.budgets = budgets or Budgets.paper()
        self.channel = Channel(vocabulary, mechanism, decoder)
        self.groups = GroupMap(
            tuple(sensitive), importance or WordImportance(vocabulary), threshold=threshold, function=grouping
        )
        self.task, self.unknown, self.placeholder = task, unknown, placeholder
        self.keep_case = keep_case

    @property
    def vocabulary(self) -> WordVectors:
        """Words and their vectors."""
        return self.channel.vocabulary

    def with_budgets(self, budgets: Budgets) -> Rewriter:
        """The same with other budgets; vocabulary and decoder are shared."""
        made = copy.copy(self)
        made.budgets = budgets
        return made

    def with_threshold(self, threshold: float) -> Rewriter:
        """The same with another threshold of importance."""
        made = copy.copy(self)
        made.groups = replace(self.groups, threshold=threshold)
        return made

    def with_grouping(self, grouping: GroupFunction | None) -> Rewriter:
        """The same with another group map, or by concepts and cosine alone."""
        made = copy.copy(self)
        made.groups = replace(self.groups, function=grouping)
        return made

    def rewrite(
        self,
        texts: Sequence[str],
        *,
        tasks: Sequence[str] | None = None,
        spans: Sequence[Iterable[SpanLike]] | None = None,
        rng: object = None,
        threads: int | None = None,
    ) -> list[Rewritten]:
        """Rewrite every text.

        Args:
            texts: strings, of any length and any script.
            tasks: one a text, in place of the task of the whole.
            spans: sensitive spans each text came with; all count, unless a concept names labels.
            rng: None for secure noise, a `Source` or a seed for experiments.
            threads: how many threads; None means all cores.
        """
        found = _checked(texts)
        asked = [self.task] * len(found) if tasks is None else list(tasks)
        grouped = list(self.groups.group(found, asked, spans))
        plan = self._plan(grouped)
        drawn = self.channel.sample(plan.numbers, np.array(plan.epsilons), rng, threads=threads)
        words = self._written(drawn)
        return [self._put_together(*each, words) for each in zip(grouped, plan.states, strict=True)]

    def stream(
        self, batches: Iterable[Sequence[str]], *, rng: object = None, threads: int | None = None
    ) -> Iterator[Rewritten]:
        """Rewrite batch after batch; memory does not grow with their number."""
        for batch in batches:
            yield from self.rewrite(batch, rng=rng, threads=threads)

    def _budget(self, group: Group, known: bool) -> float:
        """0 for a placeholder, infinity for a copy, else what the mechanism gets."""
        epsilon = self.budgets.of(group)
        if known or epsilon == 0:
            return epsilon
        if self.unknown == "hide":
            return 0.0
        return math.inf if self.unknown == "keep" and not group.sensitive else epsilon

    def _plan(self, grouped: Sequence[Grouped]) -> _Plan:
        plan = _Plan([], [], [])
        for each in grouped:
            states = []
            for place, group in enumerate(each.groups):
                numbers = self._numbers(each, place)
                known = UNKNOWN not in numbers
                epsilon = self._budget(group, known)
                draws = len(numbers) if 0 < epsilon < math.inf else 0
                if draws:
                    plan.numbers += numbers
                    plan.epsilons += [epsilon] * draws
                states.append(_State(epsilon, known, draws))
            plan.states.append(states)
        return plan

    def _numbers(self, each: Grouped, place: int) -> list[int]:
        piece = each.layout.pieces[place]
        return self.vocabulary.numbers(each.layout.text[piece.start : piece.end]) if piece.word else [UNKNOWN]

    def _written(self, drawn: Ids) -> Iterator[str]:
        names = self.vocabulary.words
        found = (names[number] for number in drawn.tolist())
        return (name.removeprefix(CONTINUES) for name in found) if self.vocabulary.in_pieces else found

    def _put_together(self, each: Grouped, states: Sequence[_State], words: Iterator[str]) -> Rewritten:
        """Write one text with the words that were drawn for it, which are the next of `words`."""
        written = []
        hidden = -1
        for piece, state in zip(each.layout.pieces, states, strict=True):
            if state.draws:
                # Pieces of a word are written together.
                string = "".join([next(words) for _ in range(state.draws)])
                if piece.span < 0 or self.keep_case:
                    string = in_case(string, case_of(each.layout.text[piece.start : piece.end]))
            elif state.epsilon == 0:
                # One placeholder stands for a whole span, so that its length does not show.
                string = "" if piece.span >= 0 and piece.span == hidden else self.placeholder
                hidden = piece.span
            else:
                string = each.layout.text[piece.start : piece.end]
            written.append(string)
        gaps, tail = each.layout.before(written)
        columns = (each.layout.pieces, each.groups, states, each.scores, written, gaps)
        positions = tuple(
            Position(
                piece.start, piece.end, group, state.epsilon, score, state.known, state.draws, string, gap
            )
            for piece, group, state, score, string, gap in zip(*columns, strict=True)
        )
        made = "".join([part for pair in zip(gaps, written, strict=True) for part in pair]) + tail
        return Rewritten(made, self._promise(positions), positions, tail)

    def _promise(self, positions: Sequence[Position]) -> Promise:
        one = self.channel.mechanism(1.0).guarantee
        notes = [WITHIN_GROUPS, PIECES if self.vocabulary.in_pieces else LAYOUT, _NOTES[self.unknown]]
        if self.groups.function is not None:
            notes.insert(1, GIVEN_GROUPS.format(name=name_of(self.groups.function)))
        drawn = ((each.group, each.draws) for each in positions)
        return promise(drawn, self.budgets, one, self.channel.name, notes)

    def replacement(
        self, rewritten: Rewritten, source: str, *, draws: int = 64, rng: object = None
    ) -> Floats:
        """Estimate the chance that each position's word is replaced: 1 for placeholders, 0 for copies."""
        chances = np.array([float(each.epsilon == 0) for each in rewritten.positions])
        drawn = [row for row, each in enumerate(rewritten.positions) if 0 < each.epsilon < math.inf]
        numbers: list[int] = []
        owners: list[int] = []
        for row in drawn:
            each = rewritten.positions[row]
            found = self.vocabulary.numbers(source[each.start : each.end]) if each.known else [UNKNOWN]
            numbers += found
            owners += [row] * len(found)
        if owners:
            epsilons = np.array([rewritten.positions[row].epsilon for row in owners])
            kept = np.ones(len(chances))
            np.multiply.at(kept, owners, self.channel.kept(numbers, epsilons, draws, rng))
            chances[drawn] = 1 - kept[drawn]
        return chances


def _checked(texts: Any) -> list[str]:
    if isinstance(texts, str | bytes):
        raise InputError(f"`texts` must be a list of str. Found a single {type(texts).__name__}.")
    found = list(texts)
    for row, text in enumerate(found):
        if not isinstance(text, str):
            raise InputError(f"Row {row} of `texts` must be a str. Found {type(text).__name__}.")
    return found
