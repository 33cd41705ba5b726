"""Runs several studies side by side, each in a process of its own with its share of the cores."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any

from sfumato.blocks import thread_count
from sfumato.errors import InputError, SfumatoError
from sfumato.scale.processes import end_with_parent
from sfumato_research.studies.base import Setting, Study, silent
from sfumato_research.studies.running import StudyRun, check_data, run_study

OnEvent = Callable[[Study, str, int], object]
"""A study, what it does now, and how many parts it has ended since."""


def run_together(
    studies: Sequence[Study],
    setting: Setting,
    folder: Path,
    *,
    jobs: int,
    only: Collection[str] = (),
    again: bool = False,
    on_event: OnEvent = lambda study, step, ended: None,
) -> Iterator[tuple[Study, StudyRun]]:
    """Run studies in `jobs` processes, those of most parts first; yield each as it is done.

    When one fails, those that run go on to their end, no other is begun, and then the error is raised.
    """
    for study in studies:
        check_data(study, setting, only)
    context = get_context("spawn")  # torch and BLAS have threads, which a fork would copy in mid-flight
    waiting = sorted(studies, key=lambda study: len(study.parts))
    running: dict[Any, tuple[Study, Any]] = {}
    failed: SfumatoError | None = None
    try:
        while running or (waiting and failed is None):
            while waiting and len(running) < jobs and failed is None:
                study = waiting.pop()
                ours, theirs = context.Pipe(duplex=False)
                quiet = replace(setting, on_step=silent)  # the caller's may not travel
                process = context.Process(target=_run, args=(theirs, study, quiet, folder, only, again))
                with _share_of_cores(jobs):
                    process.start()
                theirs.close()
                running[ours] = study, process
            ready: list[Any] = connection.wait(list(running))
            for pipe in ready:
                study, process = running[pipe]
                told = _told(pipe, study, process)
                if isinstance(told, tuple):
                    on_event(study, *told)
                    continue
                running.pop(pipe)
                process.join()
                if isinstance(told, StudyRun):
                    yield study, told
                else:
                    failed = failed or told
    finally:
        for _, process in running.values():
            process.terminate()
            process.join()
    if failed is not None:
        raise failed


def _told(pipe: Any, study: Study, process: Any) -> tuple[str, int] | StudyRun | SfumatoError:
    """What a process says next: a step, that it is done, or why it failed."""
    try:
        told: tuple[str, int] | StudyRun | SfumatoError = pipe.recv()
    except EOFError:
        process.join()
        return SfumatoError(
            f"The study {study.name} ended with code {process.exitcode} before it was done. Run the command "
            "again to go on, with --jobs 1 if it was for want of memory."
        )
    return told


def _run(pipe: Any, study: Study, setting: Setting, folder: Path, only: Collection[str], again: bool) -> None:
    """What a process does: run one study, and tell the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent alone decides
    threading.Thread(target=end_with_parent, daemon=True).start()
    loud = replace(setting, on_step=lambda step: pipe.send((step, 0)))
    try:
        done = run_study(
            study,
            loud,
            folder,
            only=only,
            again=again,
            on_part=lambda part, state: pipe.send((part.name, int(state != "running"))),
        )
    except SfumatoError as error:
        # Some errors cannot be sent as they are; what a user needs is the line, and whose fault it was.
        kind = InputError if isinstance(error, InputError) else SfumatoError
        pipe.send(kind(str(error)))
    else:
        pipe.send(done)


@contextmanager
def _share_of_cores(jobs: int) -> Iterator[None]:
    """Processes started here keep to their share; libraries read it when they are loaded."""
    before = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "SFUMATO_THREADS")}
    share = str(max(1, thread_count(None) // jobs))
    os.environ.update(dict.fromkeys(before, share))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
