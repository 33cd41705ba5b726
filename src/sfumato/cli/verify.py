"""`sfumato verify`: statistical and bit-level checks that each sampler is what it claims."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress

if TYPE_CHECKING:
    from rich.console import Console

    from sfumato.verification import CheckRow, Verification

NAME = "verify"
EXAMPLE = "Examples:\n\nsfumato verify\n\nsfumato verify laplace polar --quick --json verify.json"


def _loss(rows: list[CheckRow]) -> str:
    bounds = [row for row in rows if row.check.startswith("loss")]
    if not bounds:
        return "-"
    worst = max(bounds, key=lambda row: row.value / row.limit)
    return f"{worst.value:.2f}/{worst.limit:.2f}"


def _law(rows: list[CheckRow]) -> str:
    p_values = [row.value for row in rows if row.measured.startswith("p =")]
    return f"{min(p_values):.1g} ({len(p_values)})" if p_values else "-"


def _bits(rows: list[CheckRow]) -> str:
    named = [row.measured.split(",")[0].split(" of ") for row in rows if row.check.startswith("texts")]
    return f"{sum(int(a) for a, _ in named)}/{sum(int(b) for _, b in named)}" if named else "-"


def _summary(out: Console, result: Verification) -> None:
    """One line for each configuration, with the worst figure of each layer."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, padding=(0, 1, 0, 0), title_justify="left")
    table.title = (
        "Worst found: loss proved/claimed, smallest p of the law (checks), texts named by bits/tried"
    )
    for heading in ("mechanism", "promise", "loss", "law", "bits", ""):
        table.add_column(heading, no_wrap=heading != "promise")
    before = ""
    for label in dict.fromkeys(row.label for row in result.rows):
        rows = [row for row in result.rows if row.label == label]
        if before and rows[0].mechanism != before:
            table.add_section()
        before = rows[0].mechanism
        layers = [[row for row in rows if row.layer == layer] for layer in ("epsilon", "law", "bits")]
        failed = not all(row.passed for row in rows)
        table.add_row(
            label,
            result.promises.get(label, "").replace("+", " + "),
            _loss(layers[0]),
            _law(layers[0] + layers[1]),
            _bits(layers[2]),
            "[bold red]FAIL[/bold red]" if failed else "ok",
        )
    out.print(table)


def _failures(out: Console, result: Verification) -> None:
    from rich.markup import escape

    for row in result.failures:
        dim = f", {row.dim} dimensions" if row.dim else ""
        line = f"{row.label}{dim}: {row.check}: claimed {row.claim}, found {row.measured}"
        out.print(f"[red]failed[/red]  {escape(line)}")


def command(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MECHANISM]...", help="Only these mechanisms.")
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer samples and cases: seconds, not a minute.")
    ] = False,
    json: JsonOption = None,
) -> None:
    """Check every sampler: its privacy loss in few dimensions, its law in many, and its low-order bits."""
    from sfumato.verification import verify

    with progress("verifying", None) as bar:
        task = bar.tasks[0].id

        def on_step(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, description=label)

        result = verify(names or None, quick=quick, on_step=on_step)
    out = console()
    _summary(out, result)
    _failures(out, result)
    colour = "green" if result.passed else "red"
    out.print(f"[{colour}]{result.verdict}[/{colour}]. {result.seconds:.0f} s.")
    write_json(json, result.to_dict())
    if not result.passed:
        raise typer.Exit(1)
