"""What somebody may have meant by a name that is not there: nothing, rather than a poor guess."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import SequenceMatcher

_ALIKE, _SHORTEST_PREFIX = 0.72, 3


def meant_by(given: object, known: Iterable[str], others: Mapping[str, str] | None = None) -> str | None:
    """The known name that was meant, or None.

    Args:
        given: what was written.
        known: the names there are.
        others: other words for some of them, in lower case.
    """
    if not isinstance(given, str) or not given.strip():
        return None
    names = {_plain(name): name for name in known}
    word = _plain(given)
    other = (others or {}).get(given.strip().lower())
    if other is not None and _plain(other) in names:
        return names[_plain(other)]
    for candidate in (word, word.removesuffix("s"), f"{word}s"):
        if candidate in names:
            return names[candidate]
    begun = [name for each, name in names.items() if each.startswith(word)]
    if len(word) >= _SHORTEST_PREFIX and begun:
        return begun[0] if len(begun) == 1 else None  # of several, nobody knows which
    close = max(names, key=lambda each: SequenceMatcher(None, word, each).ratio(), default="")
    return names[close] if close and SequenceMatcher(None, word, close).ratio() >= _ALIKE else None


def did_you_mean(given: object, known: Iterable[str], others: Mapping[str, str] | None = None) -> str:
    """The same as a sentence behind an error, or nothing."""
    found = meant_by(given, known, others)
    return "" if found is None else f" Did you mean `{found}`?"


def _plain(name: str) -> str:
    return name.strip().lower().replace("_", "-")
