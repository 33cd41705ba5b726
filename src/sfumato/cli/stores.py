"""`sfumato stores`: where protected vectors can be kept, what is installed, and how to install the rest."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from sfumato.cli.output import JsonOption, console, write_json
from sfumato.stores.opening import STORES

NAME = "stores"
EXAMPLE = "Example: sfumato stores --json stores.json"

_WRITTEN = {
    "memory": "memory:FOLDER",
    "faiss": "faiss:FOLDER, faiss:FOLDER?index=hnsw",
    "chroma": "chroma:FOLDER#COLLECTION, chroma+http://HOST:PORT#COLLECTION",
    "qdrant": "qdrant:FOLDER#COLLECTION, qdrant+https://HOST:PORT#COLLECTION",
    "pgvector": "postgresql://USER@HOST/DATABASE#TABLE, with ?index=hnsw before the #",
    "lancedb": "lancedb:FOLDER#TABLE",
}


def rows() -> list[dict[str, Any]]:
    """One record a store."""
    return [
        {
            "name": entry.name,
            "written": _WRITTEN[entry.name],
            "summary": entry.summary,
            "installed": STORES.installed(entry.name),
            "install": STORES.install_line(entry.name),
            "class": entry.target.replace(":", "."),
        }
        for entry in STORES
    ]


def command(json: JsonOption = None) -> None:
    """List the stores, how each is addressed, and whether it is installed."""
    found = rows()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("store", "is", "written as", "installed"):
        table.add_column(column, overflow="fold")
    for row in found:
        state = "yes" if row["installed"] else row["install"]
        # Brackets in an install line are not markup.
        table.add_row(row["name"], row["summary"], row["written"], state.replace("[", "\\["))
    console().print(table)
    write_json(json, {"stores": found})
