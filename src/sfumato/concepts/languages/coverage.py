"""Texts in a language for which a concept has no detector: counted by row, and said once, never shown."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sfumato.concepts.concept import Concept
from sfumato.concepts.languages.guess import guess
from sfumato.concepts.languages.profiles import NAMES

_SHOWN = 8
"""Row numbers that a message names."""


class LanguageWarning(UserWarning):
    """Some texts are in a language in which nothing finds what is to be hidden."""


@dataclass(slots=True)
class Unread:
    """Which rows are in a language that no detector of some concept reads; it holds no text."""

    concepts: tuple[str, ...] = ()
    """The concepts, by name, that are not found in one of these languages."""
    languages: Counter[str] = field(default_factory=Counter)
    """Codes of the languages, and how many rows each."""
    rows: list[int] = field(default_factory=list)
    """The first of the rows."""
    texts: int = 0
    """How many texts were looked at."""

    def __bool__(self) -> bool:
        """Whether there is such a row."""
        return bool(self.languages)

    @property
    def count(self) -> int:
        """How many rows there are."""
        return self.languages.total()

    def add(self, other: Unread) -> None:
        """Count another part of the same rows."""
        self.concepts = tuple(dict.fromkeys((*self.concepts, *other.concepts)))
        self.languages.update(other.languages)
        self.rows = (self.rows + other.rows)[:_SHOWN]
        self.texts += other.texts

    def __str__(self) -> str:
        """One line: how many, in which languages, which rows, and what is not found there."""
        named = ", ".join(f"{NAMES[code]} ({count:,})" for code, count in self.languages.most_common())
        rows = ", ".join(str(row) for row in self.rows) + (", ..." if self.count > len(self.rows) else "")
        concepts = ", ".join(f"`{name}`" for name in self.concepts)
        return (
            f"{self.count:,} of {self.texts:,} texts seem to be in a language in which nothing here finds "
            f"{concepts}: {named}; rows {rows}. What stands there is not hidden. List its terms "
            "(--terms FILE), label spans, or leave these texts out."
        )


def unread(texts: Sequence[str], concepts: Iterable[Concept], *, first_row: int = 0) -> Unread:
    """Count the texts in a language for which one of the concepts has no detector."""
    known = [(concept.name, frozenset(concept.languages)) for concept in concepts if concept.languages]
    found = Unread(texts=len(texts))
    if not known:
        return found
    names: dict[str, None] = {}
    for row, text in enumerate(texts, first_row):
        code = guess(text)
        missing = [name for name, languages in known if code is not None and code not in languages]
        if code is not None and missing:
            names.update(dict.fromkeys(missing))
            found.languages[code] += 1
            if len(found.rows) < _SHOWN:
                found.rows.append(row)
    found.concepts = tuple(names)
    return found


def warn_unread(found: Unread) -> None:
    """Say once what a run could not read; nothing where all is well."""
    if found:
        warnings.warn(str(found), LanguageWarning, stacklevel=3)
