"""`sfumato bench`: speed of each mechanism beside its floor and the peers that are installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from sfumato.benchmarks import BenchReport, PeerSpeed, RewriteSpeed

NAME = "bench"
EXAMPLE = "Example: sfumato bench laplace polar --dims 384,768 --json bench.json"


def _numbers(text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise typer.BadParameter(f"--dims takes whole numbers with commas between. Found {text!r}.") from None


def _microseconds(value: float) -> str:
    return f"{value:.2f}" if value < 100 else f"{value:,.0f}"


def _table(title: str, first: str, *others: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _speeds(out: Console, report: BenchReport) -> None:
    clock = "processor time" if report.clock == "cpu" else "wall time"
    threads = f"{report.threads} thread" + "s" * (report.threads > 1)
    columns = ("us/vector", "x floor", "x Laplace", f"{2 * report.threads} threads", "sticky us")
    for floor in report.floors:
        table = _table(f"{floor.dim} dimensions, {threads}, {clock}", "mechanism", *columns)
        doubled = f"{floor.doubled.median:.2f}x"
        table.add_row(
            "floor (numpy)", _microseconds(floor.microseconds), "1.00", "", doubled, "", style="dim"
        )
        for speed in report.speeds:
            if speed.dim == floor.dim:
                table.add_row(
                    speed.case,
                    _microseconds(speed.microseconds),
                    f"{speed.floor.median:.2f}",
                    f"{speed.laplace.median:.2f}",
                    f"{speed.doubled.median:.2f}x",
                    _microseconds(speed.sticky_microseconds),
                )
        out.print(table)
    widest = max((speed.floor.high - speed.floor.low) / speed.floor.median for speed in report.speeds)
    from sfumato.benchmarks import FLOOR

    out.print(f"Floor: {FLOOR}.")
    out.print(
        f"Medians of {report.rounds} rounds; the quartiles of `x floor` lie up to {widest:.0%} apart. "
        "A busy machine moves microseconds and thread figures: trust ratios."
    )


def _peers(out: Console, rows: Sequence[PeerSpeed]) -> None:
    from sfumato.benchmarks import REFERENCES

    columns = ("us/vector", "ours", "us/vector", "times faster")
    table = _table(f"Peers, {rows[0].dim} dimensions, 1 thread, wall time", "peer", *columns)
    for row in rows:
        if row.microseconds is not None and row.our_microseconds is not None and row.speed_up is not None:
            ours = _microseconds(row.our_microseconds)
            faster = f"{row.speed_up.median:,.0f}"
            table.add_row(row.name, _microseconds(row.microseconds), row.ours, ours, faster)
    out.print()
    out.print(table)
    for row in rows:
        out.print(f"  {row.name}: {row.missing or row.note}.", markup=False, highlight=False)
    for reference in REFERENCES:
        figure = _microseconds(reference.microseconds)
        out.print(f"  Printed by {reference.source}, on a machine of theirs: {reference.what}: {figure} us.")


def _texts(out: Console, rows: Sequence[RewriteSpeed]) -> None:
    from sfumato.benchmarks import PAPER_WORDS_A_SECOND

    first = rows[0]
    title = f"Private text, {first.words:,} words, {first.dim} dimensions, {first.threads} threads"
    table = _table(title, "budgets", "words/s", "words/processor s", "peak MiB")
    for row in rows:
        figures = (row.per_second.median, row.per_processor_second.median, row.peak_mib)
        table.add_row(row.case, *(f"{figure:,.0f}" for figure in figures))
    out.print()
    out.print(table)
    out.print(f"Printed by STAMP, on a machine of theirs: {PAPER_WORDS_A_SECOND:.0f} words a second.")


def _imports(out: Console, report: BenchReport) -> None:
    times = report.imports
    out.print(
        f"\nImport in a fresh interpreter: nothing {times.python:.0f} ms, numpy {times.numpy:.0f} ms, "
        f"numpy and sfumato {times.sfumato:.0f} ms ({times.over_numpy.median:.2f} times), "
        f"numpy and sfumato.mechanisms {times.mechanisms:.0f} ms."
    )


def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[MECHANISM]...", help="Only these mechanisms; Laplace always."),
    ] = None,
    dims: Annotated[str, typer.Option(help="Dimensions, with commas between.")] = "384,768,1536",
    rows: Annotated[
        int | None, typer.Option(help="Vectors a lap.", show_default="about a minute's worth")
    ] = None,
    rounds: Annotated[int, typer.Option(help="Rounds that count; one more warms up.")] = 7,
    threads: Annotated[int, typer.Option(help="Threads; a second figure uses twice as many.")] = 1,
    peers: Annotated[bool, typer.Option(help="Time the other libraries that are installed.")] = True,
    text: Annotated[
        bool | None, typer.Option(help="Time private text.", show_default="unless mechanisms are named")
    ] = None,
    json: JsonOption = None,
) -> None:
    """Time every mechanism beside its floor, beside Laplace and beside the peers that are installed."""
    wanted = _numbers(dims)
    from sfumato.benchmarks import REFERENCES, bench, compare, rewrite_speeds

    with progress("timing", None) as bar:
        task = bar.tasks[0].id

        def on_step(done: int, total: int, label: str) -> None:
            bar.update(task, completed=done, total=total, description=label)

        report = bench(wanted, rows, rounds, names or None, threads, on_step)
        rivals = compare(rounds=rounds, on_step=on_step) if peers else ()
        bar.update(task, description="private text")
        rewriting = rewrite_speeds(rounds) if (not names if text is None else text) else ()
    out = console()
    _speeds(out, report)
    if rivals:
        _peers(out, rivals)
    if rewriting:
        _texts(out, rewriting)
    _imports(out, report)
    data = report.to_dict()
    if rewriting:
        data["rewriting"] = [row.to_dict() for row in rewriting]
    data["peers"] = [rival.to_dict() for rival in rivals]
    data["references"] = [reference.to_dict() for reference in REFERENCES]
    write_json(json, data)
