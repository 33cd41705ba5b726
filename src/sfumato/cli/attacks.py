"""`sfumato attacks`: what reads vectors back, what is installed, and how to install the rest."""

from __future__ import annotations

from typing import Any

from rich.table import Table

from sfumato.attacks import ATTACKS
from sfumato.cli.output import JsonOption, console, write_json

NAME = "attacks"
EXAMPLE = "Example: sfumato attacks --json attacks.json"


def rows() -> list[dict[str, Any]]:
    """One record an attack; what only its class knows is None where that cannot be imported."""
    found = []
    usable: dict[str, Any] = {entry.name: kind for entry, kind in ATTACKS.usable()}
    for entry in ATTACKS:
        installed = ATTACKS.installed(entry.name)
        kind = usable.get(entry.name)
        found.append(
            {
                "name": entry.name,
                "summary": entry.summary,
                "reads": getattr(kind, "reads", None),
                "needs": getattr(kind, "needs", None),
                "paper": getattr(kind, "paper", None),
                "installed": installed,
                "install": ATTACKS.install_line(entry.name),
                "class": entry.target.replace(":", "."),
            }
        )
    return found


def command(json: JsonOption = None) -> None:
    """List the attacks, what each reads, and whether it is installed."""
    found = rows()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("attack", "reads", "does", "paper", "installed"):
        table.add_column(column, overflow="fold")
    for row in found:
        state = "yes" if row["installed"] else row["install"]
        # Brackets in an install line are not markup.
        table.add_row(
            row["name"], row["reads"] or "", row["summary"], row["paper"] or "", state.replace("[", "\\[")
        )
    screen = console()
    screen.print(table)
    screen.print(
        "\nAttack only vectors that are yours, or that you may test: see docs/attacks.md. "
        "Run one with: sfumato attack IN --attack NAME"
    )
    write_json(json, {"attacks": found})
