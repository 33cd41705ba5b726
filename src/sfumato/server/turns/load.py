"""What the gateway has taken on: a request that could not be done in time beside it is refused at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sfumato.server.http.problems import Problem
from sfumato.server.turns.work import Work

SURE = 0.8
"""Part of the time that is left which the work may be expected to take."""


class Load:
    """Seconds of work that requests under way still need; used from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left: dict[int, tuple[str, float]] = {}

    @contextmanager
    def taken(self, work: Work, texts: int, seconds: float) -> Iterator[None]:
        """Take a request on, or refuse it; a single text is always taken on."""
        with self._lock:
            ends = self._ends(work.tenant, seconds)
            if texts > 1 and ends > SURE * (work.deadline - time.monotonic()):
                raise Problem(
                    503,
                    "The gateway is busy: these texts would not be done in time. Try again in a moment, or "
                    "send fewer at once.",
                    code="overloaded",
                    headers={"Retry-After": "1"},
                )
            self._left[id(work)] = work.tenant, seconds
        try:
            yield
        finally:
            with self._lock:
                del self._left[id(work)]

    def done(self, work: Work, seconds: float) -> None:
        """Say that some of it is done."""
        with self._lock:
            tenant, left = self._left[id(work)]
            self._left[id(work)] = tenant, max(0.0, left - seconds)

    def _ends(self, tenant: str, seconds: float) -> float:
        """When it would be done: after all that is under way, or sooner where shares are fair."""
        own = seconds + sum(left for name, left in self._left.values() if name == tenant)
        everybody = seconds + sum(left for _, left in self._left.values())
        return min(everybody, own * len({tenant, *(name for name, _ in self._left.values())}))
