"""The lists of every language beside English under one form: terms by concept, and those that need care."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

_LISTS = {
    "country": ("COUNTRIES",),
    "city": ("CITIES",),
    "state": ("STATES",),
    "location": ("COUNTRIES", "CITIES", "STATES", "REGIONS"),
    "person": ("FIRST_NAMES", "SURNAMES"),
    "organisation": ("ORGANISATIONS",),
    "date": ("WEEKDAYS",),
    "weekday": ("WEEKDAYS",),
    "month": ("MONTHS",),
    "sex": ("FEMALE", "MALE"),
    "disease": ("DISEASES",),
    "symptom": ("SYMPTOMS",),
    "drug": ("DRUGS",),
}
"""Which lists of a language's module a concept of the catalog is found by."""
_GERMAN = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue", "ß": "ss"})
_SHORTEST = 4
"""Letters from which a term may count in text of another language."""


@dataclass(frozen=True, slots=True)
class ListedLanguage:
    """What is listed for one language."""

    code: str
    module: ModuleType

    @property
    def everyday(self) -> frozenset[str]:
        """Terms that are words or names elsewhere, too, in lower case and without accents."""
        return frozenset(plain(term).casefold() for term in getattr(self.module, "EVERYDAY", ()))

    def terms(self, kind: str) -> tuple[str, ...]:
        """What is listed for a concept, also as it is written without accents."""
        listed = (term for name in _LISTS.get(kind, ()) for term in getattr(self.module, name, ()))
        return spelled(listed, german=self.code == "de")

    def abroad(self, kind: str) -> tuple[str, ...]:
        """Those terms that count in text of any language: nobody else's words, and long enough."""
        everyday = self.everyday
        return tuple(
            term
            for term in self.terms(kind)
            if plain(term).casefold() not in everyday and (len(term) >= _SHORTEST or not term.isascii())
        )


VOCABULARIES = tuple(
    ListedLanguage(code, import_module(f"sfumato.concepts.lists.{name}"))
    for code, name in (
        ("de", "german"),
        ("fr", "french"),
        ("es", "spanish"),
        ("zh", "chinese"),
        ("ja", "japanese"),
    )
)


def plain(term: str) -> str:
    """A term without its accents: Malaga for Málaga."""
    parts = unicodedata.normalize("NFKD", term.replace("ß", "ss").replace("œ", "oe"))
    return "".join(mark for mark in parts if not unicodedata.combining(mark))


def spelled(terms: Iterable[str], *, german: bool = False) -> tuple[str, ...]:
    """Terms as they are listed and without accents; German ones also with ae, oe, ue and ss."""
    found: dict[str, None] = {}
    for term in terms:
        latin = any(mark < "\u0250" for mark in term)
        others = (plain(term), term.translate(_GERMAN) if german else term) if latin else ()
        found.update(dict.fromkeys((term, *others)))
    return tuple(found)
