"""Which texts belong together: those that say nearly the same have to stand on one side of a split."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.detectors.dictionary import folded

THRESHOLD = 0.7
_WORD = re.compile(r"[^\W\d_]+|\d+")


def near_duplicates(texts: Sequence[str], *, threshold: float = THRESHOLD) -> NDArray[np.int64]:
    """Return `[n]` group numbers: texts whose words overlap by `threshold` (Jaccard) share one, and so on.

    Exact, not sampled: two sets this alike share a word among the rarest few of each (Chaudhuri et al., 2006,
    prefix filtering), so only those are looked up.
    """
    sets: dict[frozenset[str], int] = {}
    members = [sets.setdefault(_words(text), len(sets)) for text in texts]
    frequency = Counter(word for words in sets for word in words)
    ordered = [sorted(words, key=lambda word: (frequency[word], word)) for words in sets]
    groups = _Groups(len(ordered))
    index: dict[str, list[int]] = {}
    unique = list(sets)
    for new in sorted(range(len(ordered)), key=lambda number: len(ordered[number])):
        words = ordered[new]
        prefix = words[: len(words) - math.ceil(threshold * len(words)) + 1]
        for old in {old for word in prefix for old in index.get(word, ())}:
            if groups.root(old) != groups.root(new) and _alike(unique[old], unique[new], threshold):
                groups.join(old, new)
        for word in prefix:
            index.setdefault(word, []).append(new)
    return groups.numbers(members)


def joined(count: int, together: Iterable[Sequence[int]]) -> NDArray[np.int64]:
    """Return `[count]` group numbers: rows that stand together in any of these lists share one, and so on."""
    groups = _Groups(count)
    for rows in together:
        for row in rows[1:]:
            groups.join(rows[0], row)
    return groups.numbers(range(count))


def same_group(groups: Iterable[Hashable]) -> list[list[int]]:
    """The rows of each group; a row whose group is None belongs to nobody."""
    found: dict[Hashable, list[int]] = {}
    for row, group in enumerate(groups):
        if group is not None:
            found.setdefault(group, []).append(row)
    return list(found.values())


def united(*groupings: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return `[n]` group numbers: rows that share a group of any grouping share one, and so on."""
    together = [rows for groups in groupings for rows in same_group(groups.tolist())]
    return joined(len(groupings[0]), together)


def split(
    groups: NDArray[np.int64], share: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows to learn from and about `share` of the rows to test on; no group is on both sides."""
    sizes = np.bincount(groups)
    wanted = share * len(groups)
    chosen, taken = np.zeros(len(sizes), dtype=bool), 0
    for group in rng.permutation(len(sizes)):
        # A group that overshoots by more than half of itself is left for the other side.
        if taken + sizes[group] / 2 <= wanted and not _last(chosen, len(sizes)):
            chosen[group] = True
            taken += int(sizes[group])
    testing = chosen[groups]
    return np.flatnonzero(~testing), np.flatnonzero(testing)


def split_texts(
    texts: Sequence[str], share: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows to learn from and about `share` of them to test on, near-duplicates on one side if possible."""
    return enough_to_test(*split(near_duplicates(texts), share, rng), share, rng)[:2]


def enough_to_test(
    learn: NDArray[np.int64], test: NDArray[np.int64], share: float, rng: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64], bool]:
    """A split as it is, and whether it still keeps near-duplicates together.

    Where nearly all texts are alike, as made-up ones may be, that would leave too few to test on: rows are
    then drawn one by one.
    """
    rows = len(learn) + len(test)
    if len(test) >= share * rows / 2:
        return learn, test, True
    order = rng.permutation(rows)
    cut = min(max(1, round(share * rows)), rows - 1)
    return np.sort(order[cut:]), np.sort(order[:cut]), False


def _last(chosen: NDArray[np.bool_], groups: int) -> bool:
    # Something has to be left to learn from.
    return int(chosen.sum()) >= groups - 1


def _words(text: str) -> frozenset[str]:
    # Numbers differ where the sentence is the same: reports, prices, scores.
    return frozenset("0" if word[0].isdecimal() else word for word in _WORD.findall(folded(text)))


def _alike(one: frozenset[str], other: frozenset[str], threshold: float) -> bool:
    shared = len(one & other)
    return shared >= threshold * (len(one) + len(other) - shared)


class _Groups:
    """Numbers that belong together, joined one pair at a time."""

    def __init__(self, count: int) -> None:
        self._parents = list(range(count))

    def root(self, number: int) -> int:
        while self._parents[number] != number:
            self._parents[number] = self._parents[self._parents[number]]
            number = self._parents[number]
        return number

    def join(self, one: int, other: int) -> None:
        self._parents[self.root(one)] = self.root(other)

    def numbers(self, members: Iterable[int]) -> NDArray[np.int64]:
        """The group of each member, counted from 0 in this order."""
        roots = [self.root(member) for member in members]
        known = {root: number for number, root in enumerate(dict.fromkeys(roots))}
        return np.array([known[root] for root in roots], dtype=np.int64)
