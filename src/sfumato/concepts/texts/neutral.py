"""Neutral texts: the same sentence with the concept's term replaced by fixed reference terms.

The mean embedding of the neutral texts is the best guess of a text's embedding that does not depend on its
term: whatever the term was, the neutral texts are the same. What is left is what the rest of the sentence
says, which is also all that removing the term would leave, and the meaning "some place" is kept.

The references are the same for every text. Drawing them per text, or leaving the true term out, would tell
which term it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.concepts.base import Span
from sfumato.errors import ParameterError
from sfumato.numbers import whole_number

MOST_COPIES = 1024
"""Most neutral copies of one text."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A span to be replaced and the reference terms that may stand in its place."""

    span: Span
    references: tuple[str, ...]


def spread(terms: Sequence[str], count: int) -> tuple[str, ...]:
    """Pick `count` reference terms evenly from a sorted list: public, fixed, and not chosen by any text."""
    count = whole_number(count, "count", 1, 1024)
    ordered = sorted(set(terms))
    if len(ordered) <= count:
        return tuple(ordered)
    return tuple(ordered[index * len(ordered) // count] for index in range(count))


def neutral_texts(text: str, mentions: Sequence[Mention], count: int) -> list[str]:
    """Return `count` copies of `text` in which every mention is replaced by a reference term.

    Mention m of copy j gets reference j + m, so that two places in one sentence stay two places.
    """
    ordered = sorted(mentions, key=lambda mention: mention.span)
    for before, after in zip(ordered, ordered[1:], strict=False):
        if after.span.start < before.span.end:
            raise ParameterError(
                f"Mentions must not overlap. Found spans at {before.span.start} and {after.span.start}."
            )
    copies = []
    for copy in range(count):
        pieces, position = [], 0
        for number, mention in enumerate(ordered):
            pieces += [
                text[position : mention.span.start],
                mention.references[(copy + number) % len(mention.references)],
            ]
            position = mention.span.end
        copies.append("".join([*pieces, text[position:]]))
    return copies


def without_overlaps(mentions: Sequence[Mention]) -> list[Mention]:
    """Keep the longest of mentions that overlap, the first of equally long ones, in reading order."""
    edges = sorted({place for item in mentions for place in (item.span.start, item.span.end - 1)})
    rank = {place: number for number, place in enumerate(edges)}
    taken = bytearray(len(edges))
    kept: list[Mention] = []
    for mention in sorted(mentions, key=lambda item: (item.span.start - item.span.end, item.span.start)):
        first, last = rank[mention.span.start], rank[mention.span.end - 1]
        # What was kept before is at least as long: where it overlaps it covers the first place or the last.
        if not taken[first] and not taken[last]:
            taken[first : last + 1] = b"\1" * (last + 1 - first)
            kept.append(mention)
    return sorted(kept, key=lambda item: item.span)
