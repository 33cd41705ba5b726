"""Group maps of one's own (STAMP, section 3.1): a function that says which group each word is in.

The theorem holds between texts with the same groups, whoever made them: it asks that the map is public, and
promises nothing about which words are in which group, because that can show in what is released.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import index
from pathlib import Path
from typing import Any, Protocol

from sfumato.errors import InputError, ParameterError
from sfumato.files import PathLike
from sfumato.inputs.lines import lines
from sfumato.text.budgets import Group
from sfumato.text.words import find_words

_STRICTEST = (Group.SENSITIVE, Group.SENSITIVE_IMPORTANT, Group.OTHER, Group.IMPORTANT)
"""Groups from the smallest budget of the paper's to the largest."""
_MOST_TERMS = 1_000_000


@dataclass(frozen=True, slots=True)
class WordPlace:
    """One word of a text, as a group map is told of it."""

    start: int
    end: int
    """Where it stands in the text."""
    span: int
    """Number of the sensitive span it lies in, -1 outside of all."""
    score: float
    """Cosine to the task, of a span the largest of its words; -1 where there is no task."""
    group: Group
    """The group that concepts and cosine would give."""

    @property
    def sensitive(self) -> bool:
        """Whether concepts, detectors or given spans found it."""
        return self.span >= 0


class GroupFunction(Protocol):
    """A group map: text, task and words in, one group a word out."""

    def __call__(self, text: str, task: str, words: Sequence[WordPlace], /) -> Sequence[Group | int]:
        """Return the group of every word, 1 to 4."""


def ask(function: GroupFunction, text: str, task: str, words: Sequence[WordPlace], row: int) -> list[Group]:
    """The groups that a function gives, checked and made safe.

    What was found sensitive stays so: a function may add to it, and takes nothing from it. The words of a
    span are in one group, the strictest that any of them was given (section 4, span-level constraints).
    """
    given = list(function(text, task, words))
    if len(given) != len(words):
        raise ParameterError(
            f"The group map must give a group a word. Row {row} has {len(words)} words. Found {len(given)}."
        )
    groups = [_checked(value, row) for value in given]
    groups = [
        _kept_sensitive(group) if word.sensitive else group for group, word in zip(groups, words, strict=True)
    ]
    strictest: dict[int, Group] = {}
    for group, word in zip(groups, words, strict=True):
        if word.sensitive:
            strictest[word.span] = min(strictest.get(word.span, group), group, key=_STRICTEST.index)
    return [
        strictest[word.span] if word.sensitive else group for group, word in zip(groups, words, strict=True)
    ]


def _checked(value: Any, row: int) -> Group:
    with contextlib.suppress(TypeError, ValueError):
        if not isinstance(value, bool):
            return Group(index(value))
    raise ParameterError(f"A group map must give groups from 1 to 4. Found something else in row {row}.")


def _kept_sensitive(group: Group) -> Group:
    return group if group.sensitive else Group.SENSITIVE_IMPORTANT if group.important else Group.SENSITIVE


def name_of(function: GroupFunction) -> str:
    """What a map is called in records: its own name, or that of its class."""
    found = getattr(function, "name", None) or getattr(function, "__name__", None) or type(function).__name__
    return str(found)[:80]


class TermGroups:
    """Words and phrases with a group each; every other word keeps the group it has by concepts and cosine.

    Args:
        terms: a word or a phrase, compared without case, and its group from 1 to 4; the longest phrase wins.
        name: for the record.
    """

    def __init__(self, terms: Mapping[str, Group | int], *, name: str = "terms") -> None:
        self.name = name
        self._terms: dict[tuple[str, ...], Group] = {}
        for place, (term, group) in enumerate(terms.items()):
            words = _words(term)
            if not words:
                raise InputError(f"Term {place} of a group map must hold a word. Found none.")
            found = _checked(group, place)
            if self._terms.setdefault(words, found) != found:
                raise InputError(f"A term of a group map must have one group. Term {place} had another.")
        if not self._terms:
            raise InputError("A group map by terms must hold at least one. Found none.")
        self._lengths = sorted({len(words) for words in self._terms}, reverse=True)

    @classmethod
    def from_file(cls, path: PathLike) -> TermGroups:
        """Read a file: a term, a tab and a group a line; empty lines and lines with # do not count."""
        file = Path(path)
        if not file.is_file():
            raise InputError(f"`{file}` has to be a file of terms and groups. There is no such file.")
        terms: dict[str, int] = {}
        for number, line in lines(file, file.suffix.lower() == ".gz"):
            if not line.strip() or line.startswith("#"):
                continue
            term, tab, group = line.rpartition("\t")
            if not tab or group.strip() not in ("1", "2", "3", "4"):
                raise InputError(
                    f"Line {number} of `{file}` has to be a term, a tab and a group from 1 to 4."
                )
            if terms.setdefault(term.strip(), int(group)) != int(group):
                raise InputError(f"Line {number} of `{file}` has a term that had another group before.")
            if len(terms) > _MOST_TERMS:
                raise InputError(f"`{file}` may hold {_MOST_TERMS:,} terms. Found more.")
        return cls(terms, name=f"terms of {file.name}")

    def __call__(self, text: str, task: str, words: Sequence[WordPlace], /) -> list[Group]:
        """The group of every word."""
        groups = [word.group for word in words]
        written = [text[word.start : word.end].lower() for word in words]
        at = 0
        while at < len(written):
            step = 1
            for length in self._lengths:
                group = self._terms.get(tuple(written[at : at + length]))
                # The last words of a text are fewer than the longest phrase.
                if group is not None and at + length <= len(written):
                    groups[at : at + length] = [group] * length
                    step = length
                    break
            at += step
        return groups


def _words(term: str) -> tuple[str, ...]:
    return tuple(term[start:end].lower() for start, end in find_words(term))
