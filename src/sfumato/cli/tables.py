"""Tables of attacks, texts and concepts, as they are shown on the screen; never a text."""

from __future__ import annotations

from rich.table import Table

from sfumato.auditing.result import Audit
from sfumato.trials.finding import FoundAndMissed
from sfumato.trials.removal import RemovalRow
from sfumato.trials.rows import AttackRow, percent

FIGURES = ("clean", "removed", "guess", "released", "excess", "absolute")
"""Columns of every table of attacks: a guess is the best constant one."""


def table(*columns: str) -> Table:
    """An empty table; the first column stands left, the others right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        made.add_column(column, justify="right" if number else "left")
    return made


def _figures(row: AttackRow) -> list[str]:
    """What one attack got, each figure as it is shown."""
    removed = percent(row.floor) if row.floor is not None and row.floor_is == "removed" else "-"
    return [
        percent(row.control),
        "not measured" if row.floor is None else removed,
        percent(row.prior),
        percent(row.released),
        "not measured" if row.floor is None else "undefined" if row.excess is None else percent(row.excess),
        "undefined" if row.absolute is None else percent(row.absolute),
    ]


def attack_table(found: Audit) -> Table:
    """Every attack beside its control, floor and prior."""
    made = table("attack", *FIGURES, "counts")
    for row in found.attacks:
        made.add_row(row.name, *_figures(row), ("yes" if row.counts else "") if row.works else "fails")
    return made


def class_table(finding: FoundAndMissed, removal: RemovalRow | None) -> Table:
    """Texts whose terms the protector finds, and those where it misses one."""
    made = table("texts", "count", "released", "excess", "absolute")
    named = (
        ("all", finding.every),
        ("found: the protector finds every term", finding.found),
        ("missed: it misses one", finding.missed),
    )
    for name, each in named:
        if each is not None:
            figures = (each.released, each.excess, each.absolute)
            made.add_row(name, str(each.count), *("-" if one is None else percent(one) for one in figures))
    if removal is not None:
        figures = (removal.released, removal.excess, removal.absolute)
        count = str(finding.every.count)
        made.add_row("concept cut out", count, *("-" if one is None else percent(one) for one in figures))
    return made


def concept_table(found: Audit) -> Table:
    """A line for each concept."""
    made = table("concept", "verdict", "by", *FIGURES)
    for each in found.concepts:
        row = each.row
        figures = [""] * (len(FIGURES) + 1) if row is None else [row.name, *_figures(row)]
        made.add_row(each.name, each.outcome, *figures)
    return made
