"""Figure 6 of STAMP at budgets that are matched in every text: the same total, spread by groups or evenly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.randomness import Source
from sfumato.text import Budgets, Group, Rewriter
from sfumato.text.grouping import GroupFunction
from sfumato.text.groups import Grouped
from sfumato.types import Floats
from sfumato_research.stamp.rarity import RarityMap
from sfumato_research.stamp.rows import decoder_for, mean_cell, quiet_source, rewriter, tokens_of
from sfumato_research.stamp.sets import Made, Texts
from sfumato_research.stamp.table import direction, said
from sfumato_research.stamp.tables import WordTable
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.draw import Curve, curves

LEVELS = (40.0, 60.0, 80.0, 100.0, 130.0, 180.0)
"""Mean kappa of a token over the set."""
DRAWS = 3
"""Noise is drawn so often for each text, as in the paper's three runs; scores are averaged."""
COSINE, RARE = "by cosine", "by rarity"

Row = Sequence[Cell | str | float | int | None]


@dataclass(frozen=True, slots=True, eq=False)
class MatchedPair:
    """Scores of every text under a group map, and under even budgets of the same total in every text."""

    groups: Mapping[float, Floats]
    even: Mapping[float, Floats]
    important: float
    """Share of words that the map calls important."""

    def difference(
        self, texts: Texts, level: float | None = None, inside: NDArray[np.bool_] | None = None
    ) -> Cell:
        """Groups less even budgets, text by text; pooled over levels for None."""
        levels = list(self.groups) if level is None else [level]
        apart = np.mean([self.groups[each] - self.even[each] for each in levels], axis=0)
        chosen = np.ones(len(apart), bool) if inside is None else inside
        return mean_cell(apart[chosen], texts.groups[chosen], form="+.3f")


def matched(setting: Setting, name: str, texts: Texts, table: WordTable, rare: bool = True) -> StudyOutcome:
    """One set's panel, with MiniLM's vectors or another's; `rare` adds the map by rarity."""
    machine = rewriter(table.vocabulary, threshold=table.threshold, decoder=decoder_for(setting.device))
    maps: dict[str, Rewriter] = {COSINE: machine}
    if rare:
        maps[RARE] = machine.with_grouping(_rarity(machine, texts))
    found = {label: _measured(setting, f"{name}, {label}", one, texts) for label, one in maps.items()}
    shown = f"{name}, {table.of}" if table.of else name
    file = f"stamp-matched-{name}{'-lm' if table.of else ''}"
    figures = [_curves(found[COSINE], texts, shown, file), _differences(found, texts, shown, file)]
    tables = [_table(found, texts, table, shown)]
    if texts.answer_inside is not None:
        tables.append(_split(found, texts, shown))
    return StudyOutcome(
        tables, figures, [_finding(each, texts, shown, label) for label, each in found.items()]
    )


def _rarity(machine: Rewriter, texts: Texts) -> GroupFunction:
    grouped = list(machine.groups.group(texts.texts, texts.tasks, texts.spans))
    return RarityMap.fit(texts.others, texts.texts, _important(grouped))


def _important(grouped: Sequence[Grouped]) -> float:
    groups = [group for each in grouped for group in each.groups]
    return sum(group.important for group in groups) / max(1, len(groups))


def _measured(setting: Setting, name: str, machine: Rewriter, texts: Texts) -> MatchedPair:
    grouped = list(machine.groups.group(texts.texts, texts.tasks, texts.spans))
    tokens = [tokens_of(machine, each) for each in grouped]
    total = sum(tokens, Counter[Group]())
    share = Budgets.proportional(1.0).mean(total)
    source = quiet_source(setting.seed)
    levels, draws = setting.pick(LEVELS, LEVELS[1::3]), setting.pick(DRAWS, 1)
    made: dict[str, list[str]] = {}
    for level in levels:
        setting.on_step(f"matched {name} {level:g}")
        budgets = Budgets.proportional(level / share)
        for draw in range(draws):
            made[f"{level:g}|groups|{draw}"] = _written(machine, texts, [budgets] * len(tokens), source)
            even = [evenly(budgets, own) for own in tokens]
            made[f"{level:g}|even|{draw}"] = _written(machine, texts, even, source)
    setting.on_step(f"matched {name} scores")
    scores = texts.score(made)[texts.metric]

    def mean(level: float, kind: str) -> Floats:
        return np.asarray(np.mean([scores[f"{level:g}|{kind}|{draw}"] for draw in range(draws)], axis=0))

    return MatchedPair(
        {level: mean(level, "groups") for level in levels},
        {level: mean(level, "even") for level in levels},
        _important(grouped),
    )


def evenly(budgets: Budgets, tokens: Counter[Group]) -> Budgets:
    """The same total for a text with so many tokens of each group, spread over all of them alike."""
    return Budgets.uniform(budgets.mean(tokens)) if tokens else budgets


def _written(machine: Rewriter, texts: Texts, budgets: Sequence[Budgets], source: Source) -> list[str]:
    """Private texts, each with its own budgets; those that share theirs are rewritten together."""
    rows: dict[Budgets, list[int]] = {}
    for row, each in enumerate(budgets):
        rows.setdefault(each, []).append(row)
    out = [""] * len(budgets)
    for each, own in rows.items():
        done = machine.with_budgets(each).rewrite(
            [texts.texts[row] for row in own],
            tasks=[texts.tasks[row] for row in own],
            spans=[texts.spans[row] for row in own],
            rng=source,
            threads=1,
        )
        for row, one in zip(own, done, strict=True):
            out[row] = one.text
    return out


def _table(found: Mapping[str, MatchedPair], texts: Texts, table: WordTable, shown: str) -> StudyTable:
    clean = mean_cell(texts.score(_clean(texts))[texts.metric]["clean"], texts.groups)
    rows: list[Row] = []
    for label, pair in found.items():
        for level in pair.groups:
            cells = [mean_cell(side[level], texts.groups) for side in (pair.groups, pair.even)]
            rows.append([label, f"{level:g}", *cells, pair.difference(texts, level), clean])
        rows.append([label, "all levels", None, None, pair.difference(texts), clean])
    shares = ", ".join(f"{label} {pair.important:.1%}" for label, pair in found.items())
    note = (
        f"{len(texts.texts)} texts; {texts.how}. STAMP gives the groups 3, 1, 9 and 7 parts, scaled to the "
        "mean of its line; `even` gives every token of a text the mean that STAMP spent on that text: "
        f"totals are the same, text by text. {DRAWS} draws of noise a text in a full run, averaged; 95 % "
        f"intervals over texts. {table.vocabulary.name}, {table.vocabulary.dim} dimensions, threshold "
        f"{table.threshold:g}. Words that are important: {shares}."
    )
    columns = ["group map", "mean kappa", "STAMP", "even", "STAMP - even", "not private"]
    return StudyTable(f"Figure 6 at matched totals, {shown}: {texts.metric}", columns, rows, note)


def _clean(texts: Texts) -> Made:
    return {"clean": texts.texts}


def _split(found: Mapping[str, MatchedPair], texts: Texts, shown: str) -> StudyTable:
    inside = np.asarray(texts.answer_inside, bool)
    rows: list[Row] = []
    for label, pair in found.items():
        for level in (*pair.groups, None):
            differences = [pair.difference(texts, level, side) for side in (inside, ~inside)]
            rows.append([label, "all levels" if level is None else f"{level:g}", *differences])
    columns = [
        "group map",
        "mean kappa",
        f"answer sensitive ({int(inside.sum())})",
        f"answer not sensitive ({int((~inside).sum())})",
    ]
    return StudyTable(f"STAMP - even at matched totals, {shown}, by where the answer stands", columns, rows)


def _line(label: str, levels: Sequence[float], cell: Callable[[float], Cell]) -> Curve:
    cells = [cell(level) for level in levels]
    return Curve(
        label,
        levels,
        [each.value or 0.0 for each in cells],
        [each.low or 0.0 for each in cells],
        [each.high or 0.0 for each in cells],
    )


def _curves(pair: MatchedPair, texts: Texts, shown: str, file: str) -> Picture:
    levels = list(pair.groups)
    lines = [
        _line("STAMP", levels, lambda level: mean_cell(pair.groups[level], texts.groups)),
        _line("even budgets", levels, lambda level: mean_cell(pair.even[level], texts.groups)),
    ]
    title = f"Figure 6, {shown}: {texts.metric} at the same total in every text"
    svg = curves(
        lines, title=title, x_label="mean kappa of a token (log scale)", y_label=texts.metric, x_log=True
    )
    return Picture(f"{file}.svg", svg, title)


def _differences(found: Mapping[str, MatchedPair], texts: Texts, shown: str, file: str) -> Picture:
    def line(label: str, pair: MatchedPair) -> Curve:
        return _line(f"STAMP {label} - even", list(pair.groups), lambda level: pair.difference(texts, level))

    lines = [line(label, pair) for label, pair in found.items()]
    title = f"Figure 6, {shown}: STAMP less even budgets, text by text"
    svg = curves(
        lines,
        title=title,
        x_label="mean kappa of a token (log scale)",
        y_label=f"difference in {texts.metric}",
        x_log=True,
    )
    return Picture(f"{file}-difference.svg", svg, title)


def _finding(pair: MatchedPair, texts: Texts, shown: str, label: str) -> Finding:
    each = [(f"kappa {level:g}", pair.difference(texts, level)) for level in pair.groups]
    pooled = pair.difference(texts)
    same = judged([cell for _, cell in each], pooled)
    return Finding(
        f"Figure 6, {shown}",
        f"STAMP ({label}) is at or above even budgets of the same total in every text",
        "above everywhere",
        f"{said([('all levels', pooled)])}; below for certain at "
        f"{sum(cell.high is not None and cell.high < 0 for _, cell in each)} of {len(each)} levels, above at "
        f"{sum(cell.low is not None and cell.low > 0 for _, cell in each)}",
        same,
        "" if same else _why(pair, texts),
    )


def _why(pair: MatchedPair, texts: Texts) -> str:
    inside = texts.answer_inside
    if inside is None:
        return "what STAMP gives to some words it takes from sensitive ones, and those tell the class as well"
    parts = [
        said([(where, pair.difference(texts, None, side))])
        for where, side in (("answers that are sensitive", inside), ("others", ~inside))
    ]
    return "; ".join(parts)


def judged(levels: Sequence[Cell], pooled: Cell) -> bool | None:
    """The claim "at or above": refuted by a pooled interval below 0, held where no level's lies below."""
    if direction([("", pooled)]) is False:
        return False
    return None if any(cell.high is not None and cell.high < 0 for cell in levels) else True
