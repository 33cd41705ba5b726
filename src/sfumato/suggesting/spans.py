"""Which stretches of a text may be a term: a few words in a row that each say something."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from sfumato.concepts.languages.profiles import WORDS

LONGEST = 3
"""Words in a term."""
Key = tuple[str, ...]
"""The words of a term as they are compared."""
_WORD = re.compile(r"[^\W_]+(?:[-'’&.][^\W_]+)*")
_ARTICLE = re.compile(r"(?i)^(?:the|an?|our|my|this|that) (?=.)")
_EMPTY = frozenset().union(*WORDS.values()) | frozenset(
    """
a i am being does doing done during either else every few further got having here itself let lets many
maybe near neither nor off onto once ours per quite rather re several shall side soon themselves
therefore though thus together too toward towards upon via wants whether whose within yet yours need
needs please thanks going gets getting goes went took takes taking put puts thing things something
anything nothing everything someone
""".split()
)


def candidates(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every stretch of one to three words that each say something."""
    words = [(found.start(), found.end(), found.group().casefold()) for found in _WORD.finditer(text)]
    for first, (start, end, word) in enumerate(words):
        if not _says(word):
            continue
        last = end
        for place in range(first, min(first + LONGEST, len(words))):
            if place > first and text[last : words[place][0]].strip(" \t"):
                break
            if not _says(words[place][2]):
                break
            last = words[place][1]
            yield start, last


def folded_words(term: str) -> Key:
    """The words of a term as they are compared: without case, plural s, and empty words before it."""
    words = [found.group().casefold() for found in _WORD.finditer(term)]
    while len(words) > 1 and words[0] in _EMPTY:
        words.pop(0)
    return tuple(map(_stem, words))


def as_terms(examples: Iterable[str]) -> list[str]:
    """Examples as terms of a list: as they are given, and without an article before them."""
    given = [" ".join(each.split()) for each in examples]
    found = dict.fromkeys(form for each in given for form in (each, _ARTICLE.sub("", each)))
    return [term for term in found if term and not term.startswith("#")]


def _stem(word: str) -> str:
    word = re.sub(r"['’]s$", "", word)
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


def _says(word: str) -> bool:
    return len(word) > 2 and word not in _EMPTY and any(mark.isalpha() for mark in word)
