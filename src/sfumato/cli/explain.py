"""`sfumato explain`: what an attacker can do with a protector's releases, in his terms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import JsonOption, console, write_json

if TYPE_CHECKING:
    from sfumato.certificates import Certificate
    from sfumato.protector import Protector

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
    from sfumato.saving import load_protector

    made = load_protector(protector)
    found = _certificate(made, candidates, distance)
    _show(made, found)
    write_json(json, {"certificate": found.to_dict()})


def _certificate(made: Protector, candidates: int, distance: float | None) -> Certificate:
    from sfumato.certificates import certify
    from sfumato.errors import InputError

    apart = made.learned.substitution_distances
    if distance is not None:
        apart = dict.fromkeys(("median", "p95", "max"), distance)
    if apart is None:
        raise InputError("This protector keeps no distances between terms. Give one with --distance.")
    conditions = (
        *made.guarantee.notes,
        "distances are those of the pairs of terms learned from; other terms may lie further apart"
        if distance is None
        else "the distance is the one that was given; inputs further apart are not covered",
        "for one release; fresh noise on a text that was released before adds to it",
        f"in exact arithmetic; floating point may add {made.guarantee.slack:.2g} to the privacy loss",
    )
    return certify(
        made.mechanism,
        apart,
        candidates=candidates,
        dim=made.dim,
        noiseless=made.only_matching,
        conditions=conditions,
    )


def _show(made: Protector, found: Certificate) -> None:
    from rich import box
    from rich.table import Table

    screen, guarantee = console(), made.guarantee
    if made.embeds_neutral:
        screen.print("Where the detector finds the term, it does not enter the vector at all.")
        screen.print(
            "Where it is missed, and without noise:" if made.only_matching else "Where it is missed:"
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
