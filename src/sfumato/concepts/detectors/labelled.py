"""Spans that came with the data: labelled by people or found by another tool beforehand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from sfumato.concepts.base import Detector, Span
from sfumato.concepts.spans import SpanLike, merge, read_spans


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


def _digest(text: str) -> bytes:
    # Half of a surrogate pair is not UTF-8, yet it can stand in a string.
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
