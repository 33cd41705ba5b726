"""Changes of labelled texts: other values, other cases, typing errors; what was labelled stays labelled."""

from __future__ import annotations

import random
import re

from made import Pools
from rows import HIDDEN, Row, Segment

_KEYS = {
    "a": "sq", "b": "vn", "c": "xv", "d": "sf", "e": "wr", "f": "dg", "g": "fh", "h": "gj", "i": "uo",
    "j": "hk", "k": "jl", "l": "ko", "m": "n", "n": "bm", "o": "ip", "p": "o", "q": "wa", "r": "et",
    "s": "ad", "t": "ry", "u": "yi", "v": "cb", "w": "qe", "x": "zc", "y": "tu", "z": "x",
}  # fmt: skip
_WORD = re.compile(r"[^\W\d_]{4,}")


def changed(row: Row, pools: Pools, rng: random.Random) -> Row:
    """The row in one of the forms in which such texts come."""
    segments = row.segments
    if rng.random() < 0.4:
        segments = tuple(
            (pools.value(kind, part, rng), kind)
            if kind not in (None, HIDDEN) and rng.random() < 0.8
            else (part, kind)
            for part, kind in segments
        )
    if rng.random() < 0.15:
        segments = with_typos(segments, rng)
    return Row(_cased(segments, rng), row.looked_for)


def with_typos(segments: tuple[Segment, ...], rng: random.Random, share: float = 0.1) -> tuple[Segment, ...]:
    """Every tenth longer word with one error: two letters changed round, one left out, doubled or next to it."""
    return tuple(
        (
            _WORD.sub(lambda word: _typo(word.group(), rng) if rng.random() < share else word.group(), part),
            kind,
        )
        for part, kind in segments
    )


def lower(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """All in lower case."""
    return tuple((part.lower(), kind) for part, kind in segments)


def _cased(segments: tuple[Segment, ...], rng: random.Random) -> tuple[Segment, ...]:
    way = rng.random()
    if way < 0.25:
        return lower(segments)
    if way < 0.33:
        return tuple((part.upper(), kind) for part, kind in segments)
    if way < 0.38:
        return tuple((part.title(), kind) for part, kind in segments)
    if way < 0.43:
        # Only what was labelled lost its capitals.
        return tuple((part if kind is None else part.lower(), kind) for part, kind in segments)
    return segments


def _typo(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    way = rng.randrange(4)
    if way == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    if way == 1:
        return word[:at] + word[at + 1 :]
    if way == 2:
        return word[:at] + word[at] + word[at:]
    return word[:at] + rng.choice(_KEYS.get(word[at].lower(), "e")) + word[at + 1 :]
