"""Words of a text, and the text around them: cutting it apart and putting it together again.

A word is a run of letters and digits with their combining marks. Everything else (spaces, punctuation,
symbols, emoji, and the ends of contractions, 's and n't) is layout, and goes back where it stood.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from sfumato.composing import normal
from sfumato.concepts.base import Span

Case = Literal["lower", "title", "upper"]

FUNCTION_WORDS = frozenset(
    "a an the of in on at by to from for with and or but as is are was were be been it its this that these "
    "those he she they his her their you your we our i my me him them which who whom whose what when where "
    "how why did do does has have had can could will would should may might not no into than then also after "
    "before during over under between about there such other if so up out".split()
)
"""English words of no content of their own."""

_MARKED = ((0x0300, 0x1E950), (0xFE00, 0xFE10), (0xFE20, 0xFE30), (0xE0100, 0xE01F0))
"""Where Unicode keeps its combining marks."""
_JOINERS = "\u200c\u200d"


@cache
def _word() -> re.Pattern[str]:
    marks = "".join(
        chr(code)
        for low, high in _MARKED
        for code in range(low, high)
        if unicodedata.category(chr(code)).startswith("M")
    )
    inside = f"[^\\W_{_JOINERS}]|[{marks}{_JOINERS}]"
    # A contraction ends in layout: do|n't, it|'s, we|'ll.
    clitic = "(?:[nN]['\u2019][tT]|['\u2019](?:[sSdDmMtT]|[rR][eE]|[vV][eE]|[lL][lL]))(?![^\\W_])"
    return re.compile(f"(?<=\\S){clitic}|(?P<word>[^\\W_](?:(?!{clitic})(?:{inside}))*)")


def find_words(text: str) -> list[tuple[int, int]]:
    """Return where the words of a text stand: start inclusive, end exclusive, in reading order."""
    return [match.span() for match in _word().finditer(text) if match.lastgroup]


def is_word(text: str) -> bool:
    """Whether a string is one word and nothing else."""
    match = _word().fullmatch(text)
    return bool(match and match.lastgroup)


def plain(word: str) -> str:
    """A word in lower case and without accents."""
    lowered = word.lower()
    if lowered.isascii():
        return lowered
    apart = normal(lowered, "NFD")
    return "".join(letter for letter in apart if unicodedata.category(letter) != "Mn")


def case_of(word: str) -> Case:
    """How a word is written; anything mixed counts by its first letter."""
    if len(word) > 1 and word.isupper():
        return "upper"
    return "title" if word[:1].isupper() else "lower"


def in_case(word: str, case: Case) -> str:
    """Write a word of the vocabulary in a case."""
    if case == "upper":
        return word.upper()
    return word[:1].upper() + word[1:] if case == "title" else word


@dataclass(frozen=True, slots=True)
class Piece:
    """One position of a text that is rewritten: a word, or a sensitive stretch without one."""

    start: int
    end: int
    span: int
    """Number of the sensitive span it lies in; -1 outside of all."""
    word: bool = True


@dataclass(frozen=True, slots=True)
class TextLayout:
    """A text cut into positions, and what stands between them."""

    text: str
    pieces: tuple[Piece, ...]
    spans: tuple[Span, ...]
    """Sensitive spans, widened to whole words, none touching another's word."""

    def before(self, written: Sequence[str]) -> tuple[list[str], str]:
        """What stands in front of each piece once `written` is in their places, and what ends the text.

        Between sensitive pieces of one span nothing of the text is kept, only a space.
        """
        out: list[str] = []
        at, last, open_span = 0, "", -1
        for piece, string in zip(self.pieces, written, strict=True):
            start, end = piece.start, piece.end
            if piece.span >= 0:
                start, end = self.spans[piece.span].start, self.spans[piece.span].end
            if piece.span >= 0 and piece.span == open_span:
                gap = " " if string else ""
            else:
                gap = self.text[at:start]
            out.append(_apart(last, gap, string))
            last = string or gap or last
            at, open_span = end, piece.span
        tail = self.text[at:]
        return out, _apart(last, "", tail) + tail if open_span >= 0 else tail

    def rebuild(self, written: Sequence[str]) -> str:
        """Put one string in the place of every piece; an empty one leaves its place out."""
        gaps, tail = self.before(written)
        return "".join(part for pair in zip(gaps, written, strict=True) for part in pair) + tail


def _apart(last: str, gap: str, string: str) -> str:
    """The gap, with a space where two words would grow together that were none before."""
    before = gap or last
    return f"{gap} " if before[-1:].isalnum() and string[:1].isalnum() else gap


def lay_out(text: str, sensitive: Iterable[Span] = ()) -> TextLayout:
    """Cut a text into the positions to rewrite, given where it is sensitive."""
    words = find_words(text)
    spans = _widened(sensitive, words)
    pieces: list[Piece] = []
    at = 0
    for number, span in enumerate(spans):
        while at < len(words) and words[at][0] < span.start:
            pieces.append(Piece(*words[at], -1))
            at += 1
        inside = []
        while at < len(words) and words[at][0] < span.end:
            inside.append(Piece(*words[at], number))
            at += 1
        pieces += inside or [Piece(span.start, span.end, number, word=False)]
    pieces += [Piece(*word, -1) for word in words[at:]]
    return TextLayout(text, tuple(pieces), tuple(spans))


def _widened(sensitive: Iterable[Span], words: Sequence[tuple[int, int]]) -> list[Span]:
    """Spans that end where words end, overlapping ones joined: half a sensitive word is sensitive whole."""
    out: list[Span] = []
    at = 0
    for span in sorted(sensitive):
        while at < len(words) and words[at][1] <= span.start:
            at += 1
        start, end = span.start, span.end
        last = at
        while last < len(words) and words[last][0] < end:
            start, end = min(start, words[last][0]), max(end, words[last][1])
            last += 1
        if out and start < out[-1].end:
            out[-1] = Span(out[-1].start, max(end, out[-1].end), out[-1].label)
        else:
            out.append(Span(start, end, span.label))
    return out
