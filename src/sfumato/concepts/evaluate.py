"""How well a detector finds what people labelled: precision and recall by label, counted by overlap."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sfumato.concepts.base import Detector, Span
from sfumato.concepts.spans import SpanLike, find_all, read_spans
from sfumato.errors import InputError

ANY = "any"


@dataclass(frozen=True, slots=True)
class DetectorScore:
    """Precision and recall of one label; a share of nothing is zero."""

    right: int
    """Spans found that touch a labelled one."""
    found: int
    hit: int
    """Labelled spans touched by a found one."""
    labelled: int

    @property
    def precision(self) -> float:
        """The share of what was found that was labelled."""
        return self.right / self.found if self.found else 0.0

    @property
    def recall(self) -> float:
        """The share of what was labelled that was found."""
        return self.hit / self.labelled if self.labelled else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of the two."""
        total = self.precision + self.recall
        return 2 * self.precision * self.recall / total if total else 0.0


@dataclass(frozen=True, slots=True)
class DetectorScores:
    """What a detector got on a set of labelled texts."""

    detector: str
    texts: int
    seconds: float
    """Processor time, which leaves out what other programs took."""
    labels: Mapping[str, DetectorScore]
    """By label; under "any" a labelled span may be touched by a span of whatever label."""

    @property
    def texts_per_second(self) -> float:
        """How fast it was."""
        return self.texts / self.seconds if self.seconds else 0.0


def score_detector(
    detector: Detector,
    rows: Iterable[tuple[str, Iterable[SpanLike]]],
    mapping: Mapping[str, str | None] | None = None,
) -> DetectorScores:
    """Compare what a detector finds with labelled spans; two spans match when they overlap.

    Args:
        detector: what to score.
        rows: texts with their labelled spans.
        mapping: the data's labels in the detector's words; labels it leaves out or maps to None do not
            count. Without a mapping every label counts under its own name.
    """
    given = list(rows)
    texts = [text for text, _ in given]
    gold = [_translated(spans, text, row, mapping) for row, (text, spans) in enumerate(given)]
    scored = sorted({span.label for spans in gold for span in spans})
    if not scored:
        raise InputError("There must be labelled spans to score a detector. Found none under these labels.")
    detector.find("")  # a model that is loaded on first use is not part of the speed
    start = time.process_time()
    found = list(find_all(detector, texts))
    seconds = time.process_time() - start
    labels = {label: _score(found, gold, {label}, {label}) for label in scored}
    everything = _score(found, gold, set(scored), None)
    return DetectorScores(detector.name, len(texts), seconds, {**labels, ANY: everything})


def _translated(
    spans: Iterable[SpanLike], text: str, row: int, mapping: Mapping[str, str | None] | None
) -> list[Span]:
    read = read_spans(spans, len(text), row=row)
    if mapping is None:
        return read
    named = ((span, mapping.get(span.label)) for span in read)
    return [Span(span.start, span.end, label) for span, label in named if label is not None]


def _score(
    found: Sequence[Sequence[Span]], gold: Sequence[Sequence[Span]], labels: set[str], by: set[str] | None
) -> DetectorScore:
    """Count matches of these labels; labelled spans may be touched by spans of `by`, or of any label."""
    right = hit = predicted = labelled = 0
    for ours, theirs in zip(found, gold, strict=True):
        wanted = [span for span in theirs if span.label in labels]
        claimed = [span for span in ours if span.label in labels]
        touching = ours if by is None else claimed
        predicted += len(claimed)
        labelled += len(wanted)
        right += sum(_touches(span, wanted) for span in claimed)
        hit += sum(_touches(span, touching) for span in wanted)
    return DetectorScore(right, predicted, hit, labelled)


def _touches(span: Span, others: Iterable[Span]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in others)
