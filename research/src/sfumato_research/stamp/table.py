"""Table 1 of STAMP on one set of texts, beside what is printed: polar, two Laplaces and uniform budgets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.text import Group, WordVectors
from sfumato.text.budgets import PAPER_ROWS
from sfumato_research.stamp.rows import (
    CODE,
    LAPLACE,
    POLAR,
    PUBLISHED,
    THRESHOLD,
    UNIFORM,
    Compared,
    Configuration,
    compare,
)
from sfumato_research.stamp.sets import Texts
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.draw import Curve, curves

Line = Sequence[Cell | str | float | int | None]
SENSITIVE = (Group.SENSITIVE_IMPORTANT, Group.SENSITIVE)
OTHERS = (Group.IMPORTANT, Group.OTHER)


@dataclass(frozen=True, slots=True)
class PrintedColumns:
    """A set's columns of the paper's table 1."""

    polar: tuple[float, ...]
    laplace: tuple[float, ...]
    clean: float


PRINTED = {
    "squad": PrintedColumns((0.393, 0.470, 0.587, 0.654, 0.833), (0.325, 0.334, 0.335, 0.341, 0.343), 0.839),
    "yelp": PrintedColumns((0.360, 0.380, 0.480, 0.560, 0.560), (0.220, 0.140, 0.180, 0.200, 0.140), 0.580),
    "agnews": PrintedColumns((0.540, 0.640, 0.680, 0.760, 0.800), (0.560, 0.580, 0.560, 0.520, 0.520), 0.920),
}


VECTORS = {
    "minilm, pieces": "Word pieces of all-MiniLM-L6-v2",
    "lm:smollm2, pieces": "Pieces of SmolLM2-135M-Instruct's own table",
}
"""Vocabularies in words."""


def table_one(
    setting: Setting,
    name: str,
    texts: Texts,
    vocabulary: WordVectors | None = None,
    threshold: float = THRESHOLD,
    of: str = "",
) -> StudyOutcome:
    """Run one set's columns of the table.

    Args:
        setting: how the study is run.
        name: squad, fantasy, agnews or yelp.
        texts: the set.
        vocabulary: the word pieces of all-MiniLM-L6-v2 unless given.
        threshold: cosine from which a word is important in these vectors.
        of: whose vectors they are, where that has to be said.
    """
    done = compare(setting, texts, name, vocabulary, threshold)
    metric = texts.metric
    tables = [_main(done, metric, PRINTED.get(name))]
    if "exact match" in done.scores:
        tables.append(_exact(done))
    if texts.answer_inside is not None:
        tables.append(_split(done, metric, texts.answer_inside))
    if of:
        tables = [replace(table, title=f"{table.title}, {of}") for table in tables]
    return StudyOutcome(tables, [_figure(done, name, metric, of)], _findings(done, name, metric, of))


def _rows(done: Compared) -> list[tuple[str, int]]:
    return list(dict.fromkeys((key.reading, key.row) for key in done.spent))


def _share(done: Compared, key: Configuration, groups: Iterable[Group]) -> Cell:
    """Share of the words of some groups that were replaced."""
    chosen = list(groups)
    total = sum(done.counts[group] for group in chosen)
    if not total:
        return Cell(None)
    return Cell(sum(done.replaced[key][group] * done.counts[group] for group in chosen) / total, form=".0%")


def _main(done: Compared, metric: str, printed: PrintedColumns | None) -> StudyTable:
    clean = done.cell(metric, None, None if printed is None else printed.clean)
    rows: list[Line] = [["not private", *[None] * 2, clean, *[None] * 8]]
    for reading, row in _rows(done):
        polar, laplace, uniform = (
            Configuration(reading, row, scheme) for scheme in (POLAR, LAPLACE, UNIFORM)
        )
        beside = printed if reading == CODE else None
        known = reading == CODE
        rows.append(
            [
                reading,
                "{" + ", ".join(f"{value:g}" for value in PAPER_ROWS[row - 1]) + "}",
                f"{done.spent[polar]:.0f}",
                done.cell(metric, polar, None if beside is None else beside.polar[row - 1]),
                done.cell(metric, laplace),
                done.difference(metric, polar, laplace),
                done.cell(
                    metric,
                    Configuration(reading, row, PUBLISHED),
                    None if beside is None else beside.laplace[row - 1],
                )
                if known
                else None,
                done.cell(metric, uniform),
                done.difference(metric, polar, uniform),
                _share(done, polar, SENSITIVE),
                _share(done, uniform, SENSITIVE),
                f"{_percent(done, polar)} / {_percent(done, uniform)}",
            ]
        )
    columns = [
        "kappa",
        "budgets",
        "mean kappa",
        "STAMP, polar (printed)",
        "STAMP, Laplace, same metric",
        "polar - Laplace",
        "Laplace, published code (printed)",
        "uniform, polar",
        "STAMP - uniform",
        "sensitive replaced, STAMP",
        "uniform",
        "others replaced, STAMP / uniform",
    ]
    return StudyTable(f"{metric.capitalize()} at the paper's budgets", columns, rows, _note(done))


def _percent(done: Compared, key: Configuration) -> str:
    value = _share(done, key, OTHERS).value
    return "–" if value is None else f"{value:.0%}"


def _note(done: Compared) -> str:
    words = ", ".join(f"{done.counts[group]:,} {group.title}" for group in Group)
    vectors = VECTORS.get(done.vocabulary.name, done.vocabulary.name)
    return (
        f"{len(done.texts.texts)} texts; {done.texts.how}. Words: {words}. {vectors}, "
        f"{done.vocabulary.dim} dimensions (the paper: GPT-2, 768), threshold {done.threshold:g}. "
        "`uniform` gives every word the mean budget. Differences are taken text by text. Each text has noise "
        "of its own, so that intervals over texts hold what noise adds. Rewriting alone changes a text a "
        "little: signs between sensitive words become spaces. Printed figures stand in the rows of the "
        "published code."
    )


def _exact(done: Compared) -> StudyTable:
    rows: list[Line] = [
        [
            reading,
            row,
            *(
                done.cell("exact match", Configuration(reading, row, scheme))
                for scheme in (POLAR, LAPLACE, UNIFORM)
            ),
        ]
        for reading, row in _rows(done)
    ]
    columns = ["kappa", "row", "STAMP, polar", "STAMP, Laplace, same metric", "uniform, polar"]
    clean = done.cell("exact match", None)
    return StudyTable("Exact match", columns, rows, f"Not private: {clean.value:.3f}. The paper prints none.")


def _split(done: Compared, metric: str, inside: np.ndarray) -> StudyTable:
    rows: list[Line] = []
    for reading, row in _rows(done):
        pair = (Configuration(reading, row, POLAR), Configuration(reading, row, UNIFORM))
        rows.append(
            [
                reading,
                row,
                done.difference(metric, *pair, inside),
                done.difference(metric, *pair, ~inside),
            ]
        )
    columns = [
        "kappa",
        "row",
        f"answer sensitive ({int(inside.sum())})",
        f"answer not sensitive ({int((~inside).sum())})",
    ]
    return StudyTable(
        f"STAMP - uniform in {metric}, by where the answer stands",
        columns,
        rows,
        "An answer counts as sensitive when every right one touches a sensitive span.",
    )


def _figure(done: Compared, name: str, metric: str, of: str) -> Picture:
    labels = {POLAR: "STAMP, polar", LAPLACE: "STAMP, Laplace", UNIFORM: "uniform, polar"}
    lines = []
    for scheme, label in labels.items():
        keys = sorted((key for key in done.spent if key.scheme == scheme), key=lambda key: done.spent[key])
        cells = [done.cell(metric, key) for key in keys]
        lines.append(
            Curve(
                label,
                [done.spent[key] for key in keys],
                [cell.value or 0.0 for cell in cells],
                [cell.low or 0.0 for cell in cells],
                [cell.high or 0.0 for cell in cells],
            )
        )
    shown = f"{name}, {of}" if of else name
    svg = curves(
        lines,
        title=f"{shown}: {metric} over the mean budget of a word",
        x_label="mean kappa of a word (log scale)",
        y_label=metric,
        x_log=True,
    )
    file = f"stamp-{name}{'-lm' if of else ''}.svg"
    return Picture(file, svg, f"{shown}: {metric} over the mean budget of a word")


def _findings(done: Compared, name: str, metric: str, of: str) -> list[Finding]:
    printed = PRINTED.get(name)
    published = [(CODE, done.pooled(metric, CODE, POLAR, PUBLISHED))]
    laplace = [(reading, done.pooled(metric, reading, POLAR, LAPLACE)) for reading in _readings(done)]
    uniform = [(reading, done.pooled(metric, reading, POLAR, UNIFORM)) for reading in _readings(done)]
    higher = sum(p > q for p, q in zip(printed.polar, printed.laplace, strict=True)) if printed else 0
    shown = f"{name}, {of}" if of else name
    label = f"Table 1, {shown}"
    return [
        Finding(
            label,
            "polar beats the published Laplace",
            f"{higher} of 5 rows" if printed else "no figures",
            said(published),
            direction(published),
            "" if direction(published) else "too few texts to tell",
        ),
        Finding(
            label,
            "polar beats Laplace at the same epsilon in the same metric",
            "claimed; not what was run",
            said(laplace),
            direction(laplace),
            "" if direction(laplace) else _AS_STRONG,
        ),
        Finding(
            f"Figure 6, {shown}",
            "STAMP is at or above uniform at the same mean budget of a token",
            "above everywhere",
            said(uniform),
            direction(uniform),
            _why(done, metric, direction(uniform)),
        ),
    ]


_AS_STRONG = (
    "the two are as strong: Laplace keeps a cosine of 1/sqrt(1 + (d/epsilon)^2), polar "
    "(sqrt(d^2 + 4 epsilon^2) - d)/(2 epsilon), a little less; the Laplace of the published code adds noise "
    "to each coordinate by the range of the whole table, many times as much"
)


def _why(done: Compared, metric: str, same: bool | None) -> str:
    if same is not False:
        return "" if same else "too few texts, or too few sensitive words in them, to tell"
    inside = done.texts.answer_inside
    if inside is None:
        return "what STAMP gives to some words it takes from sensitive ones, and those tell the class as well"
    parts = [
        ", ".join(
            f"{done.pooled(metric, reading, POLAR, UNIFORM, chosen).value or 0:+.3f}"
            for reading in _readings(done)
        )
        for chosen in (inside, ~inside)
    ]
    return (
        f"answers are often what is sensitive, and get the least: {parts[0]} where they are, "
        f"{parts[1]} where they are not"
    )


def _readings(done: Compared) -> list[str]:
    return list(dict.fromkeys(key.reading for key in done.spent))


def direction(cells: Sequence[tuple[str, Cell]]) -> bool | None:
    """False where any difference is below 0 for certain, True where any is above and none below."""
    if any(cell.high is not None and cell.high < 0 for _, cell in cells):
        return False
    return True if any(cell.low is not None and cell.low > 0 for _, cell in cells) else None


def said(cells: Sequence[tuple[str, Cell]]) -> str:
    """Differences with their intervals, each after its reading."""
    return "; ".join(
        f"{cell.value:+.3f} [{cell.low:+.3f}, {cell.high:+.3f}] at {reading}"
        if cell.value is not None and cell.low is not None and cell.high is not None
        else f"unknown at {reading}"
        for reading, cell in cells
    )
