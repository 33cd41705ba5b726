"""Rows of the leaderboard: from cells to figures with intervals, dates and the command of each; as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from sfumato_research.attackers.attackers import QUESTIONS
from sfumato_research.attackers.figures import CellFigures
from sfumato_research.attackers.knowing import KEPT, MEMBER
from sfumato_research.frontier.nested import Nested
from sfumato_research.leaderboard.cells import BoardCells, typed
from sfumato_research.leaderboard.ground import BoardGround
from sfumato_research.studies.base import Cell, Entry, StudyTable
from sfumato_research.studies.choice import short

BOARD = "leaderboard"


@dataclass(frozen=True, slots=True)
class BoardRow:
    """One encoder, defence, attack and question."""

    concept: str
    encoder: str
    defence: str
    attack: str
    question: str
    figure: Cell
    clean: Cell
    floor: Cell
    prior: Cell
    counts: str
    """Whether the attack works on this encoder at all: yes or no; "" of what is no attack, or where no
    control was published."""
    texts: int | None
    date: str
    minutes: float | None
    """Of processor, for this cell alone; None where it is not known."""
    study: str
    command: str

    @property
    def key(self) -> tuple[str, ...]:
        """What it is a row of."""
        return (self.study, self.concept, self.encoder, self.defence, self.attack, self.question)


COLUMNS = tuple(each.name for each in fields(BoardRow))


def rows_of(cells: BoardCells) -> list[BoardRow]:
    """A row for every chosen cell and question of it that was measured."""
    ground, figures = cells.ground, CellFigures(cells)
    assert isinstance(ground, BoardGround)
    made = []
    for label in cells.defences:
        for name in cells.attacks:
            cell = cells.get((name, label, 0))
            for question in cells.table[name].answers if cell is not None else ():
                figure = figures.figure(name, label, question)
                if cell is None or figure is None:
                    continue
                useful = question == KEPT
                works = "" if useful else ("yes" if figures.works(name, question) else "no")
                made.append(
                    BoardRow(
                        ground.name, ground.shown, typed(label), short(name), QUESTIONS[question],
                        told(figure), told(figures.control(name, question)),
                        told(None if useful else figures.floor(name, question)),
                        told(None if useful else figures.prior(name, question), ends=False),
                        works, asked(cell["figures"][question], question), str(cell.get("date", "")),
                        round(float(cell["processor_seconds"]) / 60, 2), BOARD, command(ground, label, name),
                    )
                )  # fmt: skip
    return made


def told(found: Nested | None, *, ends: bool = True) -> Cell:
    """A figure as it is written down."""
    if found is None:
        return Cell(None, form=".2f")
    low, high = (found.interval if ends else None) or (None, None)
    return Cell(round(found.value, 4), _short(low), _short(high), ".2f")


def asked(figures: Mapping[str, Any], question: str) -> int:
    """How many texts a figure is of."""
    return len(figures["scores" if question == MEMBER else "value" if "value" in figures else "found"])


def command(ground: BoardGround, label: str, attack: str) -> str:
    """What runs a row again, in a copy of the repository; DATA and FOLDER are the reader's own."""
    encoder = ground.encoder if ground.shown == ground.encoder else f"FOLDER/{ground.shown}"
    words = ["sfumato", "study", BOARD, "--data", "DATA", "--part", ground.name, "--encoder", encoder]
    words += ["--defence", typed(label), "--attack", short(attack)]
    seed = ground.setting.seed
    return shlex.join(
        [*words, *(["--seed", str(seed)] if seed else []), *ground.setting.pick([], ["--quick"])]
    )


def as_table(title: str, rows: Iterable[BoardRow], note: str) -> StudyTable:
    """Rows as a study writes them."""
    made: list[Sequence[Entry]] = [[getattr(row, name) for name in COLUMNS] for row in rows]
    return StudyTable(title, COLUMNS, made, note)


def from_part(part: Mapping[str, Any]) -> list[BoardRow]:
    """The rows of a part as it was written."""
    table = part["tables"][0]
    found = []
    for row in table["rows"]:
        named: Any = dict(zip(table["columns"], row, strict=True))
        cells = {name: Cell(**each) for name, each in named.items() if isinstance(each, dict)}
        found.append(BoardRow(**{**named, **cells}))
    return found


def merged(before: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    """What was run now in place of the same rows before, and the others as they were."""
    fresh = {row.key for row in from_part(now)}
    table = now["tables"][0]
    kept = [
        raw
        for raw, row in zip(before["tables"][0]["rows"], from_part(before), strict=True)
        if row.key not in fresh
    ]
    rows = sorted([*kept, *table["rows"]], key=lambda row: [str(each) for each in row[:5]])
    return {**now, "tables": [{**table, "rows": rows}]}


def _short(end: float | None) -> float | None:
    return None if end is None else round(float(end), 4)
