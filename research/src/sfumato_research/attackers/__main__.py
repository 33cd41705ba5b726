"""Cells on their own, to share them out over processes and machines: `python -m sfumato_research.attackers`.

    ... --data DATA --cache CACHE --release clean --device cuda    # the cells of one column
    ... --data DATA --cache CACHE --plan plan.json --minutes 14    # in several processes: blocks, in turn
    ... --data DATA --cache CACHE --pack cells.json.gz             # all that are there, as one file
    ... --data DATA --cache CACHE --join cells.json.gz             # on the other machine
    ... --data DATA --cache CACHE --tell docs/results              # attackers.json from the cells there are

A cell that is there is never measured again, so a run that was stopped goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from sfumato.cli.output import console

if TYPE_CHECKING:
    from sfumato_research.attackers.cells import Cells
    from sfumato_research.attackers.ground import Ground


def main(
    data: Annotated[Path, typer.Option(help="Folder of the public data sets.", file_okay=False)],
    cache: Annotated[Path, typer.Option(help="Where cells and vectors are kept.", file_okay=False)],
    case: Annotated[str, typer.Option(help="place or person.")] = "place",
    attack: Annotated[list[str] | None, typer.Option(help="Only this row; may be given again.")] = None,
    release: Annotated[list[str] | None, typer.Option(help="Only this column; may be given again.")] = None,
    time: Annotated[
        list[int] | None, typer.Option(min=0, max=1, help="0: only first runs; 1: only the second ones.")
    ] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    embeds_on: Annotated[str, typer.Option(help="Where the encoder is, if not there.")] = "",
    plan: Annotated[
        Path | None, typer.Option(help="Measure its blocks, in turn with others that do.", exists=True)
    ] = None,
    minutes: Annotated[float, typer.Option(min=0, help="After which no block of a plan is begun.")] = 600,
    quick: Annotated[bool, typer.Option("--quick", help="A small version.")] = False,
    seed: Annotated[int, typer.Option(min=0)] = 0,
    join: Annotated[list[Path] | None, typer.Option(help="Take cells over.", exists=True)] = None,
    pack: Annotated[Path | None, typer.Option(help="Write all cells into this file.")] = None,
    tell: Annotated[
        Path | None, typer.Option(help="Write what the cells that are there say into this folder's JSON.")
    ] = None,
    freeze: Annotated[
        bool, typer.Option("--freeze", help="Only draw and keep what nobody can draw again.")
    ] = False,
) -> None:
    """Measure cells of the table of attacks and releases, pack them, or take over another machine's."""
    from sfumato_research.attackers.attackers import ATTACKERS
    from sfumato_research.attackers.cells import Cells
    from sfumato_research.attackers.ground import Ground
    from sfumato_research.attackers.releases import RELEASES
    from sfumato_research.attackers.sharing import read_plan, share
    from sfumato_research.frontier.cases import CASES
    from sfumato_research.studies.base import Setting

    _known([case], CASES, "case")
    out, began = console(), monotonic()

    def say(step: str) -> None:
        out.print(f"{monotonic() - began:7.0f} s  {step}", highlight=False, markup=False)

    _known(attack, ATTACKERS, "attack")
    _known(release, RELEASES, "release")
    ground = Ground(Setting(data, quick, seed, device, cache, say), case, embeds_on=embeds_on)
    cells = Cells(ground)
    for path in join or []:
        say(f"{cells.join(path)} cells taken over from {path}")
    if freeze:
        _freeze(ground, say)
    elif pack is not None:
        say(f"{cells.pack(pack)} cells packed into {pack}")
    elif tell is not None:
        _tell(cells, tell)
        say(f"told in {tell}")
    elif plan is not None:
        failed = share(cells, read_plan(plan, cells), cache / f"taken-{plan.stem}", 60 * minutes)
        say(f"done, {failed} cells failed")
    elif not join:
        times = time or [0, 1]
        if not _asked(cells, attack, release, times):
            raise typer.BadParameter(
                "Rows and columns must be of the table and installed. Found no cell of it."
            )
        cells.measure(attack or [], release or [], times)
        say("done")


def _freeze(ground: Ground, say: Callable[[str], None]) -> None:
    """Draw what nobody can draw again."""
    from sfumato_research.attackers.releases import IRONCORE, SEALED
    from sfumato_research.attackers.stolen import Stolen

    for label in (IRONCORE, SEALED):
        say(f"kept: {label}, {Stolen(ground, label).target.documents().shape}")


def _tell(cells: Cells, folder: Path) -> None:
    """Write the study's JSON without measuring anything."""
    from dataclasses import replace

    from sfumato_research.attackers.study import STUDY, outcome
    from sfumato_research.studies.running import run_study

    name = cells.ground.name
    parts = [
        replace(part, run=lambda setting: outcome(cells)) if part.name == name else part
        for part in STUDY.parts
    ]
    run_study(replace(STUDY, parts=parts), cells.ground.setting, folder, only=[name], again=True)


def _asked(cells: Cells, rows: list[str] | None, columns: list[str] | None, times: list[int]) -> bool:
    """Whether any cell is asked for: a row whose package is missing has none, and must not pass for done."""
    return any(
        (not rows or row in rows) and (not columns or column in columns) and time in times
        for row, column, time in cells.wanted()
    )


def _known(given: list[str] | None, names: Iterable[str], what: str) -> None:
    every = list(names)
    unknown = [each for each in given or [] if each not in every]
    if unknown:
        raise typer.BadParameter(f"The {what} must be one of {', '.join(every)}. Found {unknown[0]!r:.40}.")


if __name__ == "__main__":
    typer.run(main)
