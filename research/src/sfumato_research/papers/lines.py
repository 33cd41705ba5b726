"""The lines of a paper's tables and figures, filled from the results of studies."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.errors import InputError
from sfumato_research.papers import load_paper
from sfumato_research.papers.base import Numbered, PaperCell
from sfumato_research.studies.running import read_result

COLUMNS = ("", "what it shows", "run here", "ours", "same direction", "what differs, or why it is not run")
_SAME = {True: "yes", False: "**no**", None: "no verdict"}
Write = Callable[[Any], str]
"""Writes a cell as the pages of studies do."""


def paper_lines(name: str, folder: Path, there: str, write: Write) -> list[list[str]]:
    """A line for every numbered table and figure; `there` is the folder as the page names it."""
    paper = load_paper(name)
    studies = {study for each in paper.numbered for study, _ in each.places(name)}
    results = {study: read_result(folder / f"{study}.json")["parts"] for study in sorted(studies)}
    return [_line(each, name, results, "" if there == "." else f"{there}/", write) for each in paper.numbered]


def _line(
    each: Numbered, name: str, results: Mapping[str, Mapping[str, Any]], there: str, write: Write
) -> list[str]:
    runs = []
    for study, part in each.places(name):
        if part not in results[study]:
            raise InputError(f"{study}.json has no part {part}. Run that study.")
        runs.append((study, results[study][part]))
    if not runs:
        return [each.label, each.gist, "no", "–", "–", each.missing]
    links = [f"[{part['title']}]({there}{study}.md#{anchor(part['title'])})" for study, part in runs]
    found = [finding for _, part in runs for finding in part["findings"] if speaks_of(each, finding["table"])]
    cells = [find_cell([part for _, part in runs], shown) for shown in each.shown]
    ours = [f"{shown.what}: {write(cell)}" for shown, cell in zip(each.shown, cells, strict=True)]
    ours = ours or [finding["ours"] for finding in found] or ["a picture alone"]
    said = [f"{_SAME[finding['same']]}: {_claim(finding)}" for finding in found]
    if each.above:
        said.append(f"{_SAME[lies_above(*cells[:2])]}: {each.above}")
    return [
        each.label,
        each.gist,
        "<br>".join(links),
        "<br>".join(ours),
        "<br>".join(said) or _SAME[None],
        each.missing or "–",
    ]


def speaks_of(each: Numbered, label: str) -> bool:
    """Whether a finding is about this table or figure: a label may name the data set behind a comma."""
    return label.partition(",")[0] == (each.under or each.label)


def _claim(finding: Mapping[str, Any]) -> str:
    """What is claimed, and of which data set, where the label says so."""
    of = finding["table"].partition(",")[2].strip()
    return f"{of}: {finding['claim']}" if of else str(finding["claim"])


def anchor(title: str) -> str:
    """Where a heading is found in a page."""
    plain = re.sub(r"[^\w\s-]", "", title).strip().lower()
    return re.sub(r"[-\s]+", "-", plain)


def lies_above(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool | None:
    """Whether one figure is larger than another by their intervals; None where these meet."""
    if None in (first["low"], first["high"], second["low"], second["high"]):
        return None
    if first["low"] > second["high"]:
        return True
    return False if first["high"] < second["low"] else None


def find_cell(parts: Sequence[Mapping[str, Any]], shown: PaperCell) -> Any:
    """The cell in the tables of some parts, or a refusal that names what is not there."""
    for table in (table for part in parts for table in part["tables"]):
        if table["title"].startswith(shown.table) and shown.column in table["columns"]:
            for row in table["rows"]:
                heads = [cell["value"] if isinstance(cell, dict) else cell for cell in row]
                if heads[: len(shown.row)] == list(shown.row):
                    cell = row[table["columns"].index(shown.column)]
                    return cell if shown.printed else {**cell, "printed": None}
    row = ", ".join(map(str, shown.row))
    raise InputError(
        f"No table {shown.table!r} has a cell {shown.column!r} in a row {row!r}. Mend the list of papers."
    )
