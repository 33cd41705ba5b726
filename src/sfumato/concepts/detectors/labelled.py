"""Spans that came with the data: labelled by people or found by another tool beforehand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from itertools import islice

from sfumato.concepts.base import Check, Detector, Span
from sfumato.concepts.spans import SpanLike, find_all, merge, read_spans, watched

_TOGETHER = 256
"""Texts that are looked at together."""


class Labelled:
    """Gives back the spans a text came with, and asks another detector about texts it was not given.

    Args:
        rows: texts with their spans; of each text only a digest is kept.
        labels: which labels count; all when left out. Case does not matter.
        otherwise: finds spans in other texts; without it nothing is found there.
    """

    def __init__(
        self,
        rows: Iterable[tuple[str, Iterable[SpanLike]]],
        *,
        labels: Iterable[str] = (),
        name: str = "labelled spans",
        otherwise: Detector | None = None,
    ) -> None:
        wanted = {label.casefold() for label in labels}
        self.name = name
        self.otherwise = otherwise
        self._spans: dict[bytes, list[Span]] = {}
        for row, (text, spans) in enumerate(rows):
            found = read_spans(spans, len(text), row=row)
            kept = (span for span in found if not wanted or span.label.casefold() in wanted)
            self._spans[_digest(text)] = merge(kept)
        unseen = "in other texts it finds nothing" if otherwise is None else otherwise.blind_to
        self.blind_to = f"Whatever was not labelled in its {len(self._spans)} texts; {unseen}"

    def find(self, text: str) -> list[Span]:
        """Return the spans this text came with."""
        known = self._spans.get(_digest(text))
        if known is not None:
            return list(known)
        return [] if self.otherwise is None else self.otherwise.find(text)

    def find_many(self, texts: Iterable[str], check: Check | None = None) -> Iterator[list[Span]]:
        """The same of many texts; the other detector is asked about those it was not given together."""
        given = iter(watched(texts, check))
        while part := list(islice(given, _TOGETHER)):
            known = [self._spans.get(_digest(text)) for text in part]
            new = [text for text, spans in zip(part, known, strict=True) if spans is None]
            others = iter([[] for _ in new] if self.otherwise is None else self._asked(new, check))
            yield from (next(others) if spans is None else list(spans) for spans in known)

    def _asked(self, texts: list[str], check: Check | None) -> Iterator[list[Span]]:
        assert self.otherwise is not None
        return find_all(self.otherwise, texts, check)


def _digest(text: str) -> bytes:
    # Half of a surrogate pair is not UTF-8, yet it can stand in a string.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
