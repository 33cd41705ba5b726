"""The queue itself: begins what fits, hears what ends, and ends everything at the deadline."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path
from types import FrameType

from sfumato_research.queue.fitting import QueueLimits, RunningClaim, next_job
from sfumato_research.queue.marks import done_before, forget, mark_done
from sfumato_research.queue.memory import memory_by_group
from sfumato_research.queue.plan import QueuedJob
from sfumato_research.queue.processes import JobProcess, end_all
from sfumato_research.queue.status import OVER, JobState, State, write_status

GRACE = 10.0
"""Seconds between being asked to end and being killed."""
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def silent(line: str) -> None:
    """Hear what happens, and say nothing."""


class JobQueue:
    """Jobs of a plan on one machine.

    Args:
        jobs: in the order of their worth.
        limits: what those that run together may take.
        folder: for logs, marks and `status.json`.
        minutes: after which everything is ended; None for no deadline.
        say: hears a line for each change.
        grace: seconds between being asked to end and being killed.
        pause: seconds between two looks at the jobs.
        look: seconds between two looks at the GPU's memory, and at most between two writings of the status.
        clock: seconds that pass.
    """

    def __init__(
        self,
        jobs: Sequence[QueuedJob],
        limits: QueueLimits,
        folder: Path,
        *,
        minutes: float | None = None,
        say: Callable[[str], object] = silent,
        grace: float = GRACE,
        pause: float = 0.2,
        look: float = 3.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.limits, self.folder, self.say = limits, folder, say
        self.grace, self.pause, self.look, self.clock = grace, pause, look, clock
        self.states = {job.name: JobState(job) for job in jobs}
        self._deadline = None if minutes is None else 60 * minutes
        self._began = clock()
        self._looked = self._written = float("-inf")
        self._changed = True
        self._stopped_by = ""
        self._processes: dict[str, JobProcess] = {}
        self._starts: dict[str, float] = {}

    @property
    def seconds(self) -> float:
        """Since the queue began."""
        return self.clock() - self._began

    def run(self) -> bool:
        """Run what is not done yet; return whether all jobs are done."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._began = self.clock()
        for name in done_before(self.folder, [state.job for state in self.states.values()]):
            self.states[name].state, self.states[name].why = "done", "in an earlier run"
        with self._heard():
            try:
                while self._goes_on():
                    time.sleep(self.pause)
            finally:
                self._end()
        return all(state.state == "done" for state in self.states.values())

    def _goes_on(self) -> bool:
        """Take one turn; return whether there is another."""
        self._reap()
        if self._deadline is not None and self.seconds >= self._deadline:
            self._stopped_by = self._stopped_by or "the deadline"
        if self._stopped_by:
            self._tell(f"{self._stopped_by}: {len(self._processes)} jobs are ended")
            return False
        self._pass_over()
        while (job := next_job(self._ready(), self._claims(), self.limits)) is not None:
            self._begin(job)
        self._look()
        if self._changed or self.clock() - self._written >= self.look:
            self._write()
        return bool(self._processes) or any(state.state == "waiting" for state in self.states.values())

    def _ready(self) -> list[QueuedJob]:
        """Jobs that wait for nothing but room."""
        done = {name for name, state in self.states.items() if state.state == "done"}
        return [
            state.job
            for state in self.states.values()
            if state.state == "waiting" and done.issuperset(state.job.after)
        ]

    def _claims(self) -> list[RunningClaim]:
        now = self.clock()
        jobs = {name: self.states[name].job for name in self._processes}
        return [
            RunningClaim(job, max(0.0, 60 * job.minutes - (now - self._starts[name])))
            for name, job in jobs.items()
        ]

    def _begin(self, job: QueuedJob) -> None:
        state = self.states[job.name]
        forget(self.folder, job)
        state.started = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._starts[job.name] = self.clock()
        try:
            self._processes[job.name] = JobProcess(job, self.folder / f"{job.name}.log")
        except OSError as error:
            self._change(state, "failed", f"could not be begun: {error.strerror or error}")
            return
        self._change(state, "running", "", f"{job.memory:g} GB, {job.cores} cores, {job.minutes:g} minutes")

    def _reap(self) -> None:
        """Hear of programs that have ended."""
        for name, process in list(self._processes.items()):
            state = self.states[name]
            state.seconds = self.clock() - self._starts[name]
            state.code = process.ended()
            if state.code is None:
                continue
            del self._processes[name]
            if state.code == 0:
                mark_done(self.folder, state.job, state.seconds)
                self._change(state, "done", "", f"{state.seconds:.0f} s")
            else:
                self._change(state, "failed", f"exit code {state.code}, see {self.folder / name}.log")

    def _pass_over(self) -> None:
        """Give up jobs that can no longer begin, and those that come after them."""
        changed = True
        while changed:
            changed = False
            for state in self.states.values():
                why = self._hindered(state.job) if state.state == "waiting" else ""
                if why:
                    self._change(state, "passed over", why)
                    changed = True

    def _hindered(self, job: QueuedJob) -> str:
        """Why a job cannot begin any more, if it cannot."""
        for name in job.after:
            became = self.states[name].state
            if became in OVER:
                return f"{name} failed" if became == "failed" else f"{name} was {became}"
        if self._deadline is not None and self.seconds + 60 * job.minutes > self._deadline:
            return f"its {job.minutes:g} minutes go past the deadline"
        return ""

    def _look(self) -> None:
        """See how much memory each job holds, every few seconds."""
        now = self.clock()
        if not self._processes or now - self._looked < self.look:
            return
        self._looked = now
        used = memory_by_group()
        for name, process in self._processes.items():
            if process.group in used:
                self.states[name].peak = max(self.states[name].peak or 0.0, used[process.group])

    def _end(self) -> None:
        """End what still runs before anything else, then write and say what was not done."""
        left, why = dict(self._processes), self._stopped_by or "an error"
        end_all(list(left.values()), self.grace)
        self._processes.clear()
        for name, process in left.items():
            state = self.states[name]
            state.state, state.why, state.code = "stopped", f"by {why}", process.wait()
            state.seconds = self.clock() - self._starts[name]
        waiting = [state for state in self.states.values() if state.state == "waiting"]
        for state in waiting:
            state.state, state.why = "passed over", f"{why} came first"
        self._write()
        for state in [*(self.states[name] for name in left), *waiting]:
            self._tell(f"{state.job.name} {state.state}: {state.why}")

    def _change(self, state: JobState, to: State, why: str, told: str = "") -> None:
        state.state, state.why, self._changed = to, why, True
        self._tell(f"{state.job.name} {to}: {why or told}")

    def _tell(self, line: str) -> None:
        self.say(f"{self.seconds:7.0f} s  {line}")

    def _write(self) -> None:
        self._written, self._changed = self.clock(), False
        write_status(self.folder / "status.json", self.states, self.limits, self.seconds, self._deadline)

    @contextmanager
    def _heard(self) -> Iterator[None]:
        """Take an interrupt as the end of the queue, so that no job outlives it."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def stop(number: int, frame: FrameType | None) -> None:
            self._stopped_by = self._stopped_by or f"an interrupt ({signal.Signals(number).name})"

        # One that whoever began the queue has turned off, as nohup does, stays so.
        able = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, stop) for number in able}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
