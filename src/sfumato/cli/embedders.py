"""`sfumato embedders`: what turns texts into vectors, what is installed, and how to install the rest."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from sfumato.cli.output import JsonOption, console, write_json
from sfumato.embedders import EMBEDDERS

NAME = "embedders"
EXAMPLE = "Example: sfumato embedders --json embedders.json"

_WRITTEN = {
    "sentence-transformers": "a folder, OWNER/NAME or sentence-transformers:NAME",
    "openai": "openai:MODEL or openai:MODEL@URL",
    "vectors": "a .npy or .parquet file",
    "fake": "fake or fake:DIM",
}


def rows() -> list[dict[str, Any]]:
    """One record an embedder."""
    return [
        {
            "name": entry.name,
            "written": _WRITTEN.get(entry.name, entry.name),
            "summary": entry.summary,
            "installed": EMBEDDERS.installed(entry.name),
            "install": EMBEDDERS.install_line(entry.name),
            "class": entry.target.replace(":", "."),
        }
        for entry in EMBEDDERS
    ]


def command(json: JsonOption = None) -> None:
    """List the embedders, how each is named, and whether it is installed."""
    found = rows()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("embedder", "does", "written as", "installed"):
        table.add_column(column, overflow="fold")
    for row in found:
        state = "yes" if row["installed"] else row["install"]
        # Brackets in an install line are not markup.
        table.add_row(row["name"], row["summary"], row["written"], state.replace("[", "\\["))
    console().print(table)
    write_json(json, {"embedders": found})
