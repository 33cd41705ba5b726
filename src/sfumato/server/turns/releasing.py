"""Releasing for one tenant: requests that wait at the same time share one write to the ledger.

The write is synced to disk, which costs the same for one text as for a thousand. All of it comes before any
noise; a request that the ledger refuses is then tried alone, so that it costs nobody else anything.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.preparing import Prepared
from sfumato.protector import Protector
from sfumato.queries import release_clean
from sfumato.server.http.problems import Problem
from sfumato.server.http.requests import InputType
from sfumato.server.turns.work import Work

MOST = 4096
"""Texts in one write; a request that is larger alone still goes whole."""


@dataclass(slots=True, eq=False, repr=False)
class _Pending:
    texts: list[str]
    ready: Prepared
    role: InputType
    work: Work
    vectors: NDArray[np.float32] | None = None
    error: Exception | None = None

    @property
    def done(self) -> bool:
        return self.vectors is not None or self.error is not None


class TimedLedger:
    """A ledger that notes how long its last write took; one release is made at a time."""

    def __init__(self, ledger: Any) -> None:
        self._ledger = ledger
        self.begun = self.ended = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ledger, name)

    def spend(self, *args: Any, **more: Any) -> Any:
        """Write down what is spent, as the ledger does."""
        self.begun = time.time_ns()
        try:
            return self._ledger.spend(*args, **more)
        finally:
            self.ended = time.time_ns()


class Releaser:
    """Whoever finds it free releases for all who wait."""

    def __init__(self, protector: Protector) -> None:
        ledger: Any = None if protector.ledger is None else TimedLedger(protector.ledger)
        self._ledger, self._protector = ledger, replace(protector, ledger=ledger)
        self._free = threading.Condition()
        self._waiting: list[_Pending] = []
        self._busy = False

    def release(self, texts: list[str], ready: Prepared, role: InputType, work: Work) -> NDArray[np.float32]:
        """Put texts on the ledger and release their vectors; `work` knows whether anybody waits for them."""
        job = _Pending(texts, ready, role, work)
        with self._free:
            self._waiting.append(job)
            while not job.done:
                if self._busy:
                    self._free.wait()
                else:
                    self._work_off()
        if job.error is not None:
            raise job.error
        assert job.vectors is not None
        return job.vectors

    def _work_off(self) -> None:
        """Release what waits and fits together; called with the condition held."""
        jobs = self._together()
        self._busy = True
        self._free.release()
        try:
            self._release(jobs)
        finally:
            self._free.acquire()
            self._busy = False
            self._free.notify_all()

    def _together(self) -> list[_Pending]:
        role, rows = self._waiting[0].role, 0
        jobs: list[_Pending] = []
        for job in self._waiting:
            if job.role == role and (not jobs or rows + len(job.texts) <= MOST):
                jobs.append(job)
                rows += len(job.texts)
        self._waiting = [job for job in self._waiting if job not in jobs]
        return jobs

    def _released(self, ready: Prepared, role: InputType) -> NDArray[np.float32]:
        if role == "clean_query":
            return release_clean(self._protector, ready)
        return self._protector.release(ready, role=role)

    def _release(self, jobs: list[_Pending]) -> None:
        for job in jobs:
            try:
                job.work.check()
            except Problem as given_up:
                job.error = given_up
        wanted = [job for job in jobs if not job.done]
        if not wanted:
            return
        try:
            together = Prepared.together([job.ready for job in wanted])
            begun = time.time_ns()
            vectors = self._released(together, wanted[0].role)
        except Exception as error:
            if len(wanted) == 1:
                wanted[0].error = error
                return
            for job in wanted:
                self._release([job])
            return
        ends = np.cumsum([len(job.texts) for job in wanted])[:-1]
        ended = time.time_ns()
        for job, rows in zip(wanted, np.split(vectors, ends), strict=True):
            figures = {"texts": len(job.texts), "together": len(vectors)}
            job.work.trace.note("release", begun, ended, **figures)
            if self._ledger is not None:
                job.work.trace.note("ledger", self._ledger.begun, self._ledger.ended, **figures)
            job.vectors = rows
