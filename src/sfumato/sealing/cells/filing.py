"""Under which cells a row is filed: those of its own vector and, in a longer text, those of its sentences.

Queries look like sentences: an abstract's sentences find it with far fewer records than the abstract does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.arrays import one_each
from sfumato.embedders.base import Embedder, OnBatch
from sfumato.numbers import whole_number
from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.types import Rows, Vectors

Place = tuple[int, int]
"""A table and a cell of it."""

MOST_UNITS = 16
"""Sentences or runs of them that a row is filed under, at most."""
SHORT_TEXT = 200
"""A text of up to so many characters is a unit of its own."""
LONGEST_UNIT = 1000
"""Characters of a unit: about as much as a small encoder reads."""

_READ = 1 << 16
_FRAGMENT = 25
_TEXTS_AT_ONCE = 1024

# Every repeat is bounded or cannot overlap the next, so that hostile texts take no longer than others.
_END = re.compile(
    r"""[.!?…]{1,4}["'”’»)\]]{0,3}(?=\s)|(?<=[a-z)%][a-z)%])[.!?](?=[A-Z][a-z])"""
    r"""|[。！？｡।]{1,4}[」』”]{0,2}|\n[ \t\r]*\n"""
)


def units(text: str, most: int = MOST_UNITS) -> list[str]:
    """Sentences of a text, in their order and each once; none of a text that is short or has only one.

    Where there are more than `most`, the first half of the units are single sentences, since many encoders
    read the beginning alone, and the others are runs of those that follow.
    """
    most = whole_number(most, "most", 0, 1024)
    if len(text) <= SHORT_TEXT or most < 2:
        return []
    once: dict[str, str] = {}
    for sentence in sentences_in(text[:_READ]):
        once.setdefault(sentence.casefold(), sentence)
    found = list(once.values())
    if len(found) <= most:
        return found if len(found) > 1 else []
    alone = most // 2
    edges = np.linspace(alone, len(found), most - alone + 1).astype(int)
    runs = (" ".join(found[low:high]) for low, high in zip(edges[:-1], edges[1:], strict=True))
    return [*found[:alone], *(run[:LONGEST_UNIT] for run in runs)]


def sentences_in(text: str) -> Iterator[str]:
    """Sentences with single spaces, fragments joined to what follows, and long ones cut."""
    held, start = "", 0
    ends = [match.end() for match in _END.finditer(text)]
    for end in (*ends, len(text)):
        held = f"{held} {' '.join(text[start:end].split())}".strip()
        start = end
        if len(held) >= _FRAGMENT or (held and end == len(text)):
            yield from _cut(held)
            held = ""
    if held:
        yield held


def _cut(sentence: str) -> Iterator[str]:
    """Pieces of at most `LONGEST_UNIT` characters, between words where there is a space."""
    start = 0
    while len(sentence) - start > LONGEST_UNIT:
        space = sentence.rfind(" ", start + LONGEST_UNIT // 2, start + LONGEST_UNIT)
        end = start + LONGEST_UNIT if space < 0 else space
        yield sentence[start:end].strip()
        start = end
    yield sentence[start:].strip()


@dataclass(frozen=True, slots=True, eq=False)
class Filed:
    """Vectors that rows are filed by: each row's own and those of its units."""

    vectors: Vectors
    """`[m, d]`; learn the codebook from these."""
    rows: Rows
    """`[m]` the row each of them is of."""
    count: int
    """How many rows there are."""

    def places(self, codebook: Codebook) -> list[set[Place]]:
        """The cells of each row, in every table."""
        found: list[set[Place]] = [set() for _ in range(self.count)]
        for row, cells in zip(self.rows.tolist(), codebook.assign(self.vectors).tolist(), strict=True):
            found[row].update(enumerate(cells))
        return found


def filed(
    texts: Sequence[str],
    vectors: Any,
    embedder: Embedder,
    *,
    most: int = MOST_UNITS,
    on_batch: OnBatch | None = None,
) -> Filed:
    """Embed the units of texts whose own vectors are known.

    Args:
        texts: one a row.
        vectors: `[n, d]` the rows' own vectors.
        embedder: what made them.
        most: units a row, at most; 0 files rows under their own vectors alone.
        on_batch: called with how many units were just embedded.
    """
    own = unit(vectors)
    one_each(texts, len(own), "text")
    parts, rows = [own], [np.arange(len(own))]
    for first in range(0, len(own), _TEXTS_AT_ONCE):
        split = [units(text, most) for text in texts[first : first + _TEXTS_AT_ONCE]]
        flat = [each for found in split for each in found]
        if flat:
            parts.append(unit(embedder.embed(flat, on_batch=on_batch), dim=own.shape[1]))
            rows.append(np.repeat(np.arange(first, first + len(split)), [len(found) for found in split]))
    if len(parts) == 1:
        return Filed(own, rows[0], len(own))
    return Filed(np.concatenate(parts), np.concatenate(rows), len(own))


def cells_of(
    texts: Sequence[str], vectors: Any, codebook: Codebook, embedder: Embedder, *, most: int = MOST_UNITS
) -> list[set[Place]]:
    """The `(table, cell)` places of each row: those of its own vector and those of its units."""
    return filed(texts, vectors, embedder, most=most).places(codebook)
