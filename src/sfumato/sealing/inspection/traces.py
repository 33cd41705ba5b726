"""What a text, an id or a vector in the clear looks like as bytes of a file.

A product may keep a text as UTF-8, as UTF-16, as JSON or in base64, and cut a long one over pages: so pieces
of it are looked for, in each of these forms. Vectors are looked for as numbers, run by run, since a product
may have scaled them by a last place.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.types import Vectors

SHORTEST = 8
"""Bytes of a value in UTF-8: shorter ones stand in any file by chance and are not looked for."""
_PIECE = 48
_MOST_PIECES = 64
_RUN, _PARTS = 6, 3
"""Numbers of a vector that stand together, looked for in each of so many parts of it: a page may cut one."""
_NEAR = 2e-3
_TYPES = {"<f4": "<u4", "<f8": "<u8", "<f2": "<u2"}


@dataclass(frozen=True, slots=True)
class Trace:
    """Something that must not be there."""

    kind: str
    """`text`, `id` or `vector`."""
    value: int
    """Which of the values that were given; they are never shown."""


class Traces:
    """Texts, ids and vectors to look for in bytes; `overlap` bytes belong to two blocks."""

    def __init__(
        self, texts: Sequence[str] = (), ids: Sequence[str] = (), vectors: Vectors | None = None
    ) -> None:
        needles: dict[bytes, Trace] = {}
        self.skipped = 0
        """Values that are too short to be looked for."""
        for kind, values in (("text", texts), ("id", ids)):
            for number, value in enumerate(values):
                if len(value.encode("utf-8", "surrogatepass")) < SHORTEST:
                    self.skipped += 1
                    continue
                for needle in _needles(value):
                    needles.setdefault(needle, Trace(kind, number))
        self._vectors = np.empty((0, 0), np.float32) if vectors is None else vectors
        widest = self._vectors.shape[1] if len(self._vectors) else 0
        self.overlap = max([8 * widest, *map(len, needles)], default=0)
        # By their first eight bytes, as one number: a block is then read in the same time for any count.
        self._needles: dict[int, list[tuple[bytes, Trace]]] = {}
        for needle, trace in needles.items():
            self._needles.setdefault(int.from_bytes(needle[:8], "little"), []).append((needle, trace))
        self._heads = np.array(sorted(self._needles), "<u8")
        self._begins = np.zeros(1 << 16, bool)
        self._begins[(self._heads & 0xFFFF).astype(np.intp)] = True

    def __len__(self) -> int:
        return len(self._needles) + len(self._vectors)

    def find(self, block: bytes) -> dict[Trace, int]:
        """Where in a block each of them begins that is there."""
        found: dict[Trace, int] = {}
        for place in self._places(block):
            head = int.from_bytes(block[place : place + 8], "little")
            for needle, trace in self._needles[head]:
                if place < found.get(trace, place + 1) and block.startswith(needle, place):
                    found[trace] = place
        for number, vector in enumerate(self._vectors):
            begin = _place_of(vector, block)
            if begin is not None:
                found[Trace("vector", number)] = begin
        return found

    def _places(self, block: bytes) -> Iterator[int]:
        """Where the first eight bytes of a needle stand."""
        for shift in range(8 if len(self._heads) else 0):
            words = np.frombuffer(block, "<u8", max(0, (len(block) - shift) // 8), shift)
            near = np.flatnonzero(self._begins[(words & 0xFFFF).astype(np.intp)])
            asked = words[near]
            at = np.minimum(np.searchsorted(self._heads, asked), len(self._heads) - 1)
            yield from (shift + 8 * near[self._heads[at] == asked]).tolist()


def _needles(value: str) -> Iterator[bytes]:
    """The forms of a value, whole or in pieces."""
    escaped = json.dumps(value)[1:-1]
    for form in {value.encode("utf-8", "surrogatepass"), escaped.encode()}:
        yield from _pieces(form)
    for coding in ("utf-16-le", "utf-16-be"):
        yield from _pieces(value.encode(coding, "surrogatepass"))
    for piece in _pieces(value.encode("utf-8", "surrogatepass")):
        for start in range(3):
            # The characters at both ends depend on what stands beside the piece.
            whole = base64.b64encode(bytes(start) + piece)
            inner = whole[4 if start else 0 : -4]
            if len(inner) >= SHORTEST:
                yield inner


def _pieces(form: bytes) -> list[bytes]:
    if len(form) <= _PIECE:
        return [form]
    starts = range(0, len(form) - _PIECE + 1, _PIECE)
    step = -(-len(starts) // _MOST_PIECES)
    return [form[start : start + _PIECE] for start in starts[::step]]


def _place_of(vector: Any, block: bytes) -> int | None:
    """Where a run of a vector's numbers stands in a block, in any of three widths, little end first."""
    wide = np.asarray(vector, np.float64)
    slack = _NEAR * float(np.abs(wide).max())
    thirds = np.array_split(np.arange(len(wide)), min(_PARTS, max(1, len(wide) // _RUN)))
    for kind, bits in _TYPES.items():
        width = np.dtype(kind).itemsize
        for shift in range(width):
            count = max(0, (len(block) - shift) // width)
            numbers = np.frombuffer(block, kind, count, shift)
            words = np.frombuffer(block, bits, count, shift)
            for part in thirds:
                there = _run(numbers, words, wide[part], slack)
                if there is not None:
                    return shift + there * width
    return None


def _run(numbers: Any, words: Any, wanted: Any, slack: float) -> int | None:
    """Where the largest number of a part stands among those beside it."""
    anchor = int(np.abs(wanted).argmax())
    size = abs(float(wanted[anchor]))
    # As whole numbers: floats of one sign have their order, and no block of text is slow as NaN is.
    edges = np.array([max(size - slack, 0.0), size + slack], numbers.dtype).view(words.dtype)
    sign = (
        words.dtype.type(1 << (8 * words.dtype.itemsize - 1)) if wanted[anchor] < 0 else words.dtype.type(0)
    )
    places = np.flatnonzero((words >= (edges[0] | sign)) & (words <= (edges[1] | sign)))
    first = min(max(0, anchor - _RUN // 2), max(0, len(wanted) - _RUN))
    for at in range(first, min(first + _RUN, len(wanted))):
        places = places[(places + at - anchor >= 0) & (places + at - anchor < len(numbers))]
        with np.errstate(all="ignore"):
            places = places[np.abs(numbers[places + at - anchor].astype(np.float64) - wanted[at]) <= slack]
        if not len(places):
            return None
    return int(places[0])
