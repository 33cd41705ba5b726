"""uvicorn's HTTP protocol with patience that ends, for a bounded number of connections.

A client that never finishes its headers is cut off. Where all places are taken, the one that has been silent
longest makes room, so that clients who say nothing shut nobody out. A connection that is closed before its
request was read goes on throwing away what comes, for a while: an answer would be lost otherwise.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

from sfumato.server.http.logs import tell

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SECONDS_VARIABLE = "SFUMATO_SERVE_READ_TIMEOUT"
CONNECTIONS_VARIABLE = "SFUMATO_SERVE_MAX_CONNECTIONS"
_DEFAULT_SECONDS, _DEFAULT_CONNECTIONS = 20.0, 1024
_LINGER_SECONDS, _LINGER_BYTES = 5.0, 16 * 1024 * 1024
_LOG_SECONDS = 5.0


class PatientProtocol(H11Protocol):
    """Closes a connection on which a request's headers take too long."""

    _waiting: asyncio.TimerHandle | None = None
    _quiet_since = 0.0

    def connection_made(self, transport: Any) -> None:
        """Start the clock, once there is a place."""
        super().connection_made(_Parting(transport, self))
        self._quiet_since = self.loop.time()
        if len(self.connections) > _most():
            self._make_room()
        self._watch()

    def data_received(self, data: bytes) -> None:
        """Stop the clock when headers are complete; start it when new ones begin."""
        parting: _Parting = self.transport
        if parting.is_closing():
            parting.thrown_away(len(data))
            return
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clocks."""
        self._unwatch()
        self.transport.forget()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """Keep nothing of a body that nobody read."""
        self.cycle.body = bytearray()
        self._quiet_since = self.loop.time()
        super().on_response_complete()

    @property
    def idle(self) -> bool:
        """Whether no request is under way."""
        return self.cycle is None or self.cycle.response_complete

    @property
    def is_cut_short(self) -> bool:
        """Whether a request was answered before all of it came."""
        return self.cycle is not None and self.cycle.more_body and not self.cycle.disconnected

    def abort(self) -> None:
        """Close at once, whatever was sent."""
        self.transport.abort()

    def _make_room(self) -> None:
        """Close whoever has said nothing for longest; first those who have never asked for anything."""
        others = [each for each in self.connections if isinstance(each, PatientProtocol) and each.idle]
        others = [each for each in others if each is not self]
        if others:
            oldest = min(others, key=lambda each: (each.cycle is not None, each._quiet_since))
            self.connections.discard(oldest)
            oldest.abort()
            _COUNTS.note("silent connections were closed to make room")
        else:
            self.connections.discard(self)
            self.abort()
            _COUNTS.note("connections were refused: all are busy")

    def _watch(self) -> None:
        if not self.idle:
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
            _COUNTS.note("silent connections were closed")
            self.transport.close()


class _Parting:
    """A transport that, closed in the middle of a request, lets the client read the answer first."""

    def __init__(self, transport: Any, protocol: PatientProtocol) -> None:
        self._transport, self._protocol = transport, protocol
        self._end: asyncio.TimerHandle | None = None
        self._left = _LINGER_BYTES

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Also while it lingers."""
        return self._end is not None or bool(self._transport.is_closing())

    def close(self) -> None:
        """Close, at once where the whole request was read."""
        if self._end is not None:
            return
        if self._transport.is_closing() or not self._protocol.is_cut_short:
            self._transport.close()
            return
        self._end = self._protocol.loop.call_later(_LINGER_SECONDS, self._transport.abort)
        if self._transport.can_write_eof():
            self._transport.write_eof()
        self._protocol.flow.resume_reading()

    def forget(self) -> None:
        """The connection is gone."""
        if self._end is not None:
            self._end.cancel()

    def thrown_away(self, count: int) -> None:
        """Note what came too late; enough is enough."""
        self._left -= count
        if self._left < 0:
            self._transport.abort()


class _Counts:
    """What happens to many connections at once, in one line of the log every few seconds."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._told = -_LOG_SECONDS

    def note(self, event: str) -> None:
        """Count an event, and say so at once unless something was said just now."""
        self._counts[event] = self._counts.get(event, 0) + 1
        now = time.monotonic()
        wait = self._told + _LOG_SECONDS - now
        if wait <= 0:
            self._tell()
        elif sum(self._counts.values()) == 1:
            asyncio.get_running_loop().call_later(wait, self._tell)

    def _tell(self) -> None:
        self._told = time.monotonic()
        for event, count in self._counts.items():
            tell(event, logging.WARNING, connections=count, limit=_most())
        self._counts = {}


_COUNTS = _Counts()


def _most() -> int:
    """How many connections there may be, given how many files this process may open for all it does."""
    wanted = int(os.environ.get(CONNECTIONS_VARIABLE) or _DEFAULT_CONNECTIONS)
    if resource is None:
        return wanted
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return wanted if files == resource.RLIM_INFINITY else max(1, min(wanted, files * 3 // 4 - 32))


def allow_files(connections: int) -> None:
    """Ask the system for as many open files as so many connections need, where it lets us."""
    if resource is None:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = (connections + 32) * 4 // 3 + 1
    if soft != resource.RLIM_INFINITY and soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
