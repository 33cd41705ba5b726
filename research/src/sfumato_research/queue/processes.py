"""A job as a process group of its own: its log, its environment, and how it is ended with all it started."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from sfumato_research.queue.plan import QueuedJob

_LOOK = 0.05


class JobProcess:
    """A job that was begun.

    Its program is told how many cores it has (`OMP_NUM_THREADS`, `SFUMATO_THREADS`), unless its environment
    says otherwise. The word `python` stands for the Python that the queue runs in.

    Args:
        job: what to begin.
        log: file to which its output is added.
    """

    def __init__(self, job: QueuedJob, log: Path) -> None:
        own = {"OMP_NUM_THREADS": str(job.cores), "SFUMATO_THREADS": str(job.cores), "PYTHONUNBUFFERED": "1"}
        words = [sys.executable, *job.run[1:]] if job.run[0] == "python" else list(job.run)
        with log.open("ab") as out:
            out.write(f"# {time.strftime('%Y-%m-%d %H:%M:%S')} {shlex.join(words)}\n".encode())
            out.flush()
            self._leader = subprocess.Popen(
                words,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, **own, **job.environment},
                start_new_session=True,
            )
        self.group = self._leader.pid

    def ended(self) -> int | None:
        """The exit code of its program, or None while it runs; what it left behind ends with it."""
        code = self._leader.poll()
        if code is not None:
            self.signal(signal.SIGKILL)
        return code

    def signal(self, number: int) -> bool:
        """Send all processes of the group a signal; return whether any is left."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.group, number)
            return True
        return False

    def here(self) -> bool:
        """Whether any process of the group is left."""
        self._leader.poll()  # its program, once ended, would count for as long as nobody asks
        return self.signal(0)

    def wait(self) -> int:
        """The exit code of a program that was killed."""
        return self._leader.wait()


def end_all(processes: Sequence[JobProcess], grace: float) -> None:
    """Ask groups to end, wait so many seconds for those that are left, then kill these."""
    for each in processes:
        each.signal(signal.SIGTERM)
    last = time.monotonic() + grace
    while time.monotonic() < last and any(each.here() for each in processes):
        time.sleep(_LOOK)
    for each in processes:
        if each.here():
            each.signal(signal.SIGKILL)
        each.wait()
