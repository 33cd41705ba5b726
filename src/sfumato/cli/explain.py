"""`sfumato explain`: what an attacker can do with a protector's releases, in his terms."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import JsonOption, console, write_json

NAME = "explain"
EXAMPLE = "Example: sfumato explain protector --candidates 50 --json certificate.json"


def command(
    protector: Annotated[
        Path, typer.Argument(metavar="PROTECTOR", help="A folder that `sfumato learn` made.")
    ],
    candidates: Annotated[
        int, typer.Option(help="How many terms the attacker holds for possible, all alike likely.")
    ] = 10,
    distance: Annotated[
        float | None,
        typer.Option(
            help="Between two inputs, in the mechanism's metric, instead of those kept at learning."
        ),
    ] = None,
    json: JsonOption = None,
) -> None:
    """Say what an attacker who knows all but the term can do with one release, whatever he computes."""
    from rich import box
    from rich.table import Table

    from sfumato.certificates.statement import certify
    from sfumato.errors import InputError
    from sfumato.saving import load_protector

    made = load_protector(protector)
    apart = made.learned.substitution_distances
    if distance is not None:
        apart = dict.fromkeys(("median", "p95", "max"), distance)
    if apart is None:
        raise InputError("This protector keeps no distances between terms. Give one with --distance.")
    guarantee = made.guarantee
    conditions = (
        *guarantee.notes,
        "distances are those of the pairs of terms learned from; other terms may lie further apart",
        "for one release; fresh noise on a text that was released before adds to it",
    )
    found = certify(
        made.mechanism,
        apart,
        candidates=candidates,
        dim=made.dim,
        noiseless=made.only_matching,
        conditions=conditions,
    )
    screen = console()
    if made.embeds_neutral:
        screen.print("Where the detector finds the term it is not embedded: nothing of it is released.")
        screen.print(
            "Where it is missed:" if not made.only_matching else "Where it is missed, without noise:"
        )
    screen.print(found.paragraph(), highlight=False, markup=False)
    table = Table(box=box.SIMPLE)
    for heading in ("pair", "distance", "total variation", "success", "bits"):
        table.add_column(heading, justify="left" if heading == "pair" else "right")
    for name, each in found.pairs.items():
        figures = (f"{each.distance:.4g}", f"{each.total_variation:.4f}", f"{each.success:.4f}")
        table.add_row(name, *figures, f"{each.bits:.2f}")
    screen.print(table)
    for condition in found.conditions:
        screen.print(f"- {condition}", highlight=False, markup=False)
    screen.print(f"Epsilon {guarantee.epsilon:.4g} ({guarantee.metric}, {guarantee.proof})", highlight=False)
    write_json(json, {"certificate": found.to_dict()})
