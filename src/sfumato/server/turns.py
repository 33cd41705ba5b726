"""Whose turn it is: a few requests are worked on at once, and tenants that wait are served in rotation."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque

from sfumato.server.problems import Problem


class Turns:
    """So many places to work at, and a queue a tenant in front of them; used from one event loop."""

    def __init__(self, places: int, max_waiting: int) -> None:
        self._free, self._most = places, max_waiting
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self.waiting = 0

    async def take(self, tenant: str) -> None:
        """Wait for a place; `give_back` must follow."""
        if self._free > 0:
            self._free -= 1
            return
        if self.waiting >= self._most:
            message = "The gateway is busy: too many requests are waiting. Try again in a moment."
            raise Problem(503, message, code="overloaded", headers={"Retry-After": "1"})
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(tenant, deque()).append(turn)
        self.waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it came, and nobody will use it
                self.give_back()
            else:
                self._leave_queue(tenant, turn)
            raise

    def give_back(self) -> None:
        """Hand the place to the tenant that has waited longest since its last turn, or keep it free."""
        while self._queues:
            tenant, queue = self._queues.popitem(last=False)
            turn = queue.popleft()
            self.waiting -= 1
            if queue:
                self._queues[tenant] = queue
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1

    def _leave_queue(self, tenant: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(tenant)
        if queue is not None and turn in queue:
            queue.remove(turn)
            self.waiting -= 1
            if not queue:
                del self._queues[tenant]
