"""What every command shares: one console, one way to write JSON, one way to show progress."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

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


@contextmanager
def progress(label: str, total: int | None) -> Iterator[Progress]:
    """Show a progress bar on standard error while the block runs; show nothing when it is not a terminal."""
    stderr = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=stderr,
        transient=True,
        disable=not stderr.is_terminal,
    ) as bar:
        bar.add_task(label, total=total)
        yield bar
