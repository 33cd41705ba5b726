"""Finds drugs, diseases and symptoms with the dictionaries of two optional packages.

Both packages take a list of words and return word positions. In the first the end is exclusive; in the second
it is inclusive for one word and wrong for more than two. So the length is taken from the words that matched.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Literal

from sfumato.concepts.base import Span
from sfumato.concepts.detectors.dictionary import listed
from sfumato.concepts.spans import merge
from sfumato.errors import MissingPackageError, ParameterError

Kind = Literal["drug", "disease", "symptom"]
Finder = Callable[[list[str]], list[tuple[Mapping[str, Any], int, int]]]

DRUG_PACKAGE = "drug_named_entity_recognition"
DISEASE_PACKAGE = "medical_named_entity_recognition"
_PACKAGES: dict[str, tuple[str, str]] = {
    "drug": (DRUG_PACKAGE, "find_drugs"),
    "disease": (DISEASE_PACKAGE, "find_diseases"),
    "symptom": (DISEASE_PACKAGE, "find_diseases"),
}
# Marks are words too, so that nothing matches across a full stop or a comma.
_WORD = re.compile(r"\w+(?:[-'’]\w+)*|[^\w\s]")
_LETTERS = re.compile(r"[^\W\d_]{3}")
_SYMPTOMS = "C23.888"  # Signs and Symptoms, in the tree of Medical Subject Headings
# Rare terms that are ordinary words far more often.
_ORDINARY = frozenset(
    listed("armour; boils; caps; combined; generics; isdn; recurrence; sone; sting; strain; vitae; zona")
)
_MEDICINE_KEYS = ("drugbank_id", "medline_plus_id", "nhs_url", "wikipedia_url")


class Lexicon:
    """Finds the drugs, diseases or symptoms in the dictionary of an optional package."""

    exact = True

    def __init__(self, kind: Kind, *, label: str | None = None) -> None:
        if kind not in _PACKAGES:
            raise ParameterError(f"A lexicon must be one of: {', '.join(_PACKAGES)}. Found {kind!r:.60}.")
        self.kind = kind
        self.label = label or kind
        package, _ = _PACKAGES[kind]
        self.name = f"{package.replace('_', '-')} ({kind})"
        self.blind_to = (
            "Terms outside the package's dictionary: misspellings, lay words and most abbreviations; it "
            "knows no context, so ordinary words that are also terms count."
        )
        if not installed(kind):
            raise MissingPackageError(package.replace("_", "-"), "ner", "for its dictionary")

    def find(self, text: str) -> list[Span]:
        """Return the terms in reading order, none overlapping."""
        words = list(_WORD.finditer(text))
        found = []
        for term, first, _ in _load(*_PACKAGES[self.kind])([word.group() for word in words]):
            length = term["matching_string"].count(" ") + 1
            if self._wanted(term) and first + length <= len(words):
                found.append(Span(words[first].start(), words[first + length - 1].end(), self.label))
        return merge(found)

    def _wanted(self, term: Mapping[str, Any]) -> bool:
        written = term["matching_string"]
        if not _LETTERS.search(written) or written.lower() in _ORDINARY:
            return False
        branches: list[str] = term.get("mesh_tree", [])
        if self.kind == "drug":
            # The dictionary also holds enzymes, antigens and reagents; those are in the tree alone.
            medicine = any(key in term for key in _MEDICINE_KEYS)
            return medicine or not branches or any(branch.startswith("D27") for branch in branches)
        if any(branch.startswith(_SYMPTOMS) for branch in branches):
            return self.kind == "symptom"
        # C: diseases, F03: mental disorders. The dictionary also holds behaviour, tests and kinship.
        return self.kind == "disease" and any(branch.startswith(("C", "F03")) for branch in branches)


def installed(kind: Kind) -> bool:
    """Whether the package behind a kind can be imported."""
    return importlib.util.find_spec(_PACKAGES[kind][0]) is not None


@cache
def _load(package: str, function: str) -> Finder:
    # On first use: each package takes seconds to read its dictionary.
    finder: Finder = getattr(importlib.import_module(package), function)
    return finder
