"""Draws how a text comes closer round by round, the words that are wrong marked."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape

from sfumato.metrics.reconstruction import tokens

WIDTH = 760
_LEFT, _TOP, _LINE, _ROOM = 96, 44, 22, 78
_ASIDE = 212
GAP = "[…]"
"""Stands where words of the text were left out."""
_RIGHT_COLOUR, _WRONG_COLOUR = "#1f6f8b", "#c8553d"


def draw_rounds(truth: str, rounds: Sequence[tuple[int, float, str]]) -> str:
    """A line of words a round: those that stand in the text in this order, and those that do not.

    Args:
        truth: the text whose vector is read.
        rounds: number, cosine and text of each round shown; number 0 is the first hypothesis.
    """
    parts: list[str] = []
    height = _TOP
    for label, line in [
        ("text", [(word, True) for word in truth.split()]),
        *((f"{number + 1} ({cosine:.2f})", marked(truth, text)) for number, cosine, text in rounds),
    ]:
        parts.append(f'<text x="12" y="{height}" font-weight="600">{escape(label)}</text>')
        for words in _wrapped(line):
            parts.append(f'<text x="{_LEFT}" y="{height}">{" ".join(_word(*each) for each in words)}</text>')
            height += _LINE
        height += 8
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="A text over rounds of correction" font-family="system-ui, sans-serif" font-size="14">'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>'
        '<text x="12" y="20" font-weight="600">Round (cosine) and text</text>'
        f'<text x="{_ASIDE}" y="20" font-size="12">{GAP} words are left out here</text>'
    )
    return "".join([head, *parts, "</svg>\n"])


def marked(truth: str, text: str) -> list[tuple[str, bool]]:
    """The words of a text, and whether each stands in the true one in this order; a gap where some lack."""
    own, other = text.split(), truth.split()
    plain = [" ".join(tokens(word)) for word in own]
    matcher = SequenceMatcher(None, [" ".join(tokens(word)) for word in other], plain, autojunk=False)
    found: list[tuple[str, bool]] = []
    for kind, _, _, start, stop in matcher.get_opcodes():
        found += [(word, kind == "equal") for word in own[start:stop]]
        if kind == "delete":
            found.append((GAP, False))
    return found


def _wrapped(words: Sequence[tuple[str, bool]]) -> list[list[tuple[str, bool]]]:
    lines: list[list[tuple[str, bool]]] = [[]]
    length = 0
    for word in words:
        if length + len(word[0]) > _ROOM and lines[-1]:
            lines.append([])
            length = 0
        lines[-1].append(word)
        length += len(word[0]) + 1
    return lines


def _word(word: str, right: bool) -> str:
    if right:
        return f'<tspan fill="{_RIGHT_COLOUR}">{escape(word)}</tspan>'
    struck = "" if word == GAP else ' text-decoration="line-through"'
    return f'<tspan fill="{_WRONG_COLOUR}"{struck}>{escape(word)}</tspan>'
