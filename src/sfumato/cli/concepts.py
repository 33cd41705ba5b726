"""`sfumato concepts`: what has a name, what finds it now, and what would find more."""

from __future__ import annotations

from typing import Any

import typer
from rich.table import Table

from sfumato.cli import suggest
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.concepts import CATALOG, DETECTORS
from sfumato.concepts.languages.profiles import NAMES

NAME = "concepts"
EXAMPLE = (
    "Example: sfumato concepts --json concepts.json  |  "
    'sfumato concepts suggest notes.jsonl --like "Project Nightjar" --page suggest.html'
)

INSTALL = "pip install 'sfumato[ner]'"


def rows() -> list[dict[str, Any]]:
    """One record a concept."""
    return [
        {
            "name": entry.name,
            "summary": entry.summary,
            "found_by": entry.found_by(),
            "improved_by": sorted({part.package for part in entry.missing()}),
            "languages": list(entry.languages()),
            "terms": len(entry.terms),
            "placeholder": entry.placeholder,
            "blind_to": entry.blind_to,
        }
        for entry in CATALOG.values()
    ]


def detectors() -> list[dict[str, Any]]:
    """One record a detector, and the command that installs it where it is missing."""
    found = []
    for entry in DETECTORS:
        installed = DETECTORS.installed(entry.name)
        install = "" if installed else DETECTORS.install_line(entry.name)
        found.append(
            {"name": entry.name, "summary": entry.summary, "installed": installed, "install": install}
        )
    return found


def command(json: JsonOption = None) -> None:
    """List the concepts that have a name, what finds each one here and what would find more."""
    found = rows()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("concept", "is", "found now by", "in", "would find more with"):
        table.add_column(column, overflow="fold")
    for row in found:
        improved = ", ".join(row["improved_by"]) or "-"
        languages = ", ".join(row["languages"]) or "any language"
        table.add_row(row["name"], row["summary"], ", ".join(row["found_by"]), languages, improved)
    screen = console()
    screen.print(table)
    wanting = any(row["improved_by"] for row in found)
    more = f"More is found with: {INSTALL}, and `make ner` for an English pipeline.\n" if wanting else ""
    screen.print(
        f"\n{more}{_codes(found)}\nWhat each one misses: --json FILE, and docs/concepts.md.\n"
        "Anything else: list its terms (--terms FILE), have them suggested (sfumato concepts suggest), or "
        "label spans in the data (--spans LABEL).",
        markup=False,
    )
    write_json(json, {"concepts": found, "detectors": detectors()})


def _codes(found: list[dict[str, Any]]) -> str:
    """What the codes of languages stand for, and what happens to texts in others."""
    codes = dict.fromkeys(code for row in found for code in row["languages"])
    named = ", ".join(f"{code} {NAMES[code]}" for code in codes)
    return f"Languages: {named}. Texts that seem to be in another one are counted in a warning."


group = typer.Typer(
    help="List the concepts that have a name, or find terms for one of your own.", epilog=EXAMPLE
)
"""The command with its own commands."""
group.command("suggest", epilog=suggest.EXAMPLE)(suggest.command)


@group.callback(invoke_without_command=True)
def _listed(context: typer.Context, json: JsonOption = None) -> None:
    """List the concepts that have a name, what finds each one here and what would find more."""
    if context.invoked_subcommand is None:
        command(json)
