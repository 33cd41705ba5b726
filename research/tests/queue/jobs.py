"""Jobs that are small programs: each notes in one file when it begins and ends."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from sfumato_research.queue.fitting import QueueLimits
from sfumato_research.queue.plan import QueuedJob
from sfumato_research.queue.running import JobQueue

_NOTE = """
import os, sys, time
def note(line):
    handle = os.open(sys.argv[1], os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    os.write(handle, (line + chr(10)).encode())
    os.close(handle)
note("begin " + sys.argv[2])
{body}
note("end " + sys.argv[2])
"""


def program(body: str, *arguments: object) -> tuple[str, ...]:
    """A Python program that begins at once, with nothing of ours in it."""
    return (sys.executable, "-I", "-S", "-c", body, *map(str, arguments))


def noting(notes: Path, name: str, body: str = "time.sleep(0.15)", **claims) -> QueuedJob:
    """A job that notes its begin, does something, and notes its end."""
    given = {"memory": 1, "cores": 1, "minutes": 1, **claims}
    return QueuedJob(name, program(_NOTE.format(body=body), notes, name), **given)


def noted(notes: Path) -> list[tuple[str, str]]:
    """What was noted: begin or end, and of which job."""
    lines = notes.read_text().splitlines() if notes.exists() else []
    return [(what, name) for what, _, name in (line.partition(" ") for line in lines)]


def begun(notes: Path) -> list[str]:
    return [name for what, name in noted(notes) if what == "begin"]


def queue_of(folder: Path, *jobs: QueuedJob, memory: float = 10, cores: int = 4, **options) -> JobQueue:
    given = {"grace": 0.5, "pause": 0.02, **options}
    return JobQueue(jobs, QueueLimits(memory, cores), folder, **given)


def is_gone(pid: int, seconds: float = 10.0) -> bool:
    """Whether a process ends; one that nobody has asked for its code yet counts as ended."""
    last = time.monotonic() + seconds
    while time.monotonic() < last:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.02)
    return False
