"""Listing what is registered: name, what it does, how it is written, whether it is installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from sfumato.cli.output import console
from sfumato.registry import Registry


def records(registry: Registry[Any], written: Mapping[str, str]) -> list[dict[str, Any]]:
    """One record an entry; `written` says how a name is written where it is not just the name."""
    return [
        {
            "name": entry.name,
            "written": written.get(entry.name, entry.name),
            "summary": entry.summary,
            "installed": registry.installed(entry.name),
            "install": registry.install_line(entry.name),
            "class": entry.target.replace(":", "."),
        }
        for entry in registry
    ]


def show(found: Sequence[dict[str, Any]], kind: str, does: str) -> None:
    """Print the records as a table."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in (kind, does, "written as", "installed"):
        table.add_column(column, overflow="fold")
    for row in found:
        state = "yes" if row["installed"] else row["install"]
        # Brackets in an install line are not markup.
        table.add_row(row["name"], row["summary"], row["written"], state.replace("[", "\\["))
    console().print(table)
