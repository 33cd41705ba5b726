"""Texts with a concept beside the same texts without it: what masks and ellipsoids are learned from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.base import Span
from sfumato.concepts.concept import Concept, surfaces
from sfumato.concepts.spans import SpanLike
from sfumato.concepts.texts.duplicates import near_duplicates, split, united
from sfumato.concepts.texts.edits import exchange, put
from sfumato.concepts.texts.swaps import Swap, TermSwap
from sfumato.errors import InputError, ParameterError
from sfumato.numbers import finite_number, whole_number
from sfumato.randomness import generator

Kind = Literal["removal", "substitution", "placeholder"]
KINDS: tuple[Kind, ...] = ("removal", "substitution", "placeholder")


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Pairs:
    """Texts with a concept, and for each the same text without it or with something else in its place."""

    concept: str
    found_by: str
    kinds: tuple[Kind, ...]
    """Which of the fields below are filled."""
    plus: tuple[str, ...]
    """D+: texts that hold the concept."""
    minus: tuple[str, ...]
    """D-: the same texts with it removed (SPARSE, section 3.1)."""
    substitutes: tuple[str, ...]
    """The same texts with another value in its place: all of them, then all of the next copy."""
    placeholders: tuple[str, ...]
    """The same texts with a neutral word in its place."""
    terms: tuple[tuple[str, ...], ...]
    """The sensitive strings of each text, in lower case."""
    rows: tuple[int, ...]
    """Which of the caller's texts each one is."""
    clean: tuple[int, ...]
    """Which of the caller's texts were looked at and do not hold the concept."""
    groups: NDArray[np.int64]
    """`[n]` group of texts that are nearly the same once the concept is out, or known to belong together."""
    train: NDArray[np.int64]
    """Positions to learn from."""
    test: NDArray[np.int64]
    """Positions to test on: no group is on both sides."""
    spans: int = 0
    """How many spans were found."""
    emptied: int = 0
    """How many texts were left out because nothing but the concept stood in them."""

    def __len__(self) -> int:
        """How many texts hold the concept."""
        return len(self.plus)

    def __repr__(self) -> str:
        """Show sizes and never a text."""
        return f"Pairs({self.concept!r}, {len(self)} texts, train {len(self.train)}, test {len(self.test)})"

    def statistics(self, *, top: int = 0) -> dict[str, Any]:
        """Return figures without texts; the `top` terms are sensitive and named only when asked for."""
        counts = Counter(term for terms in self.terms for term in terms).most_common()
        found = len(self.rows) + self.emptied
        checked = found + len(self.clean)
        groups = len(np.unique(self.groups))
        figures: dict[str, Any] = {
            "concept": self.concept,
            "found_by": self.found_by,
            "checked": checked,
            "rows": len(self),
            "share": found / checked,
            "spans_per_text": self.spans / len(self),
            "distinct_terms": len(counts),
            "top_term_counts": [count for _, count in counts[:10]],
            "groups": groups,
            "duplicates": len(self) - groups,
            "emptied": self.emptied,
            "train": len(self.train),
            "test": len(self.test),
        }
        if top:
            figures["top_terms"] = dict(counts[:top])
        return figures


def build_pairs(
    texts: Sequence[str],
    concept: Concept,
    *,
    spans: Sequence[Iterable[SpanLike]] | None = None,
    kinds: Iterable[Kind] = KINDS,
    limit: int | None = None,
    copies: int = 1,
    test_share: float = 0.2,
    groups: NDArray[np.int64] | None = None,
    rng: np.random.Generator | None = None,
    seed: int | None = None,
) -> Pairs:
    """Find a concept in texts and put each text beside itself without it.

    Args:
        texts: where to look.
        concept: what to look for.
        spans: the labelled spans of each text, for a concept that takes its spans from the data.
        kinds: what to make of each text.
        limit: stop when this many texts hold the concept; they are then drawn at random.
        copies: how many substitutes to make of each text.
        test_share: about how much to hold back for tests.
        groups: `[n]` group of each text, where it is known what else belongs together.
        rng: draws substitutes, the sample and the split.
        seed: makes `rng` repeatable, when no `rng` is given.
    """
    wanted = set(kinds)
    _check(texts, spans, wanted, copies, test_share)
    limit = None if limit is None else whole_number(limit, "limit", 1, 10**9)
    rng = _source(rng, seed)
    order = range(len(texts)) if limit is None else rng.permutation(len(texts)).tolist()
    found, clean, emptied = _search(texts, concept, spans, order, limit)
    swap = _swap(concept, found) if "substitution" in wanted else None
    made = wanted - ({"substitution"} if swap is None else set())
    train, test = split(together := _together(found, groups), test_share, rng)
    return Pairs(
        concept=concept.name,
        found_by=concept.found_by,
        kinds=tuple(kind for kind in KINDS if kind in made),
        plus=tuple(match.text for match in found),
        minus=tuple(match.bare for match in found if "removal" in wanted),
        substitutes=() if swap is None else _substitutes(found, swap, copies, rng),
        placeholders=tuple(
            put(match.text, match.spans, lambda _: concept.placeholder)
            for match in found
            if "placeholder" in wanted
        ),
        terms=tuple(tuple(surfaces(match.text, match.spans)) for match in found),
        rows=tuple(match.row for match in found),
        clean=tuple(sorted(clean)),
        groups=together,
        train=train,
        test=test,
        spans=sum(len(match.spans) for match in found),
        emptied=emptied,
    )


@dataclass(frozen=True, slots=True)
class _Match:
    row: int
    text: str
    spans: list[Span]
    bare: str
    """The text with the concept removed."""


def _together(found: Sequence[_Match], groups: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """Near-duplicates, united with what else is known to belong together."""
    near = near_duplicates([match.bare for match in found])
    return near if groups is None else united(near, groups[[match.row for match in found]])


def _substitutes(
    found: Sequence[_Match], swap: Swap, copies: int, rng: np.random.Generator
) -> tuple[str, ...]:
    return tuple(exchange(match.text, match.spans, swap, rng) for _ in range(copies) for match in found)


def _source(rng: np.random.Generator | None, seed: int | None) -> np.random.Generator:
    if rng is not None and seed is not None:
        raise ParameterError("Give `rng` or `seed`, not both.")
    return rng or generator(seed)


def _search(
    texts: Sequence[str],
    concept: Concept,
    spans: Sequence[Iterable[SpanLike]] | None,
    order: Sequence[int],
    limit: int | None,
) -> tuple[list[_Match], list[int], int]:
    """Look at the texts in this order until the limit; return matches, rows without, and how many emptied."""
    found: list[_Match] = []
    clean: list[int] = []
    emptied = 0
    ordered = [texts[row] for row in order]
    given = None if spans is None else [spans[row] for row in order]
    for row, text, places in zip(order, ordered, concept.find_all(ordered, given), strict=True):
        if not places:
            clean.append(row)
            continue
        bare = concept.without(text, places)
        if any(mark.isalnum() for mark in bare):
            found.append(_Match(row, text, places, bare))
        else:
            emptied += 1
        if len(found) == limit:
            break
    if not found:
        only = f", and {emptied} held nothing else" if emptied else ""
        raise InputError(
            f"No text contains the concept `{concept.name}`: checked {len(texts)} texts with "
            f"{concept.found_by}{only}. Give --terms or another concept."
        )
    return sorted(found, key=lambda match: match.row), clean, emptied


def _swap(concept: Concept, found: Sequence[_Match]) -> Swap | None:
    """What makes another value: the concept's own way, or else whatever was found in the other texts."""
    swap = concept.swap
    if swap is None:
        written = (match.text[span.start : span.end] for match in found for span in match.spans)
        swap = TermSwap(sorted(set(written)))
    return None if isinstance(swap, TermSwap) and len(swap) < 2 else swap


def _check(
    texts: Sequence[str], spans: Sequence[Any] | None, kinds: Set[str], copies: int, test_share: float
) -> None:
    if isinstance(texts, str):
        raise InputError("`texts` must be a list of texts. Found one string.")
    wrong = next((row for row, text in enumerate(texts) if not isinstance(text, str)), None)
    if wrong is not None:
        raise InputError(f"Every text must be a string. Found {type(texts[wrong]).__name__} in row {wrong}.")
    if spans is not None and len(spans) != len(texts):
        raise InputError(f"Every text must have its spans. Found {len(spans)} for {len(texts)} texts.")
    if not kinds or kinds - set(KINDS):
        unknown = ", ".join(sorted(kinds - set(KINDS))) or "none"
        raise ParameterError(f"`kinds` must be some of {', '.join(KINDS)}. Found {unknown:.60}.")
    whole_number(copies, "copies", 1, 1000)
    finite_number(test_share, "test_share", 0.0, 0.9)
