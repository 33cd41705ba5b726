"""The table of attacks and releases, who is strongest in each column, and what the protocol claimed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato_research.attackers.attackers import ATTACKERS, QUESTIONS
from sfumato_research.attackers.cells import ON_CPU, SECOND, Cells
from sfumato_research.attackers.figures import CellFigures
from sfumato_research.attackers.knowing import MEMBER
from sfumato_research.attackers.naming import NAMED, WRITTEN
from sfumato_research.attackers.releases import COLUMNS, LAPLACE
from sfumato_research.attackers.weights import one_version
from sfumato_research.frontier.nested import Nested
from sfumato_research.studies.base import Cell, Entry, StudyTable

MOST_MINUTES = 10
"""What a CPU alone should not need more than."""


def columns_of(cells: Cells) -> list[str]:
    """The releases that were attacked."""
    there = {key[1] for key in cells.wanted() if cells.get(key) is not None}
    return [label for label in COLUMNS if label in there]


def rows_of(cells: Cells) -> list[tuple[str, str]]:
    """Question and attack of each row that was measured."""
    there = {key[0] for key in cells.wanted() if (cell := cells.get(key)) is not None and cell["figures"]}
    return [
        (question, row)
        for question in QUESTIONS
        for row, attacker in ATTACKERS.items()
        if row in there and question in attacker.answers
    ]


def main_table(title: str, cells: Cells) -> StudyTable:
    """Attacks x releases."""
    figures, columns = CellFigures(cells), columns_of(cells)
    best = {(each, question): figures.strongest(each, question) for each in columns for question in QUESTIONS}
    made: list[list[Entry]] = []
    for question, row in rows_of(cells):
        spent = figures.minutes(row)
        made.append(
            [
                QUESTIONS[question],
                figures.called(row)
                if figures.works(row, question)
                else f"{figures.called(row)} (control too low)",
                ATTACKERS[row].holds,
                _cell(figures.control(row, question)),
                _cell(figures.floor(row, question)),
                _cell(figures.prior(row, question), ends=False),
                *(
                    _cell(figures.figure(row, each, question), best[each, question] == row)
                    for each in columns
                ),
                *(Cell(each, form=".2f") for each in spent),
            ]
        )
    head = ["question", "attack", "he holds", "clean: control", "floor", "prior"]
    return StudyTable(title, [*head, *columns, "CPU minutes", "GPU minutes"], made, _note(cells))


def strongest_table(title: str, cells: Cells) -> StudyTable:
    """The strongest attack of each column and question."""
    figures = CellFigures(cells)
    made: list[list[Entry]] = []
    for column in columns_of(cells):
        for question, name in QUESTIONS.items():
            row = figures.strongest(column, question)
            if row is None:
                continue
            absolute, excess = (
                (None, None) if question == MEMBER else
                (figures.relative(row, column, question, base) for base in ("prior", "floor"))
            )  # fmt: skip
            told = figures.caught(row, column) if question == MEMBER else None
            equals = [figures.called(each) for each in figures.as_strong(column, question, row)]
            name_of = figures.called(row)
            shown = f"{name_of} (of those run)" if figures.untried(column, question) else name_of
            made.append(
                [
                    column, name, shown, _cell(figures.figure(row, column, question)),
                    _cell(absolute, form=".0%"), _cell(excess, form=".0%"), Cell(told, form=".0%"),
                    ", ".join(equals) or "–",
                ]
            )  # fmt: skip
    head = ["release", "question", "strongest", "figure", "absolute", "excess", "told at 1 % false alarms"]
    return StudyTable(title, [*head, "as strong"], made, _STRONGEST)


def alone_table(title: str, cells: Cells) -> StudyTable:
    """What attacks take on one core of a CPU, where that is not how the table was made."""
    figures, made = CellFigures(cells), list[list[Entry]]()
    for row in dict.fromkeys(key[0] for key in cells.alone()):
        cell = cells.get((row, LAPLACE, ON_CPU))
        if cell is None or not cell["figures"]:
            continue
        minutes = cell["processor_seconds"] / 60
        for question in (each for each in QUESTIONS if each in cell["figures"]):
            made.append(
                [
                    ATTACKERS[row].on_cpu or row, QUESTIONS[question], _rows_read(cell),
                    _cell(figures.alone(row, question)),
                    _cell(figures.figure(row, LAPLACE, question)), Cell(minutes, form=".1f"),
                    "yes" if minutes <= MOST_MINUTES else "**no**",
                ]
            )  # fmt: skip
    head = ["attack", "question", "sentences read", "on a CPU", "in the table", "CPU minutes"]
    return StudyTable(title, [*head, f"within {MOST_MINUTES} minutes"], made, _ALONE)


def repeats_table(title: str, cells: Cells) -> StudyTable:
    """Whether the same seed gives the same figures of every row."""
    figures, made = CellFigures(cells), list[list[Entry]]()
    for row in dict.fromkeys(key[0] for key in cells.wanted()):
        one, two = cells.get((row, LAPLACE, 0)), cells.get((row, LAPLACE, SECOND))
        if one is None or two is None or not one["figures"]:
            continue
        same = one["figures"] == two["figures"]
        made.append([figures.called(row), one["device"], two["device"], "yes" if same else "**no**"])
    return StudyTable(title, ["attack", "first", "second", "same on every row"], made, _REPEATS)


def left_out(cells: Cells) -> StudyTable:
    """Why some cells are empty."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for key in cells.wanted():
        cell = cells.get(key)
        if cell is not None and cell["left_out"] and not key[2]:
            reasons.setdefault((key[0], cell["left_out"]), []).append(key[1])
    figures = CellFigures(cells)
    made: list[list[Entry]] = [
        [figures.called(row), ", ".join(where), why] for (row, why), where in reasons.items()
    ]
    return StudyTable("Empty cells", ["attack", "release", "because"], made)


def _cell(found: Nested | None, strong: bool = False, *, form: str = ".2f", ends: bool = True) -> Cell:
    if found is None:
        return Cell(None)
    low, high = (found.interval if ends else None) or (None, None)
    return Cell(found.value, low, high, form, strong=strong)


def _note(cells: Cells) -> str:
    ground = cells.ground
    return (
        f"{len(ground.asked)} attacked sentences, the same for every attack that names terms or writes "
        f"texts{_fewer(cells)}; {ground.linked} releases among {len(ground.known):,} known texts. Bold: the "
        "strongest of its column and question, among attacks that work and were run there. Minutes a "
        f"release, fitting and reading.{_versions(cells)} Intervals: 95 %."
    )


def _fewer(cells: Cells) -> str:
    """Which rows read only the first of them."""
    every, read = len(cells.ground.asked), dict[str, int]()
    for cell in cells.there():
        count = _rows_read(cell) if cell["again"] != ON_CPU else None
        if count is not None:
            read[cell["attack"]] = min(count, read.get(cell["attack"], every))
    figures = CellFigures(cells)
    fewer = ", ".join(f"{count} `{figures.called(row)}`" for row, count in read.items() if count < every)
    return f" (of these the first: {fewer})" if fewer else ""


def _rows_read(cell: Mapping[str, Any]) -> int | None:
    """Sentences that it read, of an attack that names terms or writes texts."""
    found = cell["figures"].get(WRITTEN) or cell["figures"].get(NAMED)
    return None if found is None else len(found["prior"])


def _versions(cells: Cells) -> str:
    said = ", ".join(f"{name} {digest}" for name, digest in one_version(cells).items())
    return f" Ready-made weights by their digest: {said}." if said else ""


_STRONGEST = (
    "Absolute: (released - prior)/(control - prior); excess: the same with the floor. As strong: attacks "
    "whose difference on the rows both read has an interval that holds 0. Of those run: the attack that is "
    "strongest on clean vectors was not run there."
)
_ALONE = (
    f"{LAPLACE}, on one core, with settings for a CPU: fewer sentences, less practice, smaller networks, "
    "fewer corrections. Minutes of processor, fitting and reading."
)
_REPEATS = f"Every attack on {LAPLACE}, twice with the same seed."
