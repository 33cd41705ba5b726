"""What became of each job: the states that `status.json` holds, and the table at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from sfumato.files import write_atomic
from sfumato_research.queue.fitting import QueueLimits
from sfumato_research.queue.plan import QueuedJob

State = Literal["waiting", "running", "done", "failed", "stopped", "passed over"]
"""Stopped: begun and ended by the queue. Passed over: not begun, and `why` says why."""
OVER = ("failed", "stopped", "passed over")
"""States after which what comes after a job cannot begin."""


@dataclass(slots=True)
class JobState:
    """One job while the queue runs."""

    job: QueuedJob
    state: State = "waiting"
    why: str = ""
    started: str | None = None
    seconds: float = 0.0
    code: int | None = None
    peak: float | None = None
    """GB of the GPU at most, of the times that it was looked at; None where nobody knows."""

    def to_dict(self) -> dict[str, Any]:
        """The same, ready for JSON."""
        return {
            "state": self.state,
            "why": self.why,
            "started": self.started,
            "seconds": round(self.seconds, 1),
            "code": self.code,
            "memory": self.job.memory,
            "peak": None if self.peak is None else round(self.peak, 2),
        }


def write_status(
    path: Path, states: Mapping[str, JobState], limits: QueueLimits, seconds: float, deadline: float | None
) -> None:
    """Write how things stand, whole or not at all."""
    whole = {
        "seconds": round(seconds, 1),
        "deadline": None if deadline is None else round(deadline, 1),
        "memory": limits.memory,
        "cores": limits.cores,
        "jobs": {name: state.to_dict() for name, state in states.items()},
    }
    write_atomic(path, (json.dumps(whole, indent=1, allow_nan=False) + "\n").encode())


def closing_lines(states: Mapping[str, JobState]) -> list[str]:
    """A table of all jobs, and of what each took beside what it had claimed."""
    rows = [
        (
            name,
            each.state,
            "" if each.started is None else f"{each.seconds:.0f}",
            "" if each.code is None else str(each.code),
            f"{each.job.memory:g}",
            "" if each.peak is None else f"{each.peak:.1f}",
            each.why,
        )
        for name, each in states.items()
    ]
    return aligned([("job", "state", "seconds", "code", "GB claimed", "GB at most", "why"), *rows])


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines with their columns one below the other, every name whole however short a line is."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    ]
