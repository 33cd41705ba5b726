"""One budget of bytes for all bodies in flight: a body is read when there is room for the whole of it."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass

from sfumato.server.http.problems import Problem

TENANTS_AT_ONCE = 4
"""So many tenants may each hold their whole share of the budget."""
MOST_WAITING = 32
"""Bodies of one tenant that may wait to be read; each holds what its connection has buffered."""


@dataclass(slots=True, eq=False)
class _Wait:
    tenant: str
    size: int
    room: asyncio.Future[None]


class Budget:
    """Bytes that may be held at once, by all tenants and by each; used from one event loop."""

    def __init__(self, whole: int, each: int) -> None:
        self._whole, self._each = whole, each
        self._held: Counter[str] = Counter()
        self._waiting: deque[_Wait] = deque()

    async def take(self, tenant: str, size: int) -> None:
        """Wait for room; `give_back` must follow."""
        if not any(wait.tenant == tenant for wait in self._waiting) and self._fits(tenant, size):
            self._held[tenant] += size
            return
        if sum(wait.tenant == tenant for wait in self._waiting) >= MOST_WAITING:
            message = "Too many large requests wait to be read. Try again in a moment."
            raise Problem(503, message, code="overloaded", headers={"Retry-After": "1"})
        wait = _Wait(tenant, size, asyncio.get_running_loop().create_future())
        self._waiting.append(wait)
        try:
            await wait.room
        except asyncio.CancelledError:
            if wait in self._waiting:
                self._waiting.remove(wait)
            elif not wait.room.cancelled():  # it came, and nobody will use it
                self.give_back(tenant, size)
            raise

    def give_back(self, tenant: str, size: int) -> None:
        """Make room for the next that fits; nobody has to wait behind another tenant's."""
        self._held[tenant] -= size
        if not self._held[tenant]:
            del self._held[tenant]
        behind: set[str] = set()
        for wait in list(self._waiting):
            if wait.tenant in behind:
                continue
            if not self._fits(wait.tenant, wait.size):
                behind.add(wait.tenant)
                continue
            self._waiting.remove(wait)
            if not wait.room.done():
                self._held[wait.tenant] += wait.size
                wait.room.set_result(None)

    def _fits(self, tenant: str, size: int) -> bool:
        return self._held[tenant] + size <= self._each and self._held.total() + size <= self._whole
