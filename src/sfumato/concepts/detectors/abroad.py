"""Finds a concept of the catalog in German, French and Spanish, and places, dates and ages further east.

A text's language is guessed first. In a text of its own language every listed term counts; in any other, and
where nothing tells the language, only what is nobody else's word: Muenchen and migraña, never Tours or mayo.
"""

from __future__ import annotations

import re

from sfumato.concepts.base import Span
from sfumato.concepts.detectors.dictionary import Dictionary
from sfumato.concepts.detectors.shapes import Form
from sfumato.concepts.detectors.shapes_abroad import ANYWHERE, AT_HOME, CAPITAL
from sfumato.concepts.languages.guess import guess
from sfumato.concepts.languages.vocabulary import VOCABULARIES, plain
from sfumato.concepts.spans import merge
from sfumato.errors import ParameterError

KINDS = (
    "person", "location", "country", "city", "state", "organisation", "date", "weekday", "month", "age",
    "sex", "disease", "symptom", "drug",
)  # fmt: skip
_AT_HOME_ONLY = frozenset({"sex"})
"""Kinds whose words (Frau, padre) are too often something else in another language."""
_PARTICLE = r"(?:(?:von|zu|van|der|de|del|de la|de los|du|le|la|y) ){0,2}"
_AFTER = {
    "de": re.compile(rf"(?: {_PARTICLE}{CAPITAL})?"),
    "": re.compile(rf"(?: {_PARTICLE}{CAPITAL}){{0,2}}"),
}
"""What follows a first name; in German every noun has a capital, so that one word has to do."""

_SHAPED = {
    "date": ("zh", "ja"),
    "weekday": ("zh", "ja"),
    "month": ("zh", "ja"),
    "age": ("de", "fr", "zh", "ja"),
}
"""Languages without a list for a concept, and with a shape in `ANYWHERE`."""

_Compiled = list[tuple[re.Pattern[str], Form]]


class Abroad:
    """Finds one concept by lists and shapes of other languages than English."""

    exact = True
    blind_to = (
        "Languages without lists (sfumato concepts says which have some), inflected and compound words, "
        "names outside the lists, and everyday words where nothing tells the text's language."
    )

    def __init__(self, kind: str, *, label: str | None = None, name: str | None = None) -> None:
        if kind not in KINDS:
            raise ParameterError(f"`kind` must be one of: {', '.join(KINDS)}. Found {kind!r:.60}.")
        self.kind, self.label = kind, label or kind
        self.name = name or "lists and shapes of other languages"
        self._names = _first_names() if kind == "person" else frozenset()
        self._home = {each.code: made for each in VOCABULARIES if (made := self._own(each.code)) is not None}
        self._anywhere = self._any()
        self._shapes = _compiled(ANYWHERE.get(kind, ()))
        self._own_shapes = {code: _compiled(forms.get(kind, ())) for code, forms in AT_HOME.items()}

    def find(self, text: str) -> list[Span]:
        """Return the spans in reading order, none overlapping."""
        language = guess(text) or ""
        found = [
            span for each in (self._anywhere, self._home.get(language)) if each for span in each.find(text)
        ]
        if self.kind == "person":
            found = [Span(span.start, self._end(text, span, language), self.label) for span in found]
        for expression, form in (*self._shapes, *self._own_shapes.get(language, ())):
            part = "x" if "x" in expression.groupindex else 0
            for match in expression.finditer(text):
                if form.check is None or form.check(match[part]):
                    found.append(Span(match.start(part), match.end(part), self.label))
        return merge(found)

    def _own(self, code: str) -> Dictionary | None:
        """The list for text of that language; words that are ordinary there, too, need their capital."""
        vocabulary = next(each for each in VOCABULARIES if each.code == code)
        terms, everyday = vocabulary.terms(self.kind), vocabulary.everyday
        cased = [term for term in terms if term[:1].isupper() and plain(term).casefold() in everyday]
        return Dictionary(terms, label=self.label, name=self.name, cased=cased) if terms else None

    def _any(self) -> Dictionary | None:
        if self.kind in _AT_HOME_ONLY:
            return None
        terms = [term for each in VOCABULARIES for term in each.abroad(self.kind)]
        cased = [term for term in terms if term[:1].isupper()]
        return Dictionary(terms, label=self.label, name=self.name, cased=cased) if terms else None

    def _end(self, text: str, span: Span, language: str) -> int:
        """Where a name ends that begins with a first name: with the capitalised words after it."""
        written = text[span.start : span.end]
        if not written[:1].isupper() or plain(written).casefold() not in self._names:
            return span.end
        rest = _AFTER.get(language, _AFTER[""]).match(text, span.end)
        return rest.end() if rest else span.end


def languages_of(kind: str) -> tuple[str, ...]:
    """The languages that have lists or shapes for a concept."""
    shaped = {code for code, forms in AT_HOME.items() if kind in forms}
    shaped |= set(_SHAPED.get(kind, ()))
    return tuple(each.code for each in VOCABULARIES if each.code in shaped or each.terms(kind))


def _first_names() -> frozenset[str]:
    lists = (getattr(each.module, "FIRST_NAMES", ()) for each in VOCABULARIES)
    return frozenset(plain(name).casefold() for names in lists for name in names)


def _compiled(forms: tuple[Form, ...]) -> _Compiled:
    return [(re.compile(form.expression), form) for form in forms]
