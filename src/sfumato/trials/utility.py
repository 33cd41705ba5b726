"""Is the release still of use: searches and similarity with a gold standard, or clean neighbours without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.metrics.retrieval import Retrieval, retrieve
from sfumato.metrics.similarity import Similarity, sts, unit_rows
from sfumato.metrics.utility import Utility, compare_retrieval, compare_sts
from sfumato.randomness import generator
from sfumato.trials.split import Split
from sfumato.trials.target import Target
from sfumato.types import Vectors

NEAREST = 10
Chosen = NDArray[np.bool_] | None
"""Which rows of a measure; None for all."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoredPairs:
    """Pairs of texts, and how alike people find them."""

    first: Sequence[str]
    second: Sequence[str]
    scores: Sequence[float]

    def __post_init__(self) -> None:
        """Check that everything has a partner."""
        if not len(self.first) == len(self.second) == len(self.scores) or len(self.scores) < 2:
            raise InputError(
                f"There must be at least 2 pairs, each with a score. Found {len(self.first)} and "
                f"{len(self.second)} texts and {len(self.scores)} scores."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Searches:
    """What is searched for, and the rows of the input that should be found."""

    texts: Sequence[str]
    relevant: Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        """Check that every search has something to find."""
        if len(self.texts) != len(self.relevant) or not len(self.texts):
            raise InputError(
                f"Every search must have its relevant rows. Found {len(self.texts)} and {len(self.relevant)}."
            )
        empty = next((row for row, found in enumerate(self.relevant) if not len(found)), None)
        if empty is not None:
            raise InputError(f"Search {empty} must have a relevant row. Found none.")


class UtilityMeasure(Protocol):
    """One measure of utility, ready for any target."""

    def measure(self, target: Target) -> Utility:
        """Compare a release with clean vectors."""


class RowMeasure(UtilityMeasure, Protocol):
    """One that can be taken of some rows alone."""

    about: list[tuple[str, ...]]
    """The texts that each of its rows is about."""

    def released(self, target: Target) -> Any:
        """What is measured of a release, row by row."""

    def compared(self, released: Any, rows: Chosen = None) -> Utility:
        """Compare that with clean vectors, on all rows or on some."""


class Neighbours:
    """How well a search among releases finds what is near among clean vectors: nDCG@10 without gold."""

    def __init__(self, split: Split, most: int, seed: int) -> None:
        self.rows = np.sort(generator(seed).permutation(len(split.texts))[:most])
        near = _nearest(split.clean, self.rows, min(NEAREST, len(split.texts) - 1))
        self.relevant = [dict.fromkeys(found, 1.0) for found in near.tolist()]
        self.about: list[tuple[str, ...]] = [(split.texts[row],) for row in self.rows]
        self.clean = self._search(split.clean)

    def _search(self, vectors: Vectors) -> Retrieval:
        return retrieve(vectors[self.rows], vectors, self.relevant, k=NEAREST, exclude=self.rows.tolist())

    def released(self, target: Target) -> Retrieval:
        """Search among the release with released vectors."""
        return self._search(target.documents())

    def compared(self, released: Retrieval, rows: Chosen = None) -> Utility:
        """Compare searches, all or some."""
        found = compare_retrieval(_some(self.clean, rows), _some(released, rows))
        return _named(found, f"neighbours nDCG@{NEAREST}")

    def measure(self, target: Target) -> Utility:
        """Compare a release with clean vectors."""
        return self.compared(self.released(target))


class SearchQuality:
    """nDCG@10 of searches whose answers are known; searches are released like documents."""

    def __init__(self, split: Split, searches: Searches, most: int, seed: int) -> None:
        chosen = chosen_searches(searches, most, seed)
        place = {row: number for number, row in enumerate(split.source.tolist())}
        self.texts = [searches.texts[row] for row in chosen]
        self.relevant = [{place[row]: 1.0 for row in searches.relevant[number]} for number in chosen]
        self.about: list[tuple[str, ...]] = [
            (text, *(split.texts[row] for row in found))
            for text, found in zip(self.texts, self.relevant, strict=True)
        ]
        own = {text: row for row, text in enumerate(split.texts)}
        self.hidden = [own.get(text, -1) for text in self.texts]  # a text does not look for itself
        self.clean = self._search(_clean(split, self.texts), split.clean)

    def _search(self, asked: Vectors, stored: Vectors) -> Retrieval:
        return retrieve(asked, stored, self.relevant, k=NEAREST, exclude=self.hidden)

    def released(self, target: Target) -> Retrieval:
        """Release the searches and look for their answers."""
        return self._search(target.others(self.texts), target.documents())

    def compared(self, released: Retrieval, rows: Chosen = None) -> Utility:
        """Compare searches, all or some."""
        found = compare_retrieval(_some(self.clean, rows), _some(released, rows))
        return _named(found, f"search nDCG@{NEAREST}")

    def measure(self, target: Target) -> Utility:
        """Compare a release with clean vectors."""
        return self.compared(self.released(target))


class SimilarityQuality:
    """Pearson's correlation of cosines with scores of people, both texts released."""

    def __init__(self, split: Split, pairs: ScoredPairs, most: int, seed: int) -> None:
        chosen = np.sort(generator(seed).permutation(len(pairs.scores))[:most])
        self.first = [pairs.first[row] for row in chosen]
        self.second = [pairs.second[row] for row in chosen]
        self.about: list[tuple[str, ...]] = list(zip(self.first, self.second, strict=True))
        self.scores = np.array([float(pairs.scores[row]) for row in chosen])
        self.clean = sts(_clean(split, self.first), _clean(split, self.second), self.scores)

    def released(self, target: Target) -> Similarity:
        """Release both sides."""
        both = target.others([*self.first, *self.second])
        return sts(both[: len(self.first)], both[len(self.first) :], self.scores)

    def compared(self, released: Similarity, rows: Chosen = None) -> Utility:
        """Compare pairs, all or some."""
        chosen = slice(None) if rows is None else rows
        sides = (self.clean, released)
        before, after = (Similarity(each.cosines[chosen], each.gold[chosen]) for each in sides)
        return _named(compare_sts(before, after), "STS Pearson")

    def measure(self, target: Target) -> Utility:
        """Compare a release with clean vectors."""
        return self.compared(self.released(target))


def chosen_searches(searches: Searches, most: int, seed: int) -> list[int]:
    """Which searches are made, where there are too many."""
    return sorted(generator(seed).permutation(len(searches.texts))[:most].tolist())


def utility_measures(
    split: Split,
    *,
    searches: Searches | None = None,
    pairs: ScoredPairs | None = None,
    most: int,
    seed: int,
) -> list[RowMeasure]:
    """What there is a gold standard for, the main one first; without any, clean neighbours."""
    made: list[RowMeasure] = []
    if searches is not None:
        made.append(SearchQuality(split, searches, most, seed))
    if pairs is not None:
        made.append(SimilarityQuality(split, pairs, most, seed))
    return made or [Neighbours(split, most, seed)]


def _clean(split: Split, texts: list[str]) -> Vectors:
    """Clean vectors of texts: looked up where they are in the pool, else embedded."""
    own = {text: row for row, text in enumerate(split.texts)}
    if all(text in own for text in texts):
        return split.clean[[own[text] for text in texts]]
    if split.embedder is None:
        raise InputError("Searches and pairs have to be embedded. Name the encoder.")
    return split.embedder.embed(texts)


def _nearest(vectors: Vectors, rows: NDArray[np.intp], k: int) -> NDArray[np.intp]:
    """The k nearest other rows of some rows by cosine."""
    unit = unit_rows(vectors)
    cosines = unit[rows] @ unit.T
    cosines[np.arange(len(rows)), rows] = -np.inf
    return np.argpartition(-cosines, k - 1, axis=1)[:, :k]


def _some(found: Retrieval, rows: Chosen) -> Retrieval:
    """Some of the searches, chosen among those that were given."""
    if rows is None:
        return found
    kept = rows[found.rows]
    return Retrieval(
        found.k, found.rows[kept], found.ndcg[kept], found.recall[kept], found.reciprocal_rank[kept]
    )


def _named(found: Utility, metric: str) -> Utility:
    return Utility(
        metric, found.clean, found.released, found.kept, found.rows, found.coverage, found.interval
    )
