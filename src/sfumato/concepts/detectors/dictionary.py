"""Finds listed terms as whole words: one pass over the text, however many terms there are."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sfumato.composing import composed
from sfumato.concepts.base import Span
from sfumato.errors import ParameterError

# Scripts written without spaces, and Korean with its joined particles: there every character is a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = rf"[{_UNSPACED}]|(?:(?![{_UNSPACED}])[^\W_]|[\u0300-\u036f])+"
_TOKEN = re.compile(rf"{_WORD}|[^\w\s]|_")

Token = tuple[str, bool]
"""A word or a mark, and whether white space stands before it."""


def listed(names: str) -> tuple[str, ...]:
    """Read a list written as one string: names between semicolons."""
    return tuple(name for name in (" ".join(part.split()) for part in names.split(";")) if name)


def folded(text: str) -> str:
    """Return the text as it is compared: composed, without case."""
    # Casefolding can take a composed character apart again, so composing comes last.
    return composed(composed(text).casefold())


class Dictionary:
    """Finds the terms of a list as whole words, the longest first.

    Args:
        terms: what to find; white space inside a term matches any white space.
        ignore_case: whether "PARIS" and "paris" are "Paris".
        cased: terms that are also everyday words: they count only as listed, or in capitals throughout.
    """

    exact = True

    def __init__(
        self,
        terms: Iterable[str],
        *,
        label: str = "term",
        name: str = "dictionary",
        ignore_case: bool = True,
        cased: Iterable[str] = (),
    ) -> None:
        self.name = name
        self.label = label
        self.ignore_case = ignore_case
        self._terms: set[tuple[Token, ...]] = set()
        self._strict: dict[tuple[Token, ...], set[str]] = {}
        self._lengths: dict[str, list[int]] = {}
        strict = set(cased)
        for term in terms:
            self._add(term, term in strict)
        if not self._terms:
            raise ParameterError("A dictionary must hold at least one term. Found none.")
        for lengths in self._lengths.values():
            lengths.sort(reverse=True)
        self.blind_to = (
            f"Anything but the {len(self._terms)} listed terms as they are spelled: "
            "no misspellings, no inflected forms, no other names for the same thing."
        )

    def __len__(self) -> int:
        """How many different terms are listed."""
        return len(self._terms)

    def find(self, text: str) -> list[Span]:
        """Return the listed terms in reading order, none overlapping."""
        tokens, bounds = self._read(text)
        found = []
        position = 0
        while position < len(tokens):
            length = self._match(text, tokens, bounds, position)
            if length:
                found.append(Span(bounds[position][0], bounds[position + length - 1][1], self.label))
            position += length or 1
        return found

    def _add(self, term: object, strict: bool) -> None:
        if not isinstance(term, str):
            raise ParameterError(f"Every term must be a string. Found {type(term).__name__}.")
        tokens, _ = self._read(term.strip())
        if not tokens:
            return
        key = _key(tokens)
        if strict and (key in self._strict or key not in self._terms):
            spelling = composed(term.strip())
            self._strict.setdefault(key, set()).update((spelling, spelling.upper()))
        elif not strict:
            # Listed without conditions once is enough.
            self._strict.pop(key, None)
        self._terms.add(key)
        lengths = self._lengths.setdefault(tokens[0][0], [])
        if len(tokens) not in lengths:
            lengths.append(len(tokens))

    def _read(self, text: str) -> tuple[list[Token], list[tuple[int, int]]]:
        tokens: list[Token] = []
        bounds = []
        end = 0
        for match in _TOKEN.finditer(text):
            start = match.start()
            word = match.group()
            word = folded(word) if self.ignore_case else composed(word)
            tokens.append((word, start > end))
            end = match.end()
            bounds.append((start, end))
        return tokens, bounds

    def _match(
        self, text: str, tokens: Sequence[Token], bounds: Sequence[tuple[int, int]], position: int
    ) -> int:
        for length in self._lengths.get(tokens[position][0], ()):
            key = _key(tokens[position : position + length])
            if len(key) == length and key in self._terms:
                spellings = self._strict.get(key)
                if spellings is None:
                    return length
                written = text[bounds[position][0] : bounds[position + length - 1][1]]
                if composed(written) in spellings:
                    return length
        return 0


def _key(tokens: Sequence[Token]) -> tuple[Token, ...]:
    # What stands before the first word is no part of the term.
    return ((tokens[0][0], False), *tokens[1:]) if tokens else ()
