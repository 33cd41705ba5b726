"""Marks of jobs that are done, so that a queue that was stopped goes on: NAME.done beside NAME.log."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

from sfumato.files import write_atomic
from sfumato_research.queue.plan import QueuedJob


def mark_done(folder: Path, job: QueuedJob, seconds: float) -> None:
    """Write down that a job ended well, and which command it was."""
    ended = datetime.now(timezone.utc).isoformat(timespec="seconds")
    kept = {"digest": _digest(job), "ended": ended, "seconds": round(seconds, 1)}
    write_atomic(_path(folder, job), (json.dumps(kept) + "\n").encode())


def forget(folder: Path, job: QueuedJob) -> None:
    """Take the mark of a job away that is begun again."""
    _path(folder, job).unlink(missing_ok=True)


def done_before(folder: Path, jobs: Sequence[QueuedJob]) -> set[str]:
    """Names of jobs that need not run: marked with the same command, and so is all that they come after."""
    marked = {job.name for job in jobs if _is_marked(folder, job)}
    before = {job.name: set(job.after) for job in jobs}
    while late := {name for name in marked if not before[name] <= marked}:
        marked -= late
    return marked


def _is_marked(folder: Path, job: QueuedJob) -> bool:
    try:
        kept = json.loads(_path(folder, job).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(kept, dict) and kept.get("digest") == _digest(job)


def _digest(job: QueuedJob) -> str:
    return hashlib.blake2b(json.dumps(job.run).encode(), digest_size=16).hexdigest()


def _path(folder: Path, job: QueuedJob) -> Path:
    return folder / f"{job.name}.done"
