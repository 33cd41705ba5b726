"""Runs a plan of jobs on one machine: `python -m sfumato_research.queue PLAN.json`.

    ... research/gpu-plan.json --memory 130 --cores 16 --minutes 28 --logs LOGS --set DATA=... --set OUT=...
    ... research/gpu-plan.json --list --set ...                        # the jobs, and which are done
    ... research/gpu-plan.json --only 'practised-*' --memory 130 ...   # some jobs, and what they come after

A job that is done is marked beside its log and not run again, so a queue that was stopped goes on. Exit code
0: all jobs are done; 1: some are not; 2: the plan or an option is refused, and nothing was begun.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.blocks import thread_count
from sfumato.cli.output import console
from sfumato.errors import InputError
from sfumato_research.queue.fitting import QueueLimits
from sfumato_research.queue.marks import done_before
from sfumato_research.queue.plan import QueuedJob, chosen_jobs, read_jobs
from sfumato_research.queue.running import JobQueue
from sfumato_research.queue.status import aligned, closing_lines
from sfumato_research.queue.values import filled, open_names, read_values


def main(
    plan: Annotated[Path, typer.Argument(metavar="PLAN.json", exists=True, dir_okay=False)],
    memory: Annotated[float, typer.Option(min=0, help="GB of the GPU for all jobs together.")] = 0,
    cores: Annotated[int, typer.Option(min=0, help="For all jobs together; 0: all there are.")] = 0,
    minutes: Annotated[
        float | None, typer.Option(min=0, help="After which every job is ended; never, if left out.")
    ] = None,
    logs: Annotated[
        Path, typer.Option(help="For NAME.log, NAME.done and status.json.", file_okay=False)
    ] = Path("build/queue"),
    only: Annotated[
        list[str] | None,
        typer.Option(help="Only this job, or those of a pattern, and what they come after; again for more."),
    ] = None,
    given: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="What {NAME} stands for in the plan; again."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Show the jobs, and run none.")] = False,
) -> None:
    """Run a plan of jobs within limits of GPU memory, cores and time."""
    try:
        every = read_jobs(plan)
        jobs, values = chosen_jobs(every, only or []), read_values(given or [])
        if listed:
            _show(filled(jobs, {**_left_open(every), **values}, every), logs)
            return
        jobs, limits = filled(jobs, values, every), QueueLimits(memory, cores or thread_count(None))
        limits.require(jobs)
    except InputError as error:
        for line in str(error).splitlines():
            typer.echo(f"queue: {line}", err=True)
        raise typer.Exit(2) from None
    queue = JobQueue(jobs, limits, logs, minutes=minutes, say=_say)
    done = queue.run()
    for line in closing_lines(queue.states):
        _say(line)
    raise typer.Exit(0 if done else 1)


def _say(line: str) -> None:
    console().print(line, highlight=False, markup=False, soft_wrap=True)


def _left_open(jobs: list[QueuedJob]) -> dict[str, str]:
    """Names without a value, as they are written in the plan."""
    return {name: f"{{{name}}}" for name in open_names(jobs)}


def _show(jobs: list[QueuedJob], logs: Path) -> None:
    """The jobs in their order."""
    done = done_before(logs, jobs)
    rows = [
        (
            job.name,
            "yes" if job.name in done else "",
            f"{job.memory:g}{', exclusive' if job.exclusive else ''}",
            str(job.cores),
            f"{job.minutes:g}",
            ", ".join(job.after),
        )
        for job in jobs
    ]
    for line in aligned([("job", "done", "GB", "cores", "minutes", "after"), *rows]):
        _say(line)
    names = ", ".join(open_names(jobs))
    _say(f"{len(jobs)} jobs" + (f"; left open: {names}" if names else ""))


if __name__ == "__main__":
    typer.run(main)
