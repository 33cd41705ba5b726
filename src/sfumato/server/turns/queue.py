"""Whose turn it is: a few requests are worked on at once, and tenants that wait are served in rotation."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque

from sfumato.server.http.problems import Problem


class Turns:
    """So many places to work at, and a queue a tenant in front of them; used from one event loop.

    Args:
        places: requests worked on at once.
        max_waiting: requests that may wait; where there is no room, the longest queue gives way.
        spare: further places, each for a tenant that has no request under way.
    """

    def __init__(self, places: int, max_waiting: int, spare: int = 0) -> None:
        self._places, self._most, self._spare = places, max_waiting, spare
        self._running: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self.waiting = 0

    async def take(self, tenant: str) -> None:
        """Wait for a place; `give_back` must follow."""
        if tenant not in self._queues and self._has_place(tenant):
            self._running[tenant] += 1
            return
        if self.waiting >= self._most:
            self._make_room(tenant)
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(tenant, deque()).append(turn)
        self.waiting += 1
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled() and turn.exception() is None:  # it came, and nobody will use it
                self.give_back(tenant)
            else:
                self._leave_queue(tenant, turn)
            raise

    def give_back(self, tenant: str) -> None:
        """Hand the place to the tenant that has waited longest since its last turn, or keep it free."""
        self._running[tenant] -= 1
        if not self._running[tenant]:
            del self._running[tenant]
        while (waiting := next(filter(self._has_place, self._queues), None)) is not None:
            queue = self._queues.pop(waiting)
            turn = queue.popleft()
            self.waiting -= 1
            if queue:
                self._queues[waiting] = queue  # behind the others
            if not turn.done():
                self._running[waiting] += 1
                turn.set_result(None)

    def _has_place(self, tenant: str) -> bool:
        spare = 0 if self._running[tenant] else self._spare
        return self._running.total() < self._places + spare

    def _make_room(self, tenant: str) -> None:
        """Turn away the last of the longest queue, or the newcomer if that is his own."""
        longest = max(self._queues, key=lambda name: len(self._queues[name]), default=tenant)
        if longest == tenant or len(self._queues[longest]) <= len(self._queues.get(tenant, ())) + 1:
            raise _busy()
        turn = self._queues[longest][-1]
        self._leave_queue(longest, turn)
        if not turn.done():
            turn.set_exception(_busy())

    def _leave_queue(self, tenant: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(tenant)
        if queue is not None and turn in queue:
            queue.remove(turn)
            self.waiting -= 1
            if not queue:
                del self._queues[tenant]


def _busy() -> Problem:
    message = "The gateway is busy: too many requests are waiting. Try again in a moment."
    return Problem(503, message, code="overloaded", headers={"Retry-After": "1"})
