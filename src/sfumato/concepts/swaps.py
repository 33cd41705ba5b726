"""Puts another value of the same concept in a term's place: another city for a city, written as it was."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from sfumato.concepts.dictionary import folded

Swap = Callable[[str, np.random.Generator], str]
"""Takes what was found and returns another value as it would be listed, or the same one by chance."""


def pick(values: Sequence[str], rng: np.random.Generator) -> str:
    """Draw one of several values."""
    return values[int(rng.integers(len(values)))]


def written_like(found: str, value: str, text: str) -> str:
    """Give a value the case of what it stands in for: lower, upper, or a capital at the start."""
    if found.islower():
        # An abbreviation stays one, unless the whole text is in lower case.
        return value if value.isupper() and not text.islower() else value.lower()
    if found.isupper() and (len(found) > 4 or text.isupper()):
        return value.upper()
    if found[:1].isupper():
        return value[:1].upper() + value[1:]
    return value


class TermSwap:
    """Another term of the same group: a city for a city, a country for a country."""

    def __init__(self, *groups: Sequence[str]) -> None:
        # A group of one offers nothing else.
        homes = [tuple(group) for group in groups if len(group) > 1]
        self._home = {folded(term): group for group in reversed(homes) for term in group}
        self._all = tuple(term for group in groups for term in group)

    def __len__(self) -> int:
        """How many different terms there are."""
        return len({folded(term) for term in self._all})

    def __call__(self, found: str, rng: np.random.Generator) -> str:
        """Draw a term from the group of the one that was found, or from all when it is not listed."""
        return pick(self._home.get(folded(found), self._all), rng)
