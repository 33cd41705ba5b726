"""Names of patients in medical notes, and why some are not read (Vec2Text, Table 3)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from sfumato.attacks.writers.search import STRONG
from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.metrics.leakage import count_leaked
from sfumato_research.studies.base import Cell, Entry, Finding, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import rows
from sfumato_research.vec2text.gains import above, share_cell
from sfumato_research.vec2text.texts import QUICK_BEAM, ReadyMadeReaders, figures, shortened, steps_label
from sfumato_research.vec2text.words import band_name, training_words

PRINTED = (0.94, 0.95, 0.89, None)
"""Section 5.3: shares of first, last and full names."""
PARTS = ("first", "last", "full")
FREQUENCIES = ((0, 0), (1, 9), (10, 99), (100, 999), (1000, 10**9))
STRONG_LABEL = "strong search"
_NAME = re.compile(r"Patient Name: (?:Dr\. |Mr\. |Mrs\. |Ms\. |Miss )?([A-Z][a-z]+) ([A-Z][a-z]+)")
NameHits = np.ndarray
"""`[n, 4]` whether first, last and full name of each were read, and both parts wherever they stand."""


@dataclass(frozen=True, slots=True)
class NamedNote:
    """A note with its patient's name."""

    first: str
    last: str
    header: str
    """From the name on: date of birth, address and telephone follow, then the note."""
    body: str
    """What was written about the patient, without any of these."""

    @property
    def name(self) -> str:
        """As it is written."""
        return f"{self.first} {self.last}"


def named_notes(data: Path, count: int) -> list[NamedNote]:
    """The first notes whose patient has a first and a last name; where the header ends, labels tell."""
    found: list[NamedNote] = []
    for row in rows(data, "pii_medical_notes", "notes"):
        text = row["text"]
        match = _NAME.search(text)
        if match:
            end = max(span["end"] for span in row["spans"])
            found.append(NamedNote(match[1], match[2], text[match.start() :], text[end:].strip(" \n,")))
        if len(found) == count:
            break
    return found


def hits(names: Sequence[tuple[str, str]], found: Sequence[str]) -> NameHits:
    """Whether first, last and full name stand in what was read, whole and in order."""
    columns = [
        count_leaked([[each] for each in wanted], list(found)).found > 0
        for wanted in (
            [first for first, _ in names],
            [last for _, last in names],
            [" ".join(name) for name in names],
        )
    ]
    return np.stack([*columns, columns[0] & columns[1]], axis=1)


def names(setting: Setting) -> StudyOutcome:
    """Which names of patients stand in what the reader writes of their notes' first 32 wordpieces."""
    readers = ReadyMadeReaders(setting)
    notes = named_notes(setting.data, setting.pick(500 if readers.gpu else 200, 6))
    own = [(note.first, note.last) for note in notes]
    texts = shortened([note.header for note in notes])
    vectors = readers.vectors(texts)
    steps = setting.pick(20, 2)
    setting.on_step(f"{steps} steps")
    greedy = readers.rounds(vectors, steps)
    read = {steps_label(count): greedy.texts(count) for count in (0, 5, 20) if count <= steps}
    read |= readers.beamed(vectors)
    if readers.gpu or setting.quick:
        setting.on_step(STRONG_LABEL)
        strong = setting.pick(STRONG, replace(QUICK_BEAM, polish=1, wide=1, moves=2, choices=2))
        read[STRONG_LABEL] = readers.read(vectors[: setting.pick(150, 2)], strong)
    found = {label: hits(own[: len(each)], each) for label, each in read.items()}
    table: list[list[Entry]] = []
    for label, each in read.items():
        size = len(each)
        scored = readers.score(texts[:size], each, vectors[:size])
        table.append([label, size, *name_shares(found[label], PRINTED), *figures(scored)])
    best = list(found)[-1]
    counts = training_words(setting.data, setting.pick(None, 500))
    return StudyOutcome(
        [
            StudyTable(
                "Names in medical notes that begin with the patient's, cut at 32 wordpieces (in brackets: "
                "Table 3)",
                [
                    "search",
                    "notes",
                    "first names",
                    "last names",
                    "full names",
                    "both parts",
                    "BLEU",
                    "F1",
                    "exact %",
                    "cosine",
                ],
                table,
                "The name is what stands behind *Patient Name*, without a title. *Strong search*: 5,829 "
                "candidates a vector on the held-back sentences of [the reader's page](reader.md). The "
                "paper's notes are of MIMIC-III, read with its 32-token GTR model.",
            ),
            _by_frequency(own, found, counts),
            _by_pieces(own, found),
        ],
        findings=[_names_finding(found[best], best)],
    )


def name_shares(found: NameHits, printed: Sequence[float | None] = (None,) * 4) -> list[Entry]:
    """First, last, full names and both parts wherever they stand, beside what the paper prints."""
    cells = [share_cell(column) for column in found.T]
    return [
        Cell(cell.value, cell.low, cell.high, cell.form, value)
        for cell, value in zip(cells, printed, strict=True)
    ]


def _names_finding(found: NameHits, label: str) -> Finding:
    full = found[:, 2].astype(float)
    same = above(full, np.full_like(full, 0.5))
    return Finding(
        "Table 3",
        "most names are read from vectors of clinical notes",
        "94 % of first names, 95 % of last names, 89 % of full names",
        ", ".join(f"{share:.0%} of {part} names" for part, share in zip(PARTS, found.mean(0), strict=False))
        + f"; {label}, {len(found)} notes",
        same,
        "" if same else "see below: what stands around the name, how rare it is, how many wordpieces it has",
    )


def _by_frequency(
    own: Sequence[tuple[str, str]], found: dict[str, NameHits], counts: Counter[str]
) -> StudyTable:
    """First and last names together, by how often the word stands in training text."""
    times = np.array([[counts[part.lower()] for part in name] for name in own])
    table: list[list[Entry]] = []
    for low, high in FREQUENCIES:
        chosen = (times >= low) & (times <= high)
        cells = [_of_both(each, chosen) for each in found.values()]
        table.append([band_name((low, high)), int(chosen.sum()), *cells])
    return StudyTable(
        "First and last names by how often they stand in training text",
        ["in training text", "names", *found],
        table,
        "Counted in the sentences and paragraphs that are public data here; the reader's other sources are "
        "not kept.",
    )


def _by_pieces(own: Sequence[tuple[str, str]], found: dict[str, NameHits]) -> StudyTable:
    pieces = Wordpieces.minilm()
    sizes = np.array([[len(numbers) for numbers in pieces.numbers(list(name))] for name in own])
    table: list[list[Entry]] = []
    for label, chosen in (("1", sizes == 1), ("2", sizes == 2), ("3 and more", sizes >= 3)):
        table.append([label, int(chosen.sum()), *(_of_both(each, chosen) for each in found.values())])
    return StudyTable("First and last names by their wordpieces", ["wordpieces", "names", *found], table)


def _of_both(found: NameHits, chosen: np.ndarray) -> Cell:
    """Of the first and last names chosen, the share that was read, with an interval over notes."""
    own = chosen[: len(found)]
    return share_cell((found[:, :2] & own).sum(1), own.sum(1))
