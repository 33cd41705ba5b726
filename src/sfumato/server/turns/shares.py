"""Fair shares of the processor: heavy steps run one at a time, and whoever has used least goes first.

What counts is what tenants used while others were there too (virtual time, as in start-time fair queueing:
Goyal, Vin and Cheng, 1996): whoever comes, or comes back, starts from where those who are there stand. So
nobody is owed for having been away, and nobody is in debt for what was used while no one else wanted it.

Finding concepts holds Python's lock and the encoder needs it between its operations, so running both at once
makes both slow and makes one tenant pay for another's texts. Steps are short instead, and chosen fairly. One
that turns out long is left to itself: those who have used less go on beside it, and its tenant has no other.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

CREDIT = 0.5
"""Seconds by which one who comes back may be ahead: a short request is not divided by long ones."""
ASKED = 0.1
"""Seconds that each waiting step counts as used: who asks for little goes before who floods."""
ACTIVE = 5.0
"""Seconds for which a tenant that asked for a step counts as being there."""
PATIENCE = 0.05
"""Seconds after which a step no longer keeps other tenants waiting."""
_LOOK = 0.25


def cost(text: str) -> int:
    """Characters that a text counts for: the shortest one is work too."""
    return max(len(text), 64)


class StepBound(NamedTuple):
    """The most that one step may take on; a single text always fits."""

    texts: int
    characters: int

    def fits(self, texts: Sequence[str], first: int = 0) -> int:
        """How many of the texts from `first` on fit; at least one where there is one."""
        count, room = 0, self.characters
        for text in texts[first : first + self.texts]:
            room -= cost(text)
            if room < 0 and count:
                break
            count += 1
        return count


ROOMY = StepBound(128, 20_000 * (os.cpu_count() or 1))
"""For a tenant that is alone: a full batch for every core, for which a newcomer may have to wait once."""
SHARED = StepBound(64, 4_096)
"""Where there are others, who wait for each other's."""
TIGHT = StepBound(8, 512)
"""For the one of them that has used most."""


@dataclass(slots=True, eq=False)
class Step:
    """A turn that is waited for, or under way."""

    tenant: str
    begun: float = 0.0


class Shares:
    """Whose step is next; used from many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._free = threading.Condition()
        self._waiting: list[Step] = []
        self._running: list[Step] = []
        self._used: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        self._level = 0.0

    def enter(self, tenant: str, given_up: Callable[[], bool]) -> Step | None:
        """Wait for a step, which `leave` ends; None once `given_up` says that none is wanted."""
        step = Step(tenant)
        with self._free:
            self._join(tenant)
            self._waiting.append(step)
            try:
                while not given_up():
                    now = self._clock()
                    if self._next(now) is step:
                        step.begun = now
                        self._running.append(step)
                        return step
                    # A client may hang up, and a step become long, without anybody telling this thread.
                    self._free.wait(PATIENCE if self._running else _LOOK)
                return None
            finally:
                self._waiting.remove(step)
                self._free.notify_all()

    def begin(self, step: Step) -> None:
        """Count a step from now on: until here it only waited for something."""
        with self._free:
            step.begun = self._clock()

    def leave(self, step: Step, shared: Mapping[str, float] | None = None) -> None:
        """End a step and charge its time to its tenant, or to those it was for by their parts of it."""
        with self._free:
            self._running.remove(step)
            now = self._clock()
            for tenant, part in ({step.tenant: 1.0} if shared is None else shared).items():
                self._used[tenant] = self._used.get(tenant, self._level) + part * (now - step.begun)
                self._seen[tenant] = now
            if not self._waiting and not self._running:
                # Nobody waited for it at its end.
                self._level = max(self._level, self._used.get(step.tenant, 0.0))
            self._free.notify_all()

    def bound(self, tenant: str) -> StepBound:
        """How much this tenant may take on in one step now."""
        with self._free:
            now = self._clock()
            others = [name for name, at in self._seen.items() if name != tenant and now - at < ACTIVE]
            if not others:
                return ROOMY
            return TIGHT if self._stands(tenant, now) > min(self._stands(o, now) for o in others) else SHARED

    def _stands(self, tenant: str, now: float) -> float:
        """What a tenant has used, what it is using, and what it asks for: the least goes first."""
        running = sum(now - step.begun for step in self._running if step.tenant == tenant)
        waiting = sum(step.tenant == tenant for step in self._waiting)
        least = self._level - CREDIT
        return max(self._used.get(tenant, least), least) + running + ASKED * waiting

    def _next(self, now: float) -> Step | None:
        """The step that may begin, if any may."""
        if any(now - step.begun < PATIENCE for step in self._running):
            return None
        tenants = {step.tenant for step in (*self._waiting, *self._running)}
        stands = {tenant: self._stands(tenant, now) for tenant in tenants}
        first = min(self._waiting, key=lambda step: stands[step.tenant])
        return None if any(stands[step.tenant] <= stands[first.tenant] for step in self._running) else first

    def _join(self, tenant: str) -> None:
        """Let a tenant start from where those who are there stand."""
        there = {step.tenant for step in (*self._waiting, *self._running)}
        if there:
            self._level = max(self._level, min(self._used.get(name, 0.0) for name in there))
        now = self._seen[tenant] = self._clock()
        if tenant in there:
            return
        least = self._level - CREDIT
        # Whoever is forgotten here would be lifted to the same place.
        self._used = {name: used for name, used in self._used.items() if used > least or name in there}
        self._used[tenant] = max(self._used.get(tenant, least), least)
        self._seen = {name: at for name, at in self._seen.items() if now - at < ACTIVE}
