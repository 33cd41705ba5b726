"""Figures 5 and 6 of STAMP: the threshold of importance, and how many groups are blurred."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.embedders.base import Embedder
from sfumato.mechanisms.base import one_blas_thread
from sfumato.text import Budgets, Group, WordVectors
from sfumato.text.importance import SWEEP
from sfumato_research.stamp.rows import (
    CODE,
    READINGS,
    decoder_for,
    mean_cell,
    pieces,
    quiet_source,
    rewriter,
    rewritten,
)
from sfumato_research.stamp.sets import Texts, classes, squad
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.data import encoder
from sfumato_research.studies.draw import Curve, curves
from sfumato_research.text.sweep import SweepRow, sweep

THRESHOLDS = (0.1, 0.2, *SWEEP)
"""The paper's 0.3 to 0.7, and two more, because cosines of these vectors are smaller."""
ROWS = (1, 3)
"""Rows of the paper's budgets; it does not say which its figure 5 has."""
LEVELS = (20.0, 60.0, 100.0, 150.0)
NO_NOISE = 1e5
"""Sensitive words are never copied as they are; at this budget next to none is replaced."""
NESTED: Mapping[str, tuple[Group, ...]] = {
    "group 2": (Group.SENSITIVE,),
    "groups 1, 2": (Group.SENSITIVE, Group.SENSITIVE_IMPORTANT),
    "groups 1, 2, 4": (Group.SENSITIVE, Group.SENSITIVE_IMPORTANT, Group.OTHER),
    "all (uniform)": tuple(Group),
}


def threshold(setting: Setting) -> StudyOutcome:
    """Figure 5 on contexts of SQuAD: the cosine between a text and its private form."""
    with one_blas_thread():
        return figure_five(setting, squad(setting))


def figure_five(
    setting: Setting, texts: Texts, vocabulary: WordVectors | None = None, embedder: Embedder | None = None
) -> StudyOutcome:
    """The same on any texts and words, compared by any encoder."""
    chosen = slice(setting.pick(30, 8))
    compared = embedder or encoder(setting)
    machine = rewriter(vocabulary or pieces(), decoder=decoder_for(setting.device))
    found: dict[int, list[SweepRow]] = {}
    for row in ROWS:
        setting.on_step(f"figure 5 row {row}")
        found[row] = sweep(
            machine.with_budgets(Budgets.paper(row).scaled(READINGS[CODE])),
            texts.texts[chosen],
            compared,
            tasks=texts.tasks[chosen],
            spans=texts.spans[chosen],
            thresholds=THRESHOLDS,
            rng=quiet_source(setting.seed),
        )
    rows = [
        [
            f"{one.threshold:g}",
            Cell(one.important, form=".1%"),
            *(
                cell
                for row in ROWS
                for cell in (_with_error(found[row][place]), f"{found[row][place].mean_epsilon:.0f}")
            ),
        ]
        for place, one in enumerate(found[ROWS[0]])
    ]
    heads = [head for row in ROWS for head in (f"cosine, row {row}", "mean kappa")]
    note = (
        f"{len(texts.texts[chosen])} contexts, kappa = {CODE}; cosine of {compared.name} between a context "
        "and its private form, two standard errors either side. A lower threshold also spends more."
    )
    lines = [
        Curve(
            f"budgets, row {row}",
            [one.threshold for one in each],
            [one.cosine for one in each],
            [one.cosine - 2 * one.error for one in each],
            [one.cosine + 2 * one.error for one in each],
        )
        for row, each in found.items()
    ]
    title = "Figure 5: cosine of text and private text over the threshold"
    svg = curves(lines, title=title, x_label="threshold of importance", y_label="cosine")
    table = StudyTable("Threshold of importance", ["threshold", "important words", *heads], rows, note)
    return StudyOutcome([table], [Picture("stamp-threshold.svg", svg, title)], [_stable(found)])


def _with_error(row: SweepRow) -> Cell:
    return Cell(row.cosine, row.cosine - 2 * row.error, row.cosine + 2 * row.error)


def _stable(found: Mapping[int, Sequence[SweepRow]]) -> Finding:
    parts, flat = [], []
    for row, each in found.items():
        at = {one.threshold: one for one in each}
        change = abs(at[0.7].cosine - at[0.5].cosine)
        flat.append(change <= 2 * math.hypot(at[0.5].error, at[0.7].error))
        parts.append(f"row {row}: {at[0.3].cosine:.3f}, {at[0.5].cosine:.3f}, {at[0.7].cosine:.3f}")
    share = next(one.important for one in found[ROWS[0]] if one.threshold == 0.5)
    return Finding(
        "Figure 5",
        "utility is stable from a threshold of about 0.5",
        "stable around 0.5",
        f"at 0.3, 0.5, 0.7: {'; '.join(parts)}; at 0.5 {share:.1%} of words are important",
        all(flat),
        "" if all(flat) else "still moving between 0.5 and 0.7",
    )


def groups(setting: Setting) -> StudyOutcome:
    """Figure 6: the same budget for every blurred word, with one, two, three and all groups blurred."""
    with one_blas_thread():
        sets = {"squad": squad(setting), "agnews": classes(setting, "ag_news")}
        outcomes = [figure_six(setting, name, texts) for name, texts in sets.items()]
    return StudyOutcome(
        [table for each in outcomes for table in each.tables],
        [figure for each in outcomes for figure in each.figures],
        [finding for each in outcomes for finding in each.findings],
    )


def figure_six(
    setting: Setting, name: str, texts: Texts, vocabulary: WordVectors | None = None
) -> StudyOutcome:
    """One set's panel of the figure."""
    machine = rewriter(vocabulary or pieces(), decoder=decoder_for(setting.device))
    source = quiet_source(setting.seed)
    levels = setting.pick(LEVELS, LEVELS[::2])
    made: dict[str, list[str]] = {"clean": list(texts.texts)}
    for epsilon in levels:
        setting.on_step(f"figure 6 {name} {epsilon:g}")
        for label, blurred in NESTED.items():
            spent = [epsilon if g in blurred else NO_NOISE if g.sensitive else math.inf for g in Group]
            made[f"{epsilon:g}|{label}"] = rewritten(machine, Budgets(*spent), texts, source)[0]
    scores = texts.score(made)[texts.metric]
    cells = {key: mean_cell(values, texts.groups) for key, values in scores.items()}
    rows: list[Sequence[Cell | str | float | int | None]] = [
        [f"{epsilon:g}", *(cells[f"{epsilon:g}|{label}"] for label in NESTED), cells["clean"]]
        for epsilon in levels
    ]
    lines = [
        Curve(
            label,
            levels,
            [cells[f"{epsilon:g}|{label}"].value or 0.0 for epsilon in levels],
            [cells[f"{epsilon:g}|{label}"].low or 0.0 for epsilon in levels],
            [cells[f"{epsilon:g}|{label}"].high or 0.0 for epsilon in levels],
        )
        for label in NESTED
    ]
    title = f"Figure 6, {name}: {texts.metric} with more and more groups blurred"
    svg = curves(lines, title=title, x_label="kappa of every blurred word", y_label=texts.metric)
    table = StudyTable(
        title,
        ["kappa", *NESTED, "not private"],
        rows,
        f"{len(texts.texts)} texts; {texts.how}. Every blurred word has the budget of its line, the others "
        "are as they were: budgets of a word are matched, those of a text are not.",
    )
    figure = Picture(f"stamp-groups-{name}.svg", svg, title)
    return StudyOutcome([table], [figure], [_nested(name, texts, scores, levels)])


def _nested(name: str, texts: Texts, scores: Mapping[str, np.ndarray], levels: Sequence[float]) -> Finding:
    steps = []
    for epsilon in levels:
        each = [scores[f"{epsilon:g}|{label}"] for label in NESTED]
        steps += [
            mean_cell(after - before, texts.groups) for before, after in zip(each, each[1:], strict=False)
        ]
    up = sum(cell.low is not None and cell.low > 0 for cell in steps)
    down = sum(cell.high is not None and cell.high < 0 for cell in steps)
    return Finding(
        f"Figure 6, {name}",
        "utility falls as more groups are blurred; uniform is the lowest",
        "falls monotonically",
        f"of {len(steps)} steps to one more group {down} go down for certain, {up} go up",
        down > 0 and up == 0,
        "" if down and not up else "blurring a group gains or loses too little to tell",
    )
