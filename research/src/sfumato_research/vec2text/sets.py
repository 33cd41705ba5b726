"""Texts of every set here, by length (Vec2Text, Table 2 and Figure 7)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.metrics import Reconstruction, score_reconstruction
from sfumato.randomness import generator
from sfumato_research.studies.base import Cell, Entry, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import rows
from sfumato_research.studies.draw import Curve, curves
from sfumato_research.vec2text.gains import above, correlated, percent_cell, written
from sfumato_research.vec2text.texts import (
    BEAM_LABEL,
    LONGEST,
    ReadyMadeReaders,
    figures,
    shortened,
    steps_label,
)

SETS: tuple[tuple[str, str, str, str], ...] = (
    # label, folder, file, column
    ("trec6", "trec6", "trec6", "text"),
    ("quora", "quora_pairs", "quora_pairs", "question1"),
    ("sick", "sick_r", "sick", "sentence1"),
    ("sts12", "sts12", "sts12", "sentence1"),
    ("conll2003", "conll2003", "conll2003", "text"),
    ("fiqa questions", "retrieval_fiqa_mini", "queries", "text"),
    ("squad questions", "squad_dev", "questions", "question"),
    ("scifact claims", "retrieval_scifact", "queries", "text"),
    ("ag_news", "ag_news", "ag_news", "text"),
    ("yelp", "yelp5", "yelp5", "text"),
    ("paragraphs", "paragraphs", "paragraphs", "text"),
    ("squad contexts", "squad_dev", "contexts", "context"),
    ("fiqa", "retrieval_fiqa_mini", "corpus", "text"),
    ("cranfield", "retrieval_cranfield", "corpus", "text"),
    ("scifact", "retrieval_scifact", "corpus", "text"),
    ("mtsamples", "mtsamples", "mtsamples", "transcription"),
)
PRINTED: dict[str, tuple[float | None, ...]] = {
    "quora": (None, 93.5, None, 0.99),
    "scifact": (None, 44.4, None, 0.96),
}
"""Table 2: token F1 and cosine at their full length, 15.5 and 127.2 tokens, OpenAI's vectors."""
CUTS = (8, 16, 24, 32)
_ROUNDS = 20


@dataclass(frozen=True, slots=True, eq=False)
class SampledSet:
    """Some texts of a set, cut as the reader takes them."""

    label: str
    texts: list[str]
    whole: list[str]
    """As they are in the set."""
    pieces: float
    """Mean wordpieces after the cut."""
    before: float
    """Mean wordpieces before it."""


def sampled(data: Path, label: str, folder: str, name: str, column: str, few: int, seed: int) -> SampledSet:
    """So many texts of a set, drawn with a seed."""
    given = list(dict.fromkeys(str(row[column]) for row in rows(data, folder, name)))
    drawn = [given[at] for at in generator(seed).permutation(len(given))[:few]]
    kept = [(text, cut) for text, cut in zip(drawn, shortened(drawn), strict=True) if cut]
    sizes = np.array([len(each) for each in Wordpieces.minilm().numbers([text for text, _ in kept])])
    return SampledSet(
        label,
        [cut for _, cut in kept],
        [text for text, _ in kept],
        float(np.minimum(sizes, LONGEST).mean()),
        float(sizes.mean()),
    )


def other_sets(setting: Setting) -> StudyOutcome:
    """Sets the reader was not made for, cut at 32 wordpieces, the shortest first."""
    readers = ReadyMadeReaders(setting)
    few = setting.pick(120 if readers.gpu else 40, 4)
    there = [each for each in SETS if (setting.data / each[1]).is_dir()]
    sets = sorted(
        (sampled(setting.data, *each, few, setting.seed) for each in there), key=lambda each: each.pieces
    )
    texts = [text for each in sets for text in each.texts]
    vectors = readers.vectors(texts)
    setting.on_step(f"{_ROUNDS} steps")
    steps = setting.pick(_ROUNDS, 2)
    greedy = readers.rounds(vectors, steps)
    read = {"0 steps": greedy.texts(0), steps_label(steps): greedy.texts(steps)}
    read |= readers.beamed(vectors)
    scored: dict[str, dict[str, Reconstruction]] = {each.label: {} for each in sets}
    start = 0
    for each in sets:
        own = slice(start, start + len(each.texts))
        for label, found in read.items():
            scored[each.label][label] = readers.score(each.texts, found[own], vectors[own])
        start = own.stop
    best = list(read)[-1]
    tables = [_sets_table(sets, scored, best), _cuts(setting, readers, sets)]
    return StudyOutcome(tables, [_figure_7(sets, scored, best)], _length_findings(sets, scored, best))


def _sets_table(
    sets: list[SampledSet], scored: dict[str, dict[str, Reconstruction]], best: str
) -> StudyTable:
    others = [label for label in scored[sets[0].label] if label != best]
    table: list[list[Entry]] = []
    for each in sets:
        own = scored[each.label]
        table.append(
            [
                each.label,
                Cell(each.pieces, form=".1f"),
                Cell(each.before, form=".0f"),
                len(each.texts),
                *(percent_cell(own[label].token_f1) for label in others),
                *figures(own[best], PRINTED.get(each.label, (None,) * 4)),
            ]
        )
    heads = [*(f"token F1, {label}" for label in others), "BLEU", "token F1", "exact %", "cosine"]
    note = (
        f"The last four columns: {best}. *Whole*: mean wordpieces before the cut; the paper's texts have up "
        "to 128 tokens. Sentences of *paragraphs* were in the training text; of the other sets none, word "
        "for word."
    )
    return StudyTable(
        "Other sets, at most 32 wordpieces (in brackets: Table 2)",
        ["set", "wordpieces", "whole", "vectors", *heads],
        table,
        note,
    )


def _cuts(setting: Setting, readers: ReadyMadeReaders, sets: list[SampledSet]) -> StudyTable:
    """The same texts at several lengths: what of a set's difficulty is its length."""
    few, steps = setting.pick(100 if readers.gpu else 16, 2), setting.pick(_ROUNDS, 2)
    pieces = Wordpieces.minilm()
    long: dict[str, list[str]] = {}
    for each in sets:
        sizes = [len(numbers) for numbers in pieces.numbers(each.whole)]
        own = [text for text, size in zip(each.whole, sizes, strict=True) if size >= LONGEST][:few]
        if len(own) >= min(few, 10):
            long[each.label] = own
    cut = {(label, length): shortened(own, length) for label, own in long.items() for length in CUTS}
    every = [text for texts in cut.values() for text in texts]
    setting.on_step("cut at several lengths")
    found = iter(readers.rounds(readers.vectors(every), steps).texts(steps) if every else [])
    cells = {
        case: percent_cell(score_reconstruction(texts, list(islice(found, len(texts)))).token_f1)
        for case, texts in cut.items()
    }
    table: list[list[Entry]] = [
        [label, len(own), *(cells[label, length] for length in CUTS)] for label, own in long.items()
    ]
    return StudyTable(
        f"The same texts cut at several lengths, token F1, {steps} steps",
        ["set", "texts", *(f"{length} wordpieces" for length in CUTS)],
        table,
        "Texts of 32 wordpieces or more, from their beginning.",
    )


def _figure_7(sets: list[SampledSet], scored: dict[str, dict[str, Reconstruction]], best: str) -> Picture:
    points = [
        Curve(
            each.label, [each.pieces], [100 * float(scored[each.label][best].token_f1.mean())], joined=False
        )
        for each in sets
    ]
    drawn = curves(
        points,
        title=f"Token F1 over length, {best}",
        x_label="wordpieces, mean of the set",
        y_label="token F1",
        y_range=(0, 100),
    )
    return Picture("vec2text-figure-7.svg", drawn, "Figure 7: sets over the length of their texts")


def _length_findings(
    sets: list[SampledSet], scored: dict[str, dict[str, Reconstruction]], best: str
) -> list[Finding]:
    sizes = np.array([each.pieces for each in sets])
    f1 = {each.label: 100 * float(scored[each.label][best].token_f1.mean()) for each in sets}
    value, (low, high) = correlated(sizes, np.array(list(f1.values())))
    found = [
        Finding(
            "Table 2",
            "the longer the texts of a set, the less of them is read",
            "token F1 93.5 on Quora, 44.4 on SciFact",
            f"{len(sets)} sets, correlation with wordpieces {value:.2f} [{low:.2f}, {high:.2f}]; "
            + ", ".join(f"{f1[label]:.1f} on {label}" for label in ("quora", "scifact") if label in f1),
            True if high < 0 else False if low > 0 else None,
        )
    ]
    if "quora" in f1 and best == BEAM_LABEL:
        own = scored["quora"]
        later, sooner = own[best].exact * 100, own["0 steps"].exact * 100
        found.append(
            Finding(
                "Table 2",
                "questions of Quora are read exactly more often than not",
                "exact 66 %",
                f"{later.mean():.1f} %, {written(later, sooner)} over one text without a comparison",
                above(later, np.full_like(later, 50.0)),
                "" if above(later, np.full_like(later, 50.0)) else "a smaller reader and a narrower search",
            )
        )
    return found
