"""What every command shares: one console, one way to write JSON, one way to show progress."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from sfumato.files import write_atomic

JsonOption = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write the results as JSON to FILE as well.", dir_okay=False),
]


def console() -> Console:
    """Standard output, plain when it is not a terminal."""
    return Console(soft_wrap=not Console().is_terminal)


def write_json(path: Path | None, data: Any) -> None:
    """Write `data` to `path` if one was given."""
    if path is not None:
        write_atomic(path, (json.dumps(data, indent=2, allow_nan=False) + "\n").encode())


class _Rate(ProgressColumn):
    """How many are done a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Show the speed as far as it is known."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} {self._unit}/s" if speed else "")


@contextmanager
def progress(label: str, total: int | None, *, rate: str | None = None) -> Iterator[Progress]:
    """Show a progress bar on standard error while the block runs; show nothing when it is not a terminal.

    With `rate`, the name of what is counted, it also says how many are done a second.
    """
    stderr = Console(stderr=True)
    extra = [] if rate is None else [_Rate(rate)]
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        *extra,
        TimeRemainingColumn(),
        console=stderr,
        transient=True,
        disable=not stderr.is_terminal,
    ) as bar:
        bar.add_task(label, total=total)
        yield bar
