"""`sfumato attack --all`: every attack that fits, one table, and with leave the ten most telling rows."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import typer
from rich.markup import escape

from sfumato.cli.output import console, write_json
from sfumato.cli.progress import progress
from sfumato.cli.tables import table
from sfumato.concepts.concept import Concept
from sfumato.metrics.intervals import Figure
from sfumato.trials.everything import Everything, Tried
from sfumato.trials.telling import Telling, most_telling
from sfumato.trials.threat import ThreatModel

_STOPPED = 130


def attack_all(
    threat: ThreatModel,
    minutes: float,
    concept: Concept | None,
    labels: dict[str, str],
    seed: int,
    show_texts: bool,
    json: Path | None,
) -> None:
    """Run all that fits within the minutes; what is done when somebody stops it is kept."""
    began, stopped = time.monotonic(), False
    run = Everything(threat, minutes, concept=concept, labels=labels, seed=seed)
    with progress("setting up", 100) as bar:

        def move(label: str, share: float) -> None:
            bar.update(bar.task_ids[0], description=label, completed=round(100 * share))

        run.on_step = move
        try:
            for _ in run.run():
                pass
        except KeyboardInterrupt:
            stopped = True
            run.stopped()
    shown = most_telling(run.tried, threat.texts, concept) if show_texts else []
    _show(run, shown)
    write_json(json, _record(run, shown, threat, time.monotonic() - began, stopped))
    if stopped:
        raise typer.Exit(_STOPPED)


def _show(run: Everything, shown: list[Telling]) -> None:
    screen = console()
    if run.tried:
        made = table("attack", "reads", "measure", "clean", "without", "yours", "95 %", "rows", "seconds")
        for each in run.tried:
            made.add_row(*_line(each))
        screen.print(made)
        screen.print(
            "clean: the same attack on clean vectors. without: what is got without looking at a vector. "
            "A low figure says what was tried, not that the vectors are safe.",
            highlight=False,
        )
    else:
        screen.print("No attack could be run.")
    for name, reason in run.left_out:
        screen.print(f"left out: {name}: {reason}", highlight=False, markup=False)
    for row in shown:
        screen.print(f"row {row.row}  {row.attack}  read  {escape(row.read)}", highlight=False)
        if row.true is not None:
            screen.print(f"row {row.row}  {row.attack}  true  {escape(row.true)}", highlight=False)


def _line(each: Tried) -> list[str]:
    figure = each.figure
    return [
        each.name,
        each.reads,
        "-" if figure is None else figure.metric,
        _value(each.control),
        "-" if each.prior is None else f"{each.prior:.3f}",
        _value(figure),
        "not scored" if figure is None else f"{figure.low:.3f}-{figure.high:.3f}",
        str(each.rows),
        f"{each.seconds:.1f}",
    ]


def _value(figure: Figure | None) -> str:
    return "-" if figure is None else f"{figure.value:.3f}"


def _record(
    run: Everything, shown: list[Telling], threat: ThreatModel, seconds: float, stopped: bool
) -> dict[str, Any]:
    return {
        "attacks": [each.to_dict() for each in run.tried],
        "left_out": [{"attack": name, "reason": reason} for name, reason in run.left_out],
        "telling": [row.to_dict() for row in shown],
        "minutes": run.minutes,
        "seconds": round(seconds, 3),
        "stopped": stopped,
        "seed": run.seed,
        "victim": None if threat.victim is None else threat.victim.guarantee.to_dict(),
    }
