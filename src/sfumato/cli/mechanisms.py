"""`sfumato mechanisms`: what there is, what it promises, and where it comes from."""

from __future__ import annotations

import inspect
from typing import Any

from rich.table import Table

from sfumato.cli.output import JsonOption, console, write_json
from sfumato.mechanisms import MECHANISMS, Mechanism

NAME = "mechanisms"
EXAMPLE = "Example: sfumato mechanisms --json mechanisms.json"

_SAMPLE_DIM = 8


def _parameters(kind: type[Mechanism]) -> list[str]:
    """Names of the parameters, with their defaults where they have one."""
    shown = []
    for name, parameter in inspect.signature(kind.__init__).parameters.items():
        if name != "self":
            bare = parameter.default is inspect.Parameter.empty
            shown.append(name if bare else f"{name}={parameter.default!r}")
    return shown


def rows() -> list[dict[str, Any]]:
    """One record a mechanism."""
    found = []
    for entry, kind in MECHANISMS.usable():
        guarantee = kind.example(_SAMPLE_DIM).guarantee
        found.append(
            {
                "name": entry.name,
                "summary": entry.summary,
                "metric": guarantee.metric,
                "proof": guarantee.proof,
                "notes": list(guarantee.notes),
                "parameters": _parameters(kind),
                "paper": kind.paper,
                "class": f"{'sfumato.mechanisms' if not entry.package else kind.__module__}.{kind.__name__}",
            }
        )
    return found


def command(json: JsonOption = None) -> None:
    """List the mechanisms with metric, proof status, parameters and paper."""
    found = rows()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in ("mechanism", "does", "metric", "proof", "parameters", "paper"):
        table.add_column(column, overflow="fold")
    for row in found:
        proof = {"proved": "proved", "conditional": "conditional", "none": "[red]none[/red]"}[row["proof"]]
        cells = (
            row["name"],
            row["summary"],
            row["metric"],
            proof,
            ", ".join(row["parameters"]),
            row["paper"],
        )
        table.add_row(*cells)
    screen = console()
    screen.print(table)
    screen.print(
        "\nproved: follows from the density; conditional: rests on an assumption, see the guarantee's notes; "
        "none: no differential privacy.\nGaussian.analytic(epsilon=, delta=) is proved, for any two inputs."
    )
    write_json(json, {"mechanisms": found})
