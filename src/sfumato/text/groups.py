"""Which group each word is in (STAMP, section 3.1): spans as one, importance by cosine or by a function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.concepts.base import Detector, Span
from sfumato.concepts.concept import Concept
from sfumato.concepts.spans import SpanLike, find_all, merge, read_spans
from sfumato.errors import ParameterError
from sfumato.numbers import finite_number
from sfumato.text.budgets import Budgets, Group
from sfumato.text.grouping import GroupFunction, WordPlace, ask
from sfumato.text.importance import THRESHOLD, Importance
from sfumato.text.words import TextLayout, lay_out
from sfumato.types import Floats


@dataclass(frozen=True, slots=True)
class Grouped:
    """A text cut into positions, each with its group."""

    layout: TextLayout
    groups: tuple[Group, ...]
    scores: tuple[float, ...]
    """Cosine to the task, of a span the largest of its words."""


@dataclass(frozen=True)
class GroupMap:
    """Finds what is sensitive and what matters, and puts every word into one of four groups.

    Args:
        sensitive: concepts or detectors; what any of them finds is sensitive.
        importance: scores words against the task; without it nothing matters more than the rest.
        threshold: words at least so close to the task are important.
        function: a map of one's own, which is told of these groups and may give others.
    """

    sensitive: Sequence[Concept | Detector] = ()
    importance: Importance | None = None
    threshold: float = THRESHOLD
    function: GroupFunction | None = None

    def __post_init__(self) -> None:
        """Check the threshold."""
        finite_number(self.threshold, "threshold", -1.0, 1.0)

    @property
    def names_labels(self) -> bool:
        """Whether a concept says which labels of the given spans count."""
        return any(isinstance(part, Concept) and part.source == "spans" for part in self.sensitive)

    def find(
        self, texts: Sequence[str], spans: Sequence[Iterable[SpanLike]] | None = None
    ) -> Iterator[list[Span]]:
        """Return what is sensitive in each text; `spans` are those the texts came with.

        All of those count, unless a concept names the labels that do.
        """
        streams = [_found(part, texts, spans) for part in self.sensitive]
        if spans is not None and not self.names_labels:
            streams.append(_given(texts, spans))
        if not streams:
            return iter([[] for _ in texts])
        return (merge(span for spans in found for span in spans) for found in zip(*streams, strict=True))

    def group(
        self,
        texts: Sequence[str],
        tasks: Sequence[str],
        spans: Sequence[Iterable[SpanLike]] | None = None,
    ) -> Iterator[Grouped]:
        """Group the words of every text, given its task."""
        if len(tasks) != len(texts):
            raise ParameterError(f"Every text must have its task. Found {len(tasks)} for {len(texts)} texts.")
        for row, (text, task, found) in enumerate(zip(texts, tasks, self.find(texts, spans), strict=True)):
            layout = lay_out(text, found)
            scores = self._scores(layout, task)
            groups = [
                _group(piece.span >= 0, bool(score >= self.threshold))
                for piece, score in zip(layout.pieces, scores, strict=True)
            ]
            if self.function is not None:
                layout, groups = self._asked(self.function, layout, task, scores, groups, row)
            yield Grouped(layout, tuple(groups), tuple(scores.tolist()))

    def _asked(
        self,
        function: GroupFunction,
        layout: TextLayout,
        task: str,
        scores: Floats,
        groups: Sequence[Group],
        row: int,
    ) -> tuple[TextLayout, list[Group]]:
        """The groups of a function; what it calls sensitive becomes spans, to be treated alike."""
        columns = zip(layout.pieces, scores.tolist(), groups, strict=True)
        words = [
            WordPlace(piece.start, piece.end, piece.span, score, group) for piece, score, group in columns
        ]
        given = ask(function, layout.text, task, words, row)
        added = [
            Span(word.start, word.end, "group map")
            for word, group in zip(words, given, strict=True)
            if group.sensitive and not word.sensitive
        ]
        # Every added span is one whole word: positions stay as they are, one for one.
        return lay_out(layout.text, [*layout.spans, *added]) if added else layout, given

    def _scores(self, layout: TextLayout, task: str) -> Floats:
        if self.importance is None or not task:
            return np.full(len(layout.pieces), -1.0)
        words = [layout.text[piece.start : piece.end] for piece in layout.pieces]
        if not getattr(self.importance, "cased", False):
            words = [word.lower() for word in words]
        own = [word if piece.word else "" for word, piece in zip(words, layout.pieces, strict=True)]
        different = [word for word in dict.fromkeys(own) if word]
        found = dict(zip(different, self.importance.scores(different, task), strict=True))
        scores = np.array([found.get(word, 0.0) for word in own])
        span = np.array([piece.span for piece in layout.pieces], np.int64)
        # A span is one thing (section 4, span-level constraints): it matters as much as its closest word.
        inside = span >= 0
        top = np.full(len(layout.spans), -1.0)
        np.maximum.at(top, span[inside], scores[inside])
        scores[inside] = top[span[inside]]
        return scores


def _found(
    part: Concept | Detector, texts: Sequence[str], spans: Sequence[Iterable[SpanLike]] | None
) -> Iterator[list[Span]]:
    return part.find_all(texts, spans) if isinstance(part, Concept) else find_all(part, texts)


def _given(texts: Sequence[str], spans: Sequence[Iterable[SpanLike]]) -> Iterator[list[Span]]:
    if len(spans) != len(texts):
        raise ParameterError(f"Every text must have its spans. Found {len(spans)} for {len(texts)} texts.")
    return (
        read_spans(found, len(text), row=row)
        for row, (text, found) in enumerate(zip(texts, spans, strict=True))
    )


def _group(sensitive: bool, important: bool) -> Group:
    if sensitive:
        return Group.SENSITIVE_IMPORTANT if important else Group.SENSITIVE
    return Group.IMPORTANT if important else Group.OTHER


def count_groups(grouped: Iterable[Grouped]) -> dict[Group, int]:
    """How many words each group has."""
    counts = Counter(group for each in grouped for group in each.groups)
    return {group: counts[group] for group in Group}


def group_table(counts: dict[Group, int], budgets: Budgets) -> list[tuple[str, str, str]]:
    """The 2 x 2 table as rows of text: a heading, then sensitive and other words, important ones first."""
    total = max(1, sum(counts.values()))

    def cell(group: Group) -> str:
        epsilon = budgets.of(group)
        spent = "hidden" if epsilon == 0 else f"epsilon {epsilon:g}"
        return f"group {int(group)}: {counts[group]} words ({counts[group] / total:.0%}), {spent}"

    return [
        ("", "important to the task", "not important"),
        ("sensitive", cell(Group.SENSITIVE_IMPORTANT), cell(Group.SENSITIVE)),
        ("not sensitive", cell(Group.IMPORTANT), cell(Group.OTHER)),
    ]
