"""Finds people in their e-mail addresses, handles and profile pages: maria.jensen@corp.dk, @sarah.connor."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from sfumato.concepts.base import Span
from sfumato.concepts.detectors.dictionary import folded
from sfumato.concepts.detectors.patterns import Patterns
from sfumato.concepts.lists import people
from sfumato.concepts.spans import merge, relabel

_LETTERS = re.compile(r"[^\W\d_]+")
# SarahConnor and JDoe are two words each; so are sarah.connor and sarah_connor.
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")
_PAIR = re.compile(r"[^\W\d_]{2,}[._][^\W\d_]{2,}\d{0,4}")
# What follows the @module.function of a program.
_CODE = re.compile(r"\(|[ \t]*\n\s{0,80}(?:async |class |def )")
_SIGNS = re.compile(r"(?i)[@/]|www\.|user ?(?:name|id)")
_LEAST, _GLUED = 3, 4


def _plain(name: str) -> str:
    """A name as addresses write it: letters alone, in lower case, without accents."""
    apart = unicodedata.normalize("NFD", folded(name))
    return "".join(mark for mark in apart if mark.isalpha())


_EVERYDAY = frozenset(_plain(name) for name in people.CASED) | people.ALSO_WORDS
_GIVEN = frozenset(_plain(name) for name in people.FIRST_NAMES)
_LISTED = frozenset(_plain(name) for name in people.NAMES)
_SURE = _LISTED - _EVERYDAY


class Addresses:
    """Finds addresses, handles and profile pages that hold a name, and that name elsewhere in the text.

    The whole address is found: half of one would still say who it belongs to.
    """

    exact = True
    blind_to = (
        "Handles and pages whose names are neither listed nor found in the text, addresses spelled out (name "
        "at example dot com), and addresses of an office though one person reads them."
    )

    def __init__(self, *, label: str = "person", name: str = "names in addresses") -> None:
        self.label = label
        self.name = name
        self._kinds = [(kind, Patterns(kind)) for kind in ("email", "handle", "url")]

    def find(self, text: str) -> list[Span]:
        """Return the addresses and what names them in reading order, none overlapping."""
        return self.find_beside(text, ())

    def find_beside(self, text: str, people_found: Sequence[Span]) -> list[Span]:
        """Return them knowing which people others found in the text."""
        if not _SIGNS.search(text):
            return []
        known = {_plain(word) for span in people_found for word in _words(text[span.start : span.end])}
        known = {word for word in known if len(word) >= _LEAST} - people.ROLES
        edges = {place for span in people_found for place in (span.start, span.end - 1)}
        personal, others = [], []
        names: set[str] = set()
        likely: set[str] = set()
        for kind, pattern in self._kinds:
            for span in pattern.find(text):
                own = _own(kind, text[span.start : span.end])
                touched = kind != "url" and any(place in edges for place in range(span.start, span.end))
                if touched or _personal(kind, own, known, text, span):
                    personal.append(span)
                    names |= _names(own, known)
                    likely |= set(_words(own)) - people.ROLES if _PAIR.fullmatch(own) else set()
                else:
                    others.append((span, own))
        personal += [span for span, own in others if names & set(_words(own))]
        return merge([*relabel(personal, self.label), *self._again(text, names - _EVERYDAY, names | likely)])

    def _again(self, text: str, names: set[str], capital: set[str]) -> Iterable[Span]:
        """The names of the addresses wherever else they are written, or with a capital alone."""
        if not capital:
            return
        for word in _LETTERS.finditer(text):
            if _plain(word.group()) in (capital if word.group()[0].isupper() else names):
                yield Span(word.start(), word.end(), self.label)


def _own(kind: str, written: str) -> str:
    """The part of an address that its owner chose."""
    if kind == "email":
        return written.rpartition("@")[0]
    if kind == "url":
        return written.partition("://")[2].partition("/")[2] or written.partition("/")[2]
    return written.lstrip("@")


def _words(own: str) -> list[str]:
    return [_plain(part) for part in _PART.findall(own)]


def _personal(kind: str, own: str, known: set[str], text: str, span: Span) -> bool:
    words = _words(own)
    if kind == "url":
        return any(word in _SURE & _GIVEN or (len(word) >= _GLUED and word in known) for word in words)
    if any(_is_name(word, known) for word in [*words, _plain(own)]):
        return True
    if kind == "handle":
        return (
            bool(_PAIR.fullmatch(own)) and not _CODE.match(text, span.end) and not people.ROLES & set(words)
        )
    domain = _plain(text[span.start : span.end].rpartition("@")[2].partition(".")[0])
    telling = [word for word in words if len(word) >= _LEAST and word not in people.ROLES and word != domain]
    return bool(telling) and _plain(own) not in people.ROLES


def _is_name(word: str, known: set[str]) -> bool:
    """Whether a word is a name, or begins or ends with one: johndoe, jsmith."""
    if word in people.ROLES:
        return False
    if word in _LISTED or word in known:
        return len(word) >= _LEAST
    for size in range(_GLUED, len(word)):
        for part in (word[:size], word[-size:]):
            if part in _SURE or part in known:
                return True
    return False


def _names(own: str, known: set[str]) -> set[str]:
    """The words of a personal address that are surely names: of two words one has to be known as such."""
    words = [word for word in _words(own) if len(word) >= _LEAST and word not in people.ROLES]
    sure = {word for word in words if word in _LISTED or word in known}
    return set(words) if sure and len(words) == len(_words(own)) <= 3 else sure
