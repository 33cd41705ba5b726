"""What every request passes first: who asks, how much is sent, how long it takes; and what is noted of it.

A plain ASGI layer around the application. A key is checked before a single byte of a body is read.
"""

from __future__ import annotations

import asyncio
import json
import logging
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from sfumato.server.keys import KeyRing
from sfumato.server.logs import tell
from sfumato.server.metrics import Metrics
from sfumato.server.problems import GONE, Problem, problem_of
from sfumato.server.settings import GatewaySettings, is_loopback
from sfumato.server.tenants import LOCAL

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

OPEN = frozenset({"/", "/health", "/openapi.json"})
"""Paths that hold nothing of anybody's."""
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-resource-policy": "same-origin",
}


@dataclass(slots=True)
class Visit:
    """One request, as the log and the figures see it."""

    id: str
    tenant: str = ""
    body: bytes = b""
    route: str = "other"
    status: int = 0
    texts: int = 0
    role: str = ""
    sent: int = 0
    finished: bool = False
    begun: float = field(default_factory=time.perf_counter)


class Guard:
    """The outermost layer of the gateway."""

    def __init__(self, app: App, settings: GatewaySettings, ring: KeyRing | None, metrics: Metrics) -> None:
        self._app, self._settings, self._ring, self._metrics = app, settings, ring, metrics

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        """Let a request through, or answer it here."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self._app(scope, receive, send)
            return
        visit = Visit(secrets.token_hex(8))
        scope.setdefault("state", {})["visit"] = visit
        answer = self._answering(visit, send)
        try:
            headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
            visit.tenant = self._admit(scope, headers)
            visit.body = await self._read(headers, receive)
            await self._app(scope, receive, answer)
        except asyncio.CancelledError:
            visit.status = visit.status or GONE
            raise
        except Exception as error:
            await self._refuse(visit, error, answer)
        finally:
            self._note(scope, visit)

    def _admit(self, scope: dict[str, Any], headers: dict[str, str]) -> str:
        """The tenant who asks, or a refusal."""
        if self._ring is None:
            _from_here(scope, headers)
            return LOCAL
        scheme, _, key = headers.get("authorization", "").partition(" ")
        tenant = self._ring.tenant_of(key.strip()) if scheme.lower() == "bearer" else None
        if tenant is None and scope["path"] not in OPEN:
            message = "A valid API key is needed: Authorization: Bearer KEY."
            raise Problem(401, message, code="invalid_api_key", headers={"WWW-Authenticate": "Bearer"})
        return tenant or ""

    async def _read(self, headers: dict[str, str], receive: Receive) -> bytes:
        """The whole body, refused as soon as it is known to be too long or too slow."""
        most = self._settings.max_bytes
        too_long = Problem(
            413, f"A request must stay under {most} bytes.", code="too_large", headers={"Connection": "close"}
        )
        length = headers.get("content-length", "0")
        if length.isdigit() and int(length[:20]) > most:
            raise too_long
        slow = f"The request must arrive within {self._settings.read_timeout:g} seconds."
        try:
            return await asyncio.wait_for(_whole(receive, most, too_long), self._settings.read_timeout)
        except asyncio.TimeoutError:
            raise Problem(408, slow, code="too_slow", headers={"Connection": "close"}) from None

    def _answering(self, visit: Visit, send: Send) -> Send:
        """Send with the headers every answer has, to a client that takes what it is sent."""

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start":
                visit.status = message["status"]
                given = {name.lower() for name, _ in message.get("headers", [])}
                extra = {**_HEADERS, "cache-control": "no-store", "x-request-id": visit.id}
                added = [(name.encode(), value.encode()) for name, value in extra.items()]
                kept = [*message.get("headers", []), *((n, v) for n, v in added if n not in given)]
                message = {**message, "headers": kept}
            visit.sent += len(message.get("body", b""))
            await asyncio.wait_for(send(message), self._settings.read_timeout)
            visit.finished = message["type"] == "http.response.body" and not message.get("more_body", False)

        return answer

    async def _refuse(self, visit: Visit, error: Exception, answer: Send) -> None:
        problem = problem_of(error)
        if problem.status == 500:
            tell("failed", logging.ERROR, error=error, id=visit.id)
        if visit.finished:
            return
        if visit.status:  # half of an answer is out: nothing can be put right
            tell("cut off", logging.WARNING, id=visit.id, error=error)
            raise ConnectionAbortedError("The answer could not be finished.") from None
        body = json.dumps(problem.body()).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **problem.headers}
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        try:
            await answer({"type": "http.response.start", "status": problem.status, "headers": raw})
            await answer({"type": "http.response.body", "body": body})
        except (OSError, asyncio.TimeoutError):
            visit.status = GONE

    def _note(self, scope: dict[str, Any], visit: Visit) -> None:
        route = scope.get("route")
        visit.route = getattr(route, "path", "other")
        seconds = time.perf_counter() - visit.begun
        # Methods and paths are named only where they are ours: a client may write anything there.
        method = scope["method"] if scope["method"] in {"GET", "HEAD", "POST"} else "other"
        self._metrics.requests.labels(visit.route, str(visit.status)).inc()
        self._metrics.seconds.labels(visit.route).observe(seconds)
        tell(
            "request",
            id=visit.id,
            method=method,
            route=visit.route,
            status=visit.status,
            tenant=visit.tenant,
            texts=visit.texts,
            role=visit.role,
            received=len(visit.body),
            sent=visit.sent,
            milliseconds=round(1000 * seconds, 1),
        )


async def _whole(receive: Receive, most: int, too_long: Problem) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(GONE, "The client hung up.", code="client_gone")
        body += message.get("body", b"")
        if len(body) > most:
            raise too_long
        if not message.get("more_body", False):
            return bytes(body)


def _from_here(scope: dict[str, Any], headers: dict[str, str]) -> None:
    """Without keys: only this machine, and no page of another site that talks through a browser here."""
    client = scope.get("client")
    host = urlsplit(f"//{headers.get('host', '')}")
    name = _hostname(host)
    if client is None or not is_loopback(client[0]) or not is_loopback(name):
        message = "Without keys this gateway answers this machine alone, under the name localhost."
        raise Problem(403, message, code="loopback_only")
    origin = headers.get("origin")
    foreign = headers.get("sec-fetch-site", "none") not in {"none", "same-origin"}
    if foreign or (origin is not None and origin.partition("://")[2] != headers.get("host")):
        raise Problem(403, "Pages of other sites may not use this gateway.", code="foreign_origin")


def _hostname(host: Any) -> str:
    try:
        return host.hostname or ""
    except ValueError:
        return ""
