"""How far long work is: a bar on a terminal, now and then a line in a log file, nothing under `--quiet`."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from sfumato.cli.manners import is_quiet

FIRST_LINE, LONGEST_PAUSE = 10.0, 60.0
"""Seconds to the first line of a log, and between two of them once the work is long."""
FORETOLD = 0.05
"""The share of the work from which on it is said how long the rest will take."""


class _Rate(ProgressColumn):
    """How many are done a second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self._unit = unit

    def render(self, task: Task) -> Text:
        """Show the speed as far as it is known."""
        speed = task.finished_speed or task.speed
        return Text(f"{speed:,.0f} {self._unit}/s" if speed else "")


class _Count(ProgressColumn):
    """How many are done, and of how many where that is known."""

    def render(self, task: Task) -> Text:
        """Say nothing where nothing is counted."""
        return Text(_counted(task), style="progress.download")


@contextmanager
def progress(label: str, total: int | None, *, rate: str | None = None) -> Iterator[Progress]:
    """Show on standard error how far the block is.

    With `rate`, the name of what is counted, it also says how many are done a second.
    """
    stderr = Console(stderr=True)
    extra = [] if rate is None else [_Rate(rate)]
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        _Count(),
        *extra,
        TimeRemainingColumn(),
        console=stderr,
        transient=True,
        disable=is_quiet() or not stderr.is_terminal,
    )
    done = threading.Event()
    with bar:
        bar.add_task(label, total=total)
        if not (is_quiet() or stderr.is_terminal):
            threading.Thread(target=_lines, args=(bar, stderr, done), daemon=True).start()
        try:
            yield bar
        finally:
            done.set()


def _lines(bar: Progress, log: Console, done: threading.Event) -> None:
    """Write a line now and then, ever more seldom, until the work is done."""
    pause = FIRST_LINE
    while not done.wait(pause):
        log.print(line(bar.tasks[0]), soft_wrap=True, markup=False, highlight=False)
        pause = min(2 * pause, LONGEST_PAUSE)


def grow(bar: Progress, label: str, total: int) -> None:
    """Say how many there are to do, as far as is known; with a new label another task begins."""
    (task,) = bar.tasks
    if task.description != label:
        bar.reset(task.id, total=total, description=label)
    else:
        bar.update(task.id, total=total)


def line(task: Task) -> str:
    """One task in words: what, how much of it, for how long, and how long still."""
    counted = _counted(task)
    words = [f"sfumato: {task.description}" + (f": {counted}" if counted else "")]
    words.append(f"after {task.elapsed or 0:,.0f} s")
    if task.total and task.elapsed and task.completed >= FORETOLD * task.total:
        # By the latest speed where it is known: what a cache had was there at once.
        speed = task.speed or task.completed / task.elapsed
        words.append(f"about {(task.total - task.completed) / speed:,.0f} s to go")
    return ", ".join(words)


def _counted(task: Task) -> str:
    if task.total is None:
        return f"{task.completed:,.0f}" if task.completed else ""
    return f"{task.completed:,.0f} of {task.total:,.0f}"
