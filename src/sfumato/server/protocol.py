"""uvicorn's HTTP protocol with patience that ends: a client that never finishes its headers is cut off."""

from __future__ import annotations

import asyncio
import os
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

SECONDS_VARIABLE = "SFUMATO_SERVE_READ_TIMEOUT"
_DEFAULT_SECONDS = 20.0


class PatientProtocol(H11Protocol):
    """Closes a connection on which a request's headers take too long."""

    _waiting: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start the clock."""
        super().connection_made(transport)
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop the clock when headers are complete; start it when new ones begin."""
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clock."""
        self._unwatch()
        super().connection_lost(exc)

    def _watch(self) -> None:
        idle = self.cycle is None or self.cycle.response_complete
        if not idle:
            self._unwatch()
        elif self._waiting is None and (self.cycle is None or self.conn.trailing_data[0]):
            seconds = float(os.environ.get(SECONDS_VARIABLE) or _DEFAULT_SECONDS)
            self._waiting = self.loop.call_later(seconds, self._give_up)

    def _unwatch(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None

    def _give_up(self) -> None:
        self._waiting = None
        if not self.transport.is_closing():
            self.transport.close()
