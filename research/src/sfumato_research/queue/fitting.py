"""Which job is begun next: the first that fits, and a later one only where no earlier one waits for it.

The first job that does not fit is given a time: when, by the estimates, enough of the running ones will have
ended. A later job may go before it if it is over by then by its own estimate, or if there is room for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sfumato_research.queue.plan import QueuedJob, refuse

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """What all jobs that run at one time may take together."""

    memory: float
    """GB of the GPU."""
    cores: int

    def hold(self, jobs: Sequence[QueuedJob]) -> bool:
        """Whether these may run side by side."""
        on_gpu = [job for job in jobs if job.memory > 0 or job.exclusive]
        alone = len(on_gpu) <= 1 or not any(job.exclusive for job in on_gpu)
        memory, cores = sum(job.memory for job in jobs), sum(job.cores for job in jobs)
        return alone and memory <= self.memory + _ROUNDING and cores <= self.cores

    def require(self, jobs: Sequence[QueuedJob]) -> None:
        """Refuse jobs that could never run."""
        wrong = []
        for job in jobs:
            if job.memory > self.memory:
                wrong.append(
                    f"Job `{job.name}`: `memory` must be at most what --memory allows, {self.memory:g} GB. "
                    f"Found {job.memory:g}. Allow more, or leave the job out with --only."
                )
            if job.cores > self.cores:
                wrong.append(
                    f"Job `{job.name}`: `cores` must be at most what --cores allows, {self.cores}. "
                    f"Found {job.cores}. Allow more, or leave the job out with --only."
                )
        refuse(wrong)


@dataclass(frozen=True, slots=True)
class RunningClaim:
    """What a job that runs holds, and for how many seconds more by its estimate."""

    job: QueuedJob
    left: float


def next_job(
    ready: Sequence[QueuedJob], running: Sequence[RunningClaim], limits: QueueLimits
) -> QueuedJob | None:
    """The job to begin now, of those that wait for nothing but room, in the plan's order; None for none."""
    if not ready:
        return None
    first, held = ready[0], [claim.job for claim in running]
    if limits.hold([*held, first]):
        return first
    seconds, beside = _its_time(first, running, limits)
    for job in ready[1:]:
        over = 60 * job.minutes <= seconds
        if limits.hold([*held, job]) and (over or limits.hold([*beside, first, job])):
            return job
    return None


def _its_time(
    job: QueuedJob, running: Sequence[RunningClaim], limits: QueueLimits
) -> tuple[float, list[QueuedJob]]:
    """In how many seconds there will be room for a job, and what will still run then."""
    ends = sorted(running, key=lambda claim: claim.left)
    for ended, claim in enumerate(ends, 1):
        beside = [each.job for each in ends[ended:]]
        if limits.hold([*beside, job]):
            return claim.left, beside
    return 0.0, []
