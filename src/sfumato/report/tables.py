"""Rows of the tables on an audit's page: figures as people write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from sfumato.auditing.result import ConceptResult
from sfumato.metrics.utility import Utility
from sfumato.report.chart import bar
from sfumato.report.questions import plain_defence
from sfumato.trials.finding import FoundAndMissed, RowClass
from sfumato.trials.removal import RemovalRow
from sfumato.trials.rivals import BaselineRow
from sfumato.trials.rows import AttackRow, percent
from sfumato.trials.touched import Use


def between(interval: Sequence[float] | None) -> str:
    """An interval as people write it."""
    return "" if interval is None else f"{percent(interval[0])} to {percent(interval[1])}"


def share(value: float | None) -> str:
    """A share, or that there is none."""
    return "undefined" if value is None else percent(value)


def concept_row(each: ConceptResult) -> dict[str, str]:
    """One concept, by the attack its verdict rests on."""
    row = each.row
    figures = {} if row is None else {key: str(value) for key, value in attack_row(row).items()}
    return {
        **dict.fromkeys(("name", "control", "floor", "prior", "released", "excess", "absolute"), "–"),
        **figures,
        "concept": each.name,
        "verdict": each.outcome,
        "attack": "" if row is None else row.name,
    }


def attack_row(row: AttackRow) -> dict[str, str | bool]:
    """One attack beside all it is to be compared with."""
    return {
        "name": row.name,
        "question": row.question,
        "control": percent(row.control),
        "floor": _floor(row),
        "prior": percent(row.prior),
        "released": percent(row.released),
        "excess": "not measured" if row.floor is None else share(row.excess),
        "between": between(row.interval),
        "absolute": share(row.absolute),
        "absolute_between": between(row.absolute_interval),
        "works": row.works,
        "counts": row.counts,
        "rows": str(row.rows),
        "note": row.note,
    }


def _floor(row: AttackRow) -> str:
    """What it reads where the concept is removed; a choice among candidates has chance in its place."""
    if row.floor is None:
        return "not measured"
    return percent(row.floor) if row.floor_is == "removed" else "–"


def class_rows(finding: FoundAndMissed | None, removal: RemovalRow | None) -> list[dict[str, str]]:
    """Found and missed rows beside all and beside redaction; nothing where no detector is known."""
    if finding is None or finding.found is None or finding.missed is None:
        return []
    named = {"all": finding.every, "found": finding.found, "missed": finding.missed}
    if removal is not None:
        named["concept cut out"] = RowClass(
            count=finding.every.count,
            released=removal.released,
            excess=removal.excess,
            absolute=removal.absolute,
        )
    return [
        {
            "name": name,
            "count": str(each.count),
            **{
                key: "–" if value is None else percent(value)
                for key, value in (
                    ("released", each.released), ("excess", each.excess), ("absolute", each.absolute)
                )
            },
            "between": between(each.interval),
            "absolute_between": between(each.absolute_interval),
        }
        for name, each in named.items()
    ]  # fmt: skip


def baseline_row(row: BaselineRow) -> dict[str, str]:
    """One setting of one baseline."""
    return {
        "label": plain_defence(row.name, row.setting),
        "excess": share(row.excess),
        "between": between(row.interval),
        "absolute": share(row.absolute),
        "kept": share(row.utility.kept),
        "promise": row.guarantee.partition(": ")[2] or row.guarantee,
        "keyed": "a key; the attacker had texts stored under it" if row.keyed else "",
    }


def term_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each term, with its bar."""
    return [
        {
            "name": row["term"],
            "number": number + 1,
            "count": row["count"],
            "bar": Markup(bar(row["control"], row["floor"], row["released"])),
            **{key: _known(row[key]) for key in ("control", "floor", "released")},
        }
        for number, row in enumerate(rows)
    ]


def _known(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def use_rows(use: Use) -> list[dict[str, str]]:
    """All rows, and where there are enough of them, touched and untouched ones."""
    sides = (("", use.every), (", touched", use.touched), (", untouched", use.untouched))
    return [_utility(found, where) for where, found in sides if found is not None]


def _utility(found: Utility, where: str) -> dict[str, str]:
    return {
        "metric": f"{found.metric}{where}",
        "rows": str(found.rows),
        "clean": f"{found.clean:.3f}",
        "released": f"{found.released:.3f}",
        "kept": share(found.kept),
        "between": between(found.interval),
    }
