"""Neutral texts: the same sentence with nothing, or something fixed and public, in the place of a term.

| by          | what is embedded                                                                   | passes |
|-------------|------------------------------------------------------------------------------------|--------|
| removal     | the text without the term                                                          | one    |
| placeholder | the text with the concept's neutral word in place, such as "someone"               | one    |
| soft        | the text with one token in place: the mean of reference terms' input embeddings    | one    |
| copies      | copies of the text with a reference term in place each; their vectors' mean        | many   |

Whatever the term was, and however long, what is embedded is the same. What is left is what the rest of the
sentence says and, but for removal, the meaning "some place".

The references are the same for every text. Drawing them per text, or leaving the true term out, would tell
which term it was.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from sfumato.concepts.base import Span
from sfumato.concepts.texts.edits import cut
from sfumato.errors import ParameterError
from sfumato.numbers import whole_number

if TYPE_CHECKING:
    from sfumato.concepts.texts.soft import SoftText

MOST_COPIES = 1024
"""Most reference terms, and with them most neutral copies of one text."""
NeutralBy = Literal["removal", "placeholder", "soft", "copies"]
"""How a text is made neutral, see above."""


def neutral_way(value: Any) -> NeutralBy:
    """Return a way of making texts neutral, or refuse it."""
    ways: tuple[NeutralBy, ...] = get_args(NeutralBy)
    found = next((way for way in ways if value == way), None)
    if found is None:
        raise ParameterError(f"`neutral_by` must be one of {', '.join(ways)}. Found {value!r:.40}.")
    return found


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
    ordered = _apart(mentions)
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


def removed_text(text: str, mentions: Sequence[Mention]) -> str:
    """Return `text` without its mentions, with spaces and punctuation tidied where they stood."""
    return cut(text, [mention.span for mention in _apart(mentions)])


def soft_text(text: str, mentions: Sequence[Mention]) -> SoftText:
    """Return `text` with a soft place, which stands for all reference terms at once, for every mention."""
    from sfumato.concepts.texts.soft import SoftPlace, SoftText

    pieces, places, position, length = [], [], 0, 0
    for mention in _apart(mentions):
        before, first = text[position : mention.span.start], mention.references[0]
        length += len(before)
        places.append(SoftPlace(length, length + len(first), mention.references))
        length += len(first)
        pieces += [before, first]
        position = mention.span.end
    return SoftText("".join([*pieces, text[position:]]), places)


def _apart(mentions: Sequence[Mention]) -> list[Mention]:
    """Mentions in reading order, none over another."""
    ordered = sorted(mentions, key=lambda mention: mention.span)
    for before, after in zip(ordered, ordered[1:], strict=False):
        if after.span.start < before.span.end:
            raise ParameterError(
                f"Mentions must not overlap. Found spans at {before.span.start} and {after.span.start}."
            )
    return ordered


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
