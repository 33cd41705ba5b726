"""Finds what the packaged tagger finds: names, dates, identifiers and medical terms, in any case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

import numpy as np

from sfumato.blocks import thread_count
from sfumato.concepts.base import Check, Detector, Span
from sfumato.concepts.spans import encodable, found_already, merge, watched
from sfumato.errors import ParameterError
from sfumato.tagging.model import TaggerModel, Words, load

# What may stand between two words of one name, one date, one address.
_BETWEEN = re.compile(r"[\s\-'’.,/&@_:+()#]{0,3}")
# What an address or a handle says of people is the detector's of addresses: an office has one, too, and code.
_ADDRESS = re.compile(r"\S*@\S+|\S+://\S+")
_NAMES = frozenset({"person", "location", "organisation"})
VOUCHED = 0.05
"""A listed word less likely than this is not of the kind: England that plays, Paris who sings."""
_BATCH, _CHARACTERS = 64, 200_000


class Tagger:
    """Finds words that the tagger takes for one of some kinds, and joins those that stand side by side.

    Args:
        labels: which kinds, in the catalog's words; all when left out.
        beside: detectors that know no context, for a single kind; what they find counts unless the tagger is
            sure that it is something else.
        threshold: how likely a word has to be of its kind, 0 to 1; each kind's own when left out.
        threads: how many texts are read at once; as many as there are cores when left out.
    """

    blind_to = (
        "Names that look like ordinary words in context, most nicknames, and languages other than English, "
        "of which it knows what it happened to see."
    )

    def __init__(
        self,
        *,
        labels: Iterable[str] = (),
        beside: Iterable[Detector] = (),
        threshold: float | None = None,
        threads: int | None = None,
    ) -> None:
        if threshold is not None and not 0 < threshold < 1:
            raise ParameterError(f"`threshold` must lie between 0 and 1. Found {threshold:g}.")
        self._model: TaggerModel = load()
        self.labels = tuple(labels) or self._model.kinds
        unknown = [label for label in self.labels if label not in self._model.kinds]
        if unknown:
            raise ParameterError(
                f"The tagger finds: {', '.join(self._model.kinds)}. Found {unknown[0]!r:.60}."
            )
        self.beside = tuple(beside)
        if self.beside and len(self.labels) != 1:
            raise ParameterError(f"`beside` is for a single kind. Found {len(self.labels)}.")
        self.threshold = threshold
        self._threads = thread_count(threads)
        self.name = f"tagger {self._model.digest[:8]} ({', '.join(self.labels)})"
        self.name += "".join(f" + {each.name}" for each in self.beside)
        if threshold is not None:
            self.name += f" from {threshold:.3g}"

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind the tagger knows, in the order of its likelihoods."""
        return self._model.kinds

    def find(self, text: str) -> list[Span]:
        """Return what it finds in reading order, none overlapping."""
        return next(self.find_many([text]))

    def find_many(self, texts: Iterable[str], check: Check | None = None) -> Iterator[list[Span]]:
        """Find in many texts, several at once; with `check`, one by one, calling it between stretches."""
        given = iter(watched(texts, check))
        while part := list(_some(given)):
            for text, words in zip(part, self._read(part, check), strict=True):
                yield self.spans(text, words)

    def likelihoods(self, texts: Iterable[str]) -> Iterator[Words]:
        """How likely every word is of each kind the tagger knows, for whoever sets a threshold."""
        given = iter(texts)
        while part := list(_some(given)):
            yield from self._read(part)

    def spans(self, text: str, words: Words) -> list[Span]:
        """The spans that these likelihoods make."""
        found = [span for label in self.labels for span in self._of(label, text, words)]
        if len(self.labels) == 1:
            return merge([*found, *self._vouched(text, words)]) if self.beside else found
        # A word that could be of two kinds is of the one that was named first.
        kept: list[Span] = []
        for span in sorted(found, key=lambda span: (span.start, span.start - span.end)):
            if not kept or span.start >= kept[-1].end:
                kept.append(span)
        return kept

    def _of(self, label: str, text: str, words: Words) -> Iterator[Span]:
        limit = self._model.thresholds[label] if self.threshold is None else self.threshold
        likely = words.kinds[:, self._model.kinds.index(label)] >= limit
        if label in _NAMES and ("@" in text or "://" in text):
            for run in _ADDRESS.finditer(text):
                likely &= (words.ends <= run.start()) | (words.starts >= run.end())
        start = end = -1
        for place in np.flatnonzero(likely):
            low, high = int(words.starts[place]), int(words.ends[place])
            if not any(mark.isalnum() for mark in text[low:high]):
                continue
            if end >= 0 and _BETWEEN.fullmatch(text, end, low) and text.count("\n", end, low) < 2:
                end = high
                continue
            if end >= 0:
                yield Span(start, end, label)
            start, end = low, high
        if end >= 0:
            yield Span(start, end, label)

    def _vouched(self, text: str, words: Words) -> Iterator[Span]:
        """What the detectors beside find, where one of its words may be of the kind."""
        likely = words.kinds[:, self._model.kinds.index(self.labels[0])] >= VOUCHED
        starts, ends = words.starts[likely], words.ends[likely]
        for span in (span for each in self.beside for span in each.find(text)):
            if ((starts < span.end) & (ends > span.start)).any():
                yield Span(span.start, span.end, self.labels[0])

    def _read(self, texts: list[str], check: Check | None = None) -> list[Words]:
        known = found_already()
        if known is None:
            return self._computed(texts, check)
        mine = known.setdefault("tagger", {})
        new = list(dict.fromkeys(text for text in texts if text not in mine))
        mine.update(zip(new, self._computed(new, check), strict=True))
        return [mine[text] for text in texts]

    def _computed(self, texts: list[str], check: Check | None) -> list[Words]:
        clean = [encodable(text) for text in texts]
        # Whoever checks does so in a thread of his own, and shares the processor out himself.
        if check is not None or self._threads == 1 or len(clean) < 2:
            return [self._model.read(text, check) for text in clean]
        with ThreadPoolExecutor(self._threads, "tag") as pool:
            return list(pool.map(self._model.read, clean))


def _some(texts: Iterator[str]) -> Iterator[str]:
    """The next few texts: not many, and not much."""
    size = 0
    for text in islice(texts, _BATCH):
        yield text
        size += len(text)
        if size > _CHARACTERS:
            return
