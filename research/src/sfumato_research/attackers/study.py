"""The attackers study: attacks x releases, one table a concept (research/protocol.md)."""

from __future__ import annotations

from functools import partial

from sfumato_research.attackers.attackers import ATTACKERS
from sfumato_research.attackers.cells import Cells
from sfumato_research.attackers.claims import claims
from sfumato_research.attackers.ground import MODEL, Ground
from sfumato_research.attackers.releases import CLEAN, FLOOR, STUDIED
from sfumato_research.attackers.tables import (
    alone_table,
    left_out,
    main_table,
    repeats_table,
    strongest_table,
)
from sfumato_research.frontier.cases import CASES
from sfumato_research.frontier.public import NEEDS
from sfumato_research.studies.base import Setting, Study, StudyOutcome, StudyPart
from sfumato_research.studies.choice import CellChoice, resolve

NAMES = {"place": "Places", "person": "People"}


def table_outcome(setting: Setting, name: str) -> StudyOutcome:
    """Measure what is missing, and tell what came out."""
    cells = Cells(Ground(setting, name))
    cells.measure(*chosen(setting.choice))
    return outcome(cells)


def chosen(choice: CellChoice) -> tuple[list[str], list[str]]:
    """Rows and columns; what is asked of a column is told beside the clean one and the floor."""
    resolve(choice.encoders, (MODEL,), "encoder of this study")
    columns = resolve(choice.defences, STUDIED, "defence")
    beside = [CLEAN, FLOOR] if columns else []
    return resolve(choice.attacks, ATTACKERS, "attack"), list(dict.fromkeys([*columns, *beside]))


def outcome(cells: Cells) -> StudyOutcome:
    """What the cells that are there say."""
    title = NAMES[cells.ground.name]
    tables = [
        main_table(f"{title}: attacks x releases, all-MiniLM-L6-v2", cells),
        strongest_table(f"{title}: the strongest attack of each column", cells),
        alone_table(f"{title}: on a CPU alone", cells),
        repeats_table(f"{title}: the same seed twice", cells),
        left_out(cells),
    ]
    measured = max((cell.get("date", "") for cell in cells.there()), default="")
    tables = [table for table in tables if table.rows]
    return StudyOutcome(tables, findings=claims(title, cells), took=took(cells), date=measured)


def took(cells: Cells) -> str:
    """What all cells that are there took, wherever that was."""
    there = [cell for key in cells.wanted() if (cell := cells.get(key)) is not None]
    every = cells.there()
    gpu = sum(cell["seconds"] for cell in every if cell["device"] != "cpu") / 60
    cpu = sum(cell["processor_seconds"] for cell in every if cell["device"] == "cpu") / 60
    beside = f" and {gpu:.0f} of GPU" if gpu else ""
    return f"{len(there)} of {len(cells.wanted())} cells, {cpu:.0f} minutes of processor{beside}"


STUDY = Study(
    "attackers",
    "Attacks x releases: which attack gets most out of which release",
    "ours",
    [
        StudyPart(name, f"{title} in the news", partial(table_outcome, name=name), (*CASES[name][1], *NEEDS))
        for name, title in NAMES.items()
    ],
    by_cell=True,
)
