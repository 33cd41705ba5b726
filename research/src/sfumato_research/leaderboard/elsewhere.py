"""Rows that the attackers and frontier studies published, as the leaderboard shows them."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from sfumato_research.attackers.attackers import ATTACKERS, OF_CPU, QUESTIONS
from sfumato_research.attackers.figures import MARGIN
from sfumato_research.attackers.knowing import KEPT, KNOWING, MEMBER
from sfumato_research.attackers.naming import LINKED, NAMED
from sfumato_research.attackers.releases import DEFAULT
from sfumato_research.frontier.nested import Nested
from sfumato_research.leaderboard.cells import OLD_DEFAULT, USE
from sfumato_research.leaderboard.rows import BoardRow, told
from sfumato_research.studies.base import Cell
from sfumato_research.studies.choice import short

RUNS = {
    "attackers": "attackers study",
    "attackersgpu": "second run of that study, on a GPU",
    "attackersfirst": "first run of that study",
}
"""Runs of the attackers study that are published, by the names of their results."""
PUBLISHED = {**dict.fromkeys(RUNS, "2026-11-16"), "frontier": "2026-11-16"}
"""When results that do not say it themselves were published."""
_BESIDE = 6
"""Columns of the attackers' table before those of releases."""
_DEFENCES = {
    "ours": OLD_DEFAULT,
    "ours, lists": f"{OLD_DEFAULT}-lists",
    "ours, eraser": f"{OLD_DEFAULT}-eraser",
    "ours, eraser, wide": f"{OLD_DEFAULT}-eraser-wide",
    "removal, taken out": "removal",
    "laplace, noise ratio 1.4": "laplace-1.4",
    "sparse, noise ratio 1.4": "sparse",
    "suppression, noise ratio 1.4": "dppn",
    "leace, terms erased": "leace",
}
"""The frontier's names of defences; others are as they are written."""
_FIGURES = {
    "linked, 1 of 1,000": ("linkage", LINKED, 0.001),
    "member": ("nearest-release", MEMBER, 0.5),
    "informed": ("informed", KNOWING, 0.02),
    "neighbours touched": (f"{USE}-touched", KEPT, None),
}
"""Columns of the frontier's other tables: attack, question, and what chance gives."""


def attackers_rows(parts: Mapping[str, Any], study: str = "attackers") -> Iterator[BoardRow]:
    """Every figure of the table of attacks and releases, of the last run or of an earlier one."""
    for concept, part in parts.items():
        table = part["tables"][0]
        columns, count = table["columns"], len(part["tables"][0]["columns"])
        for row in table["rows"]:
            question, shown = row[0], row[1].removesuffix(" (control too low)")
            attack = OF_CPU.get(shown, shown)
            clean, floor, prior = (_cell(row[at]) for at in range(3, _BESIDE))
            gpu = row[-1]["value"] is not None and row[-2]["value"] is None
            for at in range(_BESIDE - 1, count - 2):
                label = "clean" if at == _BESIDE - 1 else columns[at]
                figure = clean if label == "clean" else _cell(row[at])
                if figure.value is None or (label == "clean" and not _own_control(attack)):
                    continue
                words = ["--part", concept, "--defence", short(label), "--attack", short(attack)]
                words += ["--device", "cuda"] if gpu else []
                yield BoardRow(
                    concept, "minilm", _defence(part, label), short(attack),
                    question, figure, clean, floor, prior, "yes" if shown == row[1] else "no", None,
                    _date(part, study), None, study,
                    f"sfumato study attackers --data DATA --cache CACHE {shlex.join(words)}",
                )  # fmt: skip


def frontier_rows(parts: Mapping[str, Any]) -> Iterator[BoardRow]:
    """What was named, linked, told and kept, over several cuts."""
    for name, part in parts.items():
        concept, _, encoder = name.partition("-")
        if encoder not in ("minilm", "wordllama"):
            continue
        where = (concept, encoder, part, f"sfumato study frontier --data DATA --cache CACHE --part {name}")
        terms, *others = part["tables"]
        named = {row[0]: _cell(row[1]) for row in terms["rows"]}
        prior = named.pop("best constant guess")
        floor = named.pop("labels taken out")
        yield from _frontier(where, "tokens", NAMED, named, floor, prior)
        for table in others:
            for at, column in enumerate(table["columns"]):
                if column in _FIGURES:
                    attack, question, chance = _FIGURES[column]
                    found = {row[0]: _cell(row[at]) for row in table["rows"] if row[0] != "labels taken out"}
                    yield from _frontier(where, attack, question, found, Cell(None), Cell(chance, form=".2f"))


def _frontier(
    where: tuple[str, str, Mapping[str, Any], str],
    attack: str,
    question: str,
    found: Mapping[str, Cell],
    floor: Cell,
    prior: Cell,
) -> Iterator[BoardRow]:
    concept, encoder, part, command = where
    clean = found.get("clean", Cell(1.0 if question == KEPT else None, form=".2f"))
    low = clean.value if clean.low is None else clean.low
    works = low is not None and prior.value is not None and low - prior.value >= MARGIN
    counts = "" if question == KEPT or low is None else ("yes" if works else "no")
    for label, figure in found.items():
        if figure.value is not None:
            defence = _DEFENCES.get(label, short(label))
            yield BoardRow(
                concept, encoder, defence, attack, QUESTIONS[question], figure, clean, floor, prior, counts,
                None, _date(part, "frontier"), None, "frontier", command,
            )  # fmt: skip


def _defence(part: Mapping[str, Any], label: str) -> str:
    """A column as it is typed; results that do not say when they were measured had an older default."""
    return OLD_DEFAULT if label == DEFAULT and not part.get("date") else short(label)


def _own_control(attack: str) -> bool:
    """Whether what stands under clean vectors is the attack itself on them."""
    row = ATTACKERS.get(attack)
    return attack not in ("bits", "structure") and (row is None or not row.beside)


def _cell(found: Any) -> Cell:
    """A figure as it was written, to two places; empty where it was words or nothing."""
    if not isinstance(found, dict) or found["value"] is None:
        return Cell(None, form=".2f")
    value, low, high = (found[key] for key in ("value", "low", "high"))
    return told(Nested(value, None if low is None or high is None else (low, high)))


def _date(part: Mapping[str, Any], study: str) -> str:
    said = str(part.get("date", ""))
    return said if re.fullmatch(r"\d{4}-\d\d-\d\d", said) else PUBLISHED[study]
