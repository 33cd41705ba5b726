"""Plain English passages out of packages: python weights/recipe/passages.py --packages FOLDER --out FOLDER.

As gather.py, but sentences that follow each other stay together: a passage ends where something that is none
stands between two of them, or with the paragraph once it is long enough. Writes one file a package with the
columns source and text for documents.py, and licences.jsonl.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from gather import ABBREVIATED, ENDS, gather_packages, plain

FEWEST, ENOUGH, MOST = 24, 110, 220
"""Words of the shortest passage, of one that ends with its paragraph, and of the longest."""


def in_order(paragraph: str) -> Iterator[str]:
    """The sentences of a paragraph that read as plain English, and "" for whatever does not."""
    kept = ""
    for part in ENDS.split(re.sub(r"\s+", " ", paragraph).strip()):
        kept = f"{kept} {part}" if kept else part
        if not ABBREVIATED.search(kept):
            yield kept if plain(kept) and kept[-1] in ".!?\"')" else ""
            kept = ""
    if kept:
        yield kept if plain(kept) and kept[-1] in ".!?\"')" else ""


def passages_of(paragraphs: Iterator[str]) -> Iterator[str]:
    """Sentences that follow each other, joined."""
    held: list[str] = []

    def words() -> int:
        return sum(len(sentence.split()) for sentence in held)

    def flushed() -> Iterator[str]:
        if words() >= FEWEST:
            yield " ".join(held)
        held.clear()

    for paragraph in paragraphs:
        for sentence in in_order(paragraph):
            if not sentence or words() > MOST:
                yield from flushed()
            if sentence:
                held.append(sentence)
        if words() >= ENOUGH:
            yield from flushed()
    yield from flushed()


if __name__ == "__main__":
    gather_packages(__doc__ or "", "passages", 12_000, passages_of)
