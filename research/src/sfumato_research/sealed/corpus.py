"""Rows of several sources, with what an attacker would like to know of each; and as many public ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness import generator
from sfumato_research.frontier.cases import patients
from sfumato_research.studies.base import Setting
from sfumato_research.studies.data import rows

NEEDS = ("sentences", "ag_news", "quora_pairs", "pii_medical_notes", "paragraphs")
SENTENCES, NEWS, PAIRS, NOTES, PASSAGES = 5400, 800, 500, 500, 300
"""Rows of each kind (pairs: of near-duplicates); as many again are public."""
QUICK_SHARE = 20
"""A quick run has one in so many."""


@dataclass(frozen=True, slots=True, eq=False)
class SealedCorpus:
    """Texts in the order they come, and the truth about each."""

    texts: list[str]
    sources: NDArray[np.intp]
    """`[n]` number of the source each is of."""
    names: list[str]
    """Of the sources."""
    topics: NDArray[np.intp]
    """`[n]` the topic of news, -1 for others."""
    people: NDArray[np.intp]
    """`[n]` the person a note is about, -1 for others."""
    twins: NDArray[np.intp]
    """`[m, 2]` rows that are near-duplicates."""

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def prior(self) -> float:
        """What always naming the most frequent source gets."""
        return float(np.bincount(self.sources).max() / len(self))

    def same_person(self, most: int = 2000) -> NDArray[np.intp]:
        """`[m, 2]` rows about one person."""
        found = [
            (one, other)
            for person in np.unique(self.people[self.people >= 0])
            for rows_of in [np.flatnonzero(self.people == person)]
            for at, one in enumerate(rows_of)
            for other in rows_of[at + 1 :]
        ]
        return np.array(found[:most], np.intp).reshape(-1, 2)


def two_corpora(setting: Setting) -> tuple[SealedCorpus, SealedCorpus]:
    """The rows that are sealed, source after source, and a public corpus of the same mix."""
    share = setting.pick(1, QUICK_SHARE)
    kinds = [
        _sentences(setting.data, 2 * SENTENCES // share),
        _news(setting.data, 2 * NEWS // share),
        _pairs(setting.data, 2 * PAIRS // share),
        _notes(setting.data, 2 * NOTES // share),
        _passages(setting.data, 2 * PASSAGES // share),
    ]
    halves: tuple[list[_CorpusRow], list[_CorpusRow]] = ([], [])
    for kind in kinds:
        found = list(kind)
        halves[0].extend(found[: len(found) // 2 // 2 * 2])
        halves[1].extend(found[len(found) // 2 // 2 * 2 :])
    names = sorted({row.source for half in halves for row in half})
    return _corpus(halves[0], names), _corpus(halves[1], names)


@dataclass(frozen=True, slots=True)
class _CorpusRow:
    text: str
    source: str
    topic: int = -1
    person: int = -1
    twin: int = -1


def _corpus(found: list[_CorpusRow], names: list[str]) -> SealedCorpus:
    order = sorted(range(len(found)), key=lambda row: found[row].source)
    placed = [found[row] for row in order]
    twins: dict[int, list[int]] = {}
    for row, each in enumerate(placed):
        if each.twin >= 0:
            twins.setdefault(each.twin, []).append(row)
    return SealedCorpus(
        [each.text for each in placed],
        np.array([names.index(each.source) for each in placed], np.intp),
        names,
        np.array([each.topic for each in placed], np.intp),
        np.array([each.person for each in placed], np.intp),
        np.array([pair for pair in twins.values() if len(pair) == 2], np.intp).reshape(-1, 2),
    )


def _shuffled(found: list[_CorpusRow], count: int, seed: int) -> list[_CorpusRow]:
    order = generator(seed).permutation(len(found))
    return [found[row] for row in order[:count]]


def _sentences(data: Path, count: int) -> Iterator[_CorpusRow]:
    every = [_CorpusRow(row["text"], row["source"]) for row in rows(data, "sentences", "sentences")]
    yield from _shuffled(every, count, 11)


def _news(data: Path, count: int) -> Iterator[_CorpusRow]:
    every = [
        _CorpusRow(row["text"], "ag_news", topic=int(row["label"]))
        for row in rows(data, "ag_news", "ag_news")
    ]
    yield from _shuffled(every, count, 12)


def _pairs(data: Path, count: int) -> Iterator[_CorpusRow]:
    """Pairs side by side."""
    twice = (row for row in rows(data, "quora_pairs", "quora_pairs") if row["is_duplicate"] == "1")
    for number, row in enumerate(islice(twice, count)):
        for side in ("question1", "question2"):
            yield _CorpusRow(row[side], "quora_pairs", twin=number)


def _notes(data: Path, count: int) -> Iterator[_CorpusRow]:
    case = patients(data)
    for text, person in islice(zip(case.texts, case.groups.tolist(), strict=True), count):
        yield _CorpusRow(text, "notes", person=person)


def _passages(data: Path, count: int) -> Iterator[_CorpusRow]:
    every = [_CorpusRow(row["text"], "passages") for row in rows(data, "paragraphs", "paragraphs")]
    yield from _shuffled(every, count, 13)
