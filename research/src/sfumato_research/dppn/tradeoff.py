"""DPPN, table 1: leakage and utility of suppression beside noise in all directions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato_research.dppn.defences import (
    NAMES,
    described,
    kept,
    levels,
    measured,
    measured_unaware,
    unaware,
)
from sfumato_research.dppn.printed import CLEAN, METHODS, TRADE_OFF
from sfumato_research.sparse.data import BOTH_WAYS, Finder, comparison
from sfumato_research.sparse.tradeoff import FOUND_BY, clean_of, titled
from sfumato_research.studies.base import Cell, Finding, Picture, Setting, StudyOutcome, StudyTable
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.draw import Curve, curves
from sfumato_research.studies.kept import by_cells
from sfumato_research.studies.measured import Measured


@dataclass(frozen=True, slots=True, eq=False)
class _Swept:
    """One data set."""

    name: str
    on: Comparison
    ratios: Mapping[int, float]
    clean: Measured
    aware: Mapping[tuple[int, str], Measured]
    unaware: Mapping[tuple[int, str], Measured]
    finder: Finder = "lists"

    def leaks(self, epsilon: int, method: str) -> float:
        """To an attacker trained on releases."""
        return self.aware[epsilon, method].leakage.released

    def keeps(self, epsilon: int, method: str) -> float:
        """Share of clean utility."""
        return kept(self.aware[epsilon, method])


EPSILONS = (1, 2, 4, 8)
OTHERS = ("stsb", "sts14", "quora", "scifact")


@by_cells
def table1(setting: Setting) -> StudyOutcome:
    """STS12 and FIQA at several noise levels, sensitive words found by lists."""
    swept = [sweep(setting, name) for name in BOTH_WAYS]
    tables = [_table(each, "Table 1") for each in swept]
    pictures = [picture for each in swept for picture in _figures(each, 7)]
    return StudyOutcome(tables, pictures, _findings(swept, "Table 1"))


def table1_by_ner(setting: Setting, name: str) -> StudyOutcome:
    """One of the two sets again, its sensitive words found by NER."""
    swept = sweep(setting, name, "ner")
    found = _findings([swept], "Table 1")
    said = [replace(finding, claim=f"{finding.claim} ({titled(name, 'ner')})") for finding in found]
    return StudyOutcome([_table(swept, "Table 1")], findings=said)


@by_cells
def table7(setting: Setting) -> StudyOutcome:
    """STSB, STS14, Quora, and SciFact in the place of NFCorpus."""
    swept = [sweep(setting, name) for name in OTHERS]
    tables = [_table(each, "Table 7") for each in swept]
    pictures = [picture for each in swept for picture in _figures(each, 8)]
    return StudyOutcome(tables, pictures, _findings(swept, "Table 7"))


def sweep(setting: Setting, name: str, finder: Finder = "lists") -> _Swept:
    """Measure the three at every level, read by an attacker who knows of them and by one who does not."""
    ratios = levels(setting, setting.pick(EPSILONS, (1, 2)))
    on = comparison(setting, name, "minilm", finder)
    naive = unaware(on)
    aware, blind = {}, {}
    for epsilon, ratio in ratios.items():
        for method in METHODS:
            setting.on_step(f"{name}, {finder}, {method}, {epsilon}")
            aware[epsilon, method] = measured(on, method, ratio)
            blind[epsilon, method] = measured_unaware(on, method, ratio, naive)
    return _Swept(name, on, ratios, clean_of(on), aware, blind, finder)


def _table(each: _Swept, number: str) -> StudyTable:
    printed = [number / 100 for number in CLEAN[each.name]]
    lines: list[list[Cell | str | float | None]] = [
        [
            "unprotected", None, None, None, each.clean.leaked(printed[0]), each.clean.spread(),
            each.clean.excess(), None,
            replace(each.clean.confidence, printed=printed[1]), each.clean.useful(printed[2]), None,
        ]
    ]  # fmt: skip
    for epsilon in each.ratios:
        for at, method in enumerate(METHODS):
            found = each.aware[epsilon, method]
            leaked, sure, used = (TRADE_OFF[each.name][epsilon][at + step] / 100 for step in (0, 3, 6))
            lines.append(
                [
                    NAMES[method],
                    epsilon,
                    *described(found),
                    found.leaked(leaked),
                    found.spread(),
                    found.excess(),
                    each.unaware[epsilon, method].leaked(),
                    replace(found.confidence, printed=sure),
                    found.useful(used),
                    found.kept(used / printed[2]),
                ]
            )
    leakage, split, suite = each.clean.leakage, each.on.split, each.on.suite
    metric = each.clean.utility.metric if each.clean.utility else "none"
    note = (
        f"all-MiniLM-L6-v2; {len(split.learn):,} texts learned from, {leakage.rows:,} attacked in "
        f"{leakage.groups:,} groups; {len(split.concept.terms)} {split.concept.name} terms found by "
        f"{FOUND_BY[each.finder]}, one mask for all of them, its top 20 %; control "
        f"{leakage.control:.3f}, floor {leakage.floor:.3f}, prior "
        f"{leakage.prior:.3f}; utility is {metric}; {suite.seeds} attackers, {suite.draws} releases each; "
        f"*sd*: standard deviation of the leakage of {suite.seeds} runs, each an attacker and a "
        "release of its own. "
        "Noise of all three is equally long. *Unaware*: the attacker learned from clean vectors. In "
        "brackets: printed."
    )
    columns = ("release", "printed ε", "noise ratio", "ε of the density", "leakage", "sd", "excess",
               "leakage, unaware", "confidence", "utility", "kept")  # fmt: skip
    return StudyTable(f"{number}, {titled(each.name, each.finder)}", columns, lines, note)


def _figures(each: _Swept, number: int) -> list[Picture]:
    """Leakage, confidence and use over printed epsilon, as figures 7 and 8 have them."""
    made = []
    for what in ("leakage", "confidence", "utility"):
        lines = []
        for method in METHODS:
            cells = [_cell(each.aware[epsilon, method], what) for epsilon in each.ratios]
            lines.append(_line(NAMES[method], list(each.ratios), cells))
        if what == "leakage":
            blind = [each.unaware[epsilon, "dppn"].leaked() for epsilon in each.ratios]
            lines.append(_line("DPPN, unaware", list(each.ratios), blind))
        if what == "utility":
            level, label = _cell(each.clean, what).value or 0.0, "unprotected"
        else:
            level, label = _cell(each.clean, what).value or 0.0, "clean vectors"
        lines.append(Curve(label, [min(each.ratios), max(each.ratios)], [level, level]))
        title = f"Figure {number}. {what.capitalize()} over printed epsilon, {each.name}"
        drawing = curves(lines, title=title, x_label="printed epsilon", y_label=what)
        made.append(Picture(f"dppn-figure{number}-{each.name}-{what}.svg", drawing, title))
    return made


def _cell(found: Measured, what: str) -> Cell:
    return {"leakage": found.leaked(), "confidence": found.confidence, "utility": found.useful()}[what]


def _line(label: str, epsilons: list[int], cells: Sequence[Cell]) -> Curve:
    values = [cell.value or 0.0 for cell in cells]
    if any(cell.low is None or cell.high is None for cell in cells):
        return Curve(label, epsilons, values)
    low, high = ([float(getattr(cell, end)) for cell in cells] for end in ("low", "high"))
    return Curve(label, epsilons, values, low, high)


def _findings(swept: Sequence[_Swept], table: str) -> list[Finding]:
    cells = [(each, epsilon) for each in swept for epsilon in each.ratios]
    leak = np.array([each.leaks(e, "dppn") - each.leaks(e, "laplace") for each, e in cells])
    keep = np.array([each.keeps(e, "dppn") - each.keeps(e, "laplace") for each, e in cells])
    leaked = np.array([(TRADE_OFF[each.name][e][2] - TRADE_OFF[each.name][e][0]) / 100 for each, e in cells])
    useful = np.array(
        [(TRADE_OFF[each.name][e][8] - TRADE_OFF[each.name][e][6]) / CLEAN[each.name][2] for each, e in cells]
    )
    blind = np.array([each.unaware[e, "dppn"].leakage.released for each, e in cells])
    plain = np.array([each.unaware[e, "laplace"].leakage.released for each, e in cells])
    aware = np.array([each.leaks(e, "dppn") for each, e in cells])
    return [
        Finding(
            table,
            "DPPN leaks less than Laplace noise of the same length",
            _gap(leaked, "less"),
            _gap(leak, "less"),
            bool(leak.mean() < 0),
            "" if leak.mean() < 0 else
            "four fifths of the dimensions leave without noise, and an attacker trained on fresh releases "
            "reads those; the paper fine-tunes one reader, which may not have learned to",
        ),
        Finding(
            table,
            "DPPN keeps more utility than Laplace noise of the same length",
            _gap(useful, "more"),
            _gap(keep, "more"),
            bool(keep.mean() > 0),
            "" if keep.mean() > 0 else "noise on fewer axes adds up in cosines; at weak noise all keep the "
            "same",
        ),
        Finding(
            table,
            "the same, read by an attacker who learned from clean vectors and does not know of the defence",
            "its attacker is fine-tuned on releases",
            f"{_gap(blind - plain, 'less')}; DPPN leaks {blind.mean():.3f} to him and {aware.mean():.3f} to "
            "the one who knows, on average",
            bool((blind - plain).mean() < 0),
            "" if (blind - plain).mean() < 0 else "suppression moves vectors to where he still reads them",
        ),
    ]  # fmt: skip


def _gap(values: np.ndarray, way: str) -> str:
    count = int(((values < 0) if way == "less" else (values > 0)).sum())
    return f"{way} in {count} of {len(values)} cells, by {values.mean():+.3f} on average"
