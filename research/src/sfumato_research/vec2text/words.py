"""Which words are read, by their frequency in training text; which sentences, by length (Figure 6)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.metrics import Reconstruction
from sfumato.metrics.reconstruction import tokens
from sfumato.randomness import generator
from sfumato_research.studies.base import Cell, Entry, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import rows
from sfumato_research.studies.draw import Curve, curves
from sfumato_research.vec2text.gains import apart, described, percent_cell, share_cell
from sfumato_research.vec2text.texts import (
    HELD_BACK,
    LONGEST,
    NON_COMMERCIAL,
    ReadyMadeReaders,
    cut_sentences,
    shortened,
    steps_label,
)

BANDS = ((0, 0), (1, 9), (10, 99), (100, 999), (1000, 9999), (10_000, 10**9))
LENGTHS = ((5, 8), (9, 12), (13, 18), (19, 25), (26, 99))
SCIENTIFIC = ("retrieval_scifact", "retrieval_cranfield")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")
_SEEN_SETS = (("sentences", "sentences"), ("paragraphs", "paragraphs"))


@lru_cache(maxsize=2)
def training_words(data: Path, limit: int | None = None) -> Counter[str]:
    """How often each word stands in that part of the reader's training text that is public data here."""
    unseen = set(islice(cut_sentences(data), HELD_BACK if limit is None else 0))
    counts: Counter[str] = Counter()
    for folder, name in _SEEN_SETS:
        if not (data / folder).is_dir():
            continue
        for row in islice(rows(data, folder, name), limit):
            if row["source"] not in NON_COMMERCIAL and row["text"] not in unseen:
                counts.update(tokens(row["text"]))
    return counts


def band_name(band: tuple[int, int]) -> str:
    """A range of counts in words."""
    low, high = band
    return "never" if high == 0 else f"{low:,} to {high:,}" if high < 10**9 else f"{low:,} or more"


def scientific(data: Path, folder: str, count: int, seed: int) -> list[str]:
    """Sentences of abstracts, of at most 32 wordpieces and at least five words."""
    found: dict[str, None] = {}
    for row in rows(data, folder, "corpus"):
        found.update(dict.fromkeys(part.strip() for part in _SENTENCE.split(row["text"])))
    given, pieces = list(found), Wordpieces.minilm()
    kept: list[str] = []
    for at in generator(seed).permutation(len(given)):
        if len(given[at].split()) >= LENGTHS[0][0] and len(pieces.numbers([given[at]])[0]) <= LONGEST:
            kept.append(given[at])
        if len(kept) == count:
            break
    return shortened(kept)


def figure_6(setting: Setting) -> StudyOutcome:
    """Words of scientific sentences by their frequency in training text; the sentences by their length."""
    readers = ReadyMadeReaders(setting)
    few = setting.pick(200 if readers.gpu else 100, 4)
    texts = [text for folder in SCIENTIFIC for text in scientific(setting.data, folder, few, setting.seed)]
    counts = training_words(setting.data, setting.pick(None, 500))
    vectors = readers.vectors(texts)
    steps = setting.pick(20, 1)
    greedy = readers.rounds(vectors, steps)
    read = {"0 steps": greedy.texts(0), steps_label(steps): greedy.texts(steps)}
    read |= readers.beamed(vectors)
    scored = {label: readers.score(texts, found, vectors) for label, found in read.items()}
    bands = {label: word_bands(texts, found, counts) for label, found in read.items()}
    return StudyOutcome(
        [_words_table(bands), _lengths_table(texts, scored)],
        [_words_picture(bands), _lengths_picture(texts, scored)],
        _words_findings(bands),
    )


Bands = dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]
"""For each band of frequency: words read, and words there are, of each text."""


def word_bands(texts: Sequence[str], found: Sequence[str], counts: Counter[str]) -> Bands:
    """How many words of each band were read, text by text; a word counts as often as it stands there."""
    result: Bands = {}
    for low, high in BANDS:
        hits, total = [], []
        for text, other in zip(texts, found, strict=True):
            own = Counter(word for word in tokens(text) if low <= counts[word] <= high)
            total.append(own.total())
            hits.append((own & Counter(tokens(other))).total())
        result[low, high] = np.array(hits, float), np.array(total, float)
    return result


def _words_table(bands: dict[str, Bands]) -> StudyTable:
    first = next(iter(bands.values()))
    table: list[list[Entry]] = [
        [
            band_name(band),
            int(first[band][1].sum()),
            *(share_cell(*own[band], form=".1%") for own in bands.values()),
        ]
        for band in BANDS
    ]
    return StudyTable(
        "Words of scientific sentences that were read, by how often they stand in training text",
        ["in training text", "words", *bands],
        table,
        "Counted in the sentences and paragraphs that are public data here, of which the reader learned; "
        "its other sources are not kept. Words and marks, as token F1 counts them. The paper's figure has "
        "counts over the same axis.",
    )


def _lengths_table(texts: Sequence[str], scored: dict[str, Reconstruction]) -> StudyTable:
    words = np.array([len(text.split()) for text in texts])
    table: list[list[Entry]] = []
    for low, high in LENGTHS:
        own = (words >= low) & (words <= high)
        if own.any():
            cells = [
                percent_cell(values[own])
                for each in scored.values()
                for values in (each.token_f1, each.exact)
            ]
            label = f"{low} to {high}" if high < 99 else f"{low} and more"
            table.append([label, int(own.sum()), *cells])
    heads = [f"{what}, {label}" for label in scored for what in ("token F1", "exact %")]
    return StudyTable("Scientific sentences by length", ["words", "sentences", *heads], table)


def _words_picture(bands: dict[str, Bands]) -> Picture:
    lines = []
    for label, own in bands.items():
        cells = [share_cell(*own[band]) for band in BANDS]
        points = [
            (max(low, 0.3), *(100 * (value or 0.0) for value in (cell.value, cell.low, cell.high)))
            for (low, _), cell in zip(BANDS, cells, strict=True)
            if cell.value is not None
        ]
        x, y, least, most = (list(column) for column in zip(*points, strict=True))
        lines.append(Curve(label, x, y, least, most))
    drawn = curves(
        lines,
        title="Words of scientific sentences that were read",
        x_label="in training text, from so many times on (at the left: never)",
        y_label="read, %",
        x_log=True,
        y_range=(0, 100),
    )
    return Picture(
        "vec2text-figure-6.svg", drawn, "Figure 6: words read, by their frequency in training text"
    )


def _lengths_picture(texts: Sequence[str], scored: dict[str, Reconstruction]) -> Picture:
    words = np.array([len(text.split()) for text in texts])
    lines = []
    for label, each in scored.items():
        cells: list[tuple[float, Cell]] = []
        for low, high in LENGTHS:
            own = (words >= low) & (words <= high)
            if own.any():
                cells.append((float(words[own].mean()), percent_cell(each.token_f1[own])))
        lines.append(
            Curve(
                label,
                [size for size, _ in cells],
                [cell.value or 0.0 for _, cell in cells],
                [cell.low or 0.0 for _, cell in cells],
                [cell.high or 100.0 for _, cell in cells],
            )
        )
    drawn = curves(
        lines, title="Scientific sentences by length", x_label="words", y_label="token F1", y_range=(0, 100)
    )
    return Picture("vec2text-figure-6-length.svg", drawn, "Scientific sentences by length")


def _words_findings(bands: dict[str, Bands]) -> list[Finding]:
    label, own = list(bands.items())[-1]
    rare, often, never = (share_cell(*own[band], form=".1%") for band in (BANDS[1], BANDS[-1], BANDS[0]))
    return [
        Finding(
            "Figure 6",
            "words that are frequent in training text are read more often",
            "generally, no figure",
            f"{described(often)} of words that stand there 10,000 times, {described(rare)} of those with 1 "
            f"to 9; {label}",
            apart(often, rare),
        ),
        Finding(
            "Figure 6",
            "some words are read that training text never held",
            "a number of them, no figure",
            f"{described(never)} of {int(own[BANDS[0]][1].sum())} such words; {label}",
            None if never.low is None else never.low > 0,
        ),
    ]
