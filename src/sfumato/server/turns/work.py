"""One request's work in a thread: whose it is, whether anybody still waits for it, and its turns."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sfumato.server.http.problems import GONE, Problem
from sfumato.server.telemetry.traces import NO_TRACE, RequestTrace
from sfumato.server.turns.shares import Shares, Step


@dataclass(slots=True, eq=False, repr=False)
class Work:
    """What goes with a request into its thread; it is also the encoder's `on_batch`."""

    tenant: str
    shares: Shares = field(default_factory=Shares)
    stop: threading.Event = field(default_factory=threading.Event)
    """Set as soon as nobody waits any more."""
    deadline: float = math.inf
    trace: RequestTrace = NO_TRACE
    used: float = field(default=0.0, init=False)
    """Seconds of its own steps and of its parts of the encoder's, without waiting."""
    _step: Step | None = field(default=None, init=False)
    _begun: float = field(default=0.0, init=False)

    @property
    def stopped(self) -> bool:
        """Whether to give up."""
        return self.stop.is_set() or time.monotonic() > self.deadline

    def check(self) -> None:
        """Give up if nobody waits any more."""
        if self.stopped:
            raise Problem(GONE, "Nobody waits for this any more.", code="client_gone")

    def __call__(self, done: int) -> None:
        """Called by an encoder after each batch."""
        self.check()

    @contextmanager
    def step(self) -> Iterator[None]:
        """One heavy step, when it is this tenant's turn."""
        try:
            self.resume()
            yield
        finally:
            self.leave()

    def resume(self) -> None:
        """Wait for the step, or for another one after the encoder's."""
        if self._step is None:
            self._step = self.shares.enter(self.tenant, lambda: self.stopped)
            self._begun = time.monotonic()
        self.check()

    def leave(self) -> None:
        """End the step early, as the encoder does before it waits for a turn of its own."""
        if self._step is not None:
            self.used += time.monotonic() - self._begun
            self.shares.leave(self._step)
            self._step = None

    def slices(self, texts: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
        """The texts in parts that fit into a step, each with its first row."""
        first = 0
        while first < len(texts):
            self.check()
            last = first + self.shares.bound(self.tenant).fits(texts, first)
            yield first, list(texts[first:last])
            first = last
