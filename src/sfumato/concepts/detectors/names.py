"""Finds people without a model: listed names, titles, and the capitalised words that follow them."""

from __future__ import annotations

import re

from sfumato.concepts.base import Span
from sfumato.concepts.detectors.dictionary import Dictionary
from sfumato.concepts.detectors.patterns import Patterns
from sfumato.concepts.lists import people
from sfumato.concepts.spans import merge

_PARTICLE = r"(?:(?:van|von|der|den|de|del|della|di|da|la|le|bin|ibn|al) ){0,2}"
_REST = re.compile(
    rf"(?: [A-Z]\.)?(?: {_PARTICLE}[A-Z](?:'[A-Z])?[^\W\d_A-Z][^\W\d_]*(?:[-'’][A-Z]\w+)?){{0,2}}"
)
_CAPITALS = re.compile(r"(?: [A-Z]\.)?(?: [A-Z][A-Z'’-]+)?(?![\w])")


class Names:
    """Finds listed first names and surnames, titles, and the capitalised words that follow."""

    exact = True
    blind_to = (
        "People whose names are neither listed nor announced by a title or a listed first name; in "
        "lower-cased text also every name that is a word of its own (Mark, Rose, Young)."
    )

    def __init__(self, *, label: str = "person", name: str = "name lists") -> None:
        self.label = label
        self.name = name
        self._given = Dictionary(people.FIRST_NAMES, label=label, cased=people.CASED)
        self._family = Dictionary(people.SURNAMES, label=label, cased=people.CASED)
        self._titled = Patterns("title", label=label)
        # A name inside one of these belongs to it: half an address would be left otherwise.
        self._addresses = Patterns("email", "url", "handle")

    def find(self, text: str) -> list[Span]:
        """Return the names in reading order, none overlapping."""
        found = [*self._family.find(text), *self._titled.find(text)]
        for span in self._given.find(text):
            found.append(Span(span.start, self._end(text, span), self.label))
        taken = {place for span in self._addresses.find(text) for place in range(span.start, span.end)}
        return self._joined(text, merge(span for span in found if span.start not in taken))

    def _end(self, text: str, span: Span) -> int:
        written = text[span.start : span.end]
        if not written[0].isupper():
            return span.end
        rest = (_CAPITALS if len(written) > 1 and written.isupper() else _REST).match(text, span.end)
        return rest.end() if rest else span.end

    def _joined(self, text: str, spans: list[Span]) -> list[Span]:
        # "john smith" is one person, also where no capital tells so.
        joined: list[Span] = []
        for span in spans:
            if joined and text[joined[-1].end : span.start] in (" ", ". "):
                span = Span(joined.pop().start, span.end, self.label)
            joined.append(span)
        return joined
