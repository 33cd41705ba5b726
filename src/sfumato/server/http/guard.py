"""What every request passes first: who asks, how much is sent, how long it takes; and what is noted of it.

A plain ASGI layer around the application. A key is checked before a single byte of a body is read, a body is
read only where one is wanted and when there is room for it, and a connection without a key gets one answer.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from sfumato.server.http.budget import TENANTS_AT_ONCE, Budget
from sfumato.server.http.logs import tell
from sfumato.server.http.problems import GONE, Problem, problem_of
from sfumato.server.settings import GatewaySettings, is_loopback
from sfumato.server.telemetry.figures import Metrics
from sfumato.server.telemetry.traces import NO_TRACE, RequestTrace
from sfumato.server.tenancy.keys import KeyRing
from sfumato.server.tenancy.tenants import LOCAL

if TYPE_CHECKING:
    from sfumato.server.telemetry.exporting import Telemetry

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[dict[str, Any], Receive, Send], Awaitable[None]]

OPEN = frozenset({"/", "/health", "/openapi.json"})
"""Paths that hold nothing of anybody's."""
TAKES_BODY = re.compile(
    r"/v1/embeddings|/console/(try|sealed)|"
    r"/v1/collections/[a-z0-9][a-z0-9_-]{0,63}/(search|documents(/get|/delete)?)"
)
"""Paths where a body is read, of a POST."""
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
    body: bytes | bytearray = b""
    reserved: int = 0
    """Bytes of the budget that its body takes up."""
    parting: bool = True
    """Whether the connection ends with the answer: without a key, or with a body that was not read."""
    route: str = "other"
    status: int = 0
    texts: int = 0
    role: str = ""
    unread: int = 0
    """Texts in a language in which nothing finds what is to be hidden."""
    sent: int = 0
    finished: bool = False
    begun: float = field(default_factory=time.perf_counter)
    begun_at: int = field(default_factory=time.time_ns)
    trace: RequestTrace = NO_TRACE


class Guard:
    """The outermost layer of the gateway."""

    def __init__(
        self,
        app: App,
        settings: GatewaySettings,
        ring: KeyRing | None,
        metrics: Metrics,
        telemetry: Telemetry | None = None,
    ) -> None:
        self._app, self._settings, self._ring, self._metrics = app, settings, ring, metrics
        self._telemetry = telemetry
        whole, most = settings.max_inflight, settings.max_bytes
        self._budget = Budget(whole, whole if ring is None else max(most, whole // TENANTS_AT_ONCE))

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
            if self._telemetry is not None:
                # Whoever has no key is not asked which trace his request belongs to.
                visit.trace = self._telemetry.trace(headers if visit.tenant else {}, visit.begun_at)
            if scope["method"] == "POST" and TAKES_BODY.fullmatch(scope["path"]):
                await self._read(visit, headers, receive)
                visit.parting = not visit.tenant
            else:
                visit.parting = not visit.tenant or _announced(headers, 1) > 0
            await self._app(scope, receive, answer)
        except asyncio.CancelledError:
            visit.status = visit.status or GONE
            raise
        except Exception as error:
            await self._refuse(visit, error, answer)
        finally:
            self._note(scope, visit)
            if visit.reserved:
                visit.body = b""
                self._budget.give_back(visit.tenant, visit.reserved)

    def _admit(self, scope: dict[str, Any], headers: dict[str, str]) -> str:
        """The tenant who asks, or a refusal."""
        if self._ring is None:
            _from_here(scope, headers)
            return LOCAL
        scheme, _, key = headers.get("authorization", "").partition(" ")
        tenant = self._ring.tenant_of(key.strip()) if scheme.lower() == "bearer" else None
        if tenant is None and scope["path"] not in OPEN:
            message, code = "A valid API key is needed: Authorization: Bearer KEY.", "invalid_api_key"
            if self._ring.closed:
                message = "No key is accepted now: the gateway's keys file cannot be used. Its log says why."
                code = "keys_unavailable"
            raise Problem(401, message, code=code, headers={"WWW-Authenticate": "Bearer"})
        return tenant or ""

    async def _read(self, visit: Visit, headers: dict[str, str], receive: Receive) -> None:
        """Take the whole body in, refused as soon as it is known to be too long or too slow."""
        most, seconds = self._settings.max_bytes, self._settings.read_timeout
        size = _announced(headers, most)
        if size > most:
            raise _too_long(most)
        try:
            await asyncio.wait_for(self._budget.take(visit.tenant, size), seconds)
        except asyncio.TimeoutError:
            message = "There was no room for the request: others are larger or slower. Try again in a moment."
            raise Problem(503, message, code="overloaded", headers={"Retry-After": "1"}) from None
        visit.reserved = size
        try:
            visit.body = await asyncio.wait_for(_whole(receive, most), seconds)
        except asyncio.TimeoutError:
            slow = f"The request must arrive within {seconds:g} seconds."
            raise Problem(408, slow, code="too_slow") from None

    def _answering(self, visit: Visit, send: Send) -> Send:
        """Send with the headers every answer has, to a client that takes what it is sent in time."""
        end = float("inf")

        async def answer(message: Message) -> None:
            nonlocal end
            if message["type"] == "http.response.start":
                end = time.monotonic() + self._settings.timeout
                visit.status = message["status"]
                given = {name.lower() for name, _ in message.get("headers", [])}
                extra = {**_HEADERS, "cache-control": "no-store", "x-request-id": visit.id}
                if visit.parting:
                    extra["connection"] = "close"
                added = [(name.encode(), value.encode()) for name, value in extra.items()]
                kept = [*message.get("headers", []), *((n, v) for n, v in added if n not in given)]
                message = {**message, "headers": kept}
            visit.sent += len(message.get("body", b""))
            patience = min(self._settings.read_timeout, max(0.0, end - time.monotonic()))
            await asyncio.wait_for(send(message), patience)
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
        method = scope["method"] if scope["method"] in {"GET", "HEAD", "POST", "DELETE"} else "other"
        self._metrics.answered(visit.route, visit.status, seconds)
        figures: dict[str, Any] = {
            "method": method,
            "route": visit.route,
            "status": visit.status,
            "tenant": visit.tenant,
            "texts": visit.texts,
            "role": visit.role,
            "unread": visit.unread,
            "received": len(visit.body),
            "sent": visit.sent,
        }
        if self._telemetry is not None and visit.trace is NO_TRACE:
            visit.trace = self._telemetry.trace({}, visit.begun_at)
        visit.trace.end(**figures)
        tell("request", id=visit.id, **figures, milliseconds=round(1000 * seconds, 1))


def _announced(headers: dict[str, str], unknown: int) -> int:
    """The length of a body as its headers have it, `unknown` where they leave it open."""
    if "transfer-encoding" in headers:
        return unknown
    length = headers.get("content-length", "0")
    return int(length[:20]) if length.isdigit() else unknown


def _too_long(most: int) -> Problem:
    return Problem(413, f"A request must stay under {most} bytes.", code="too_large")


async def _whole(receive: Receive, most: int) -> bytearray:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Problem(GONE, "The client hung up.", code="client_gone")
        body += message.get("body", b"")
        if len(body) > most:
            raise _too_long(most)
        if not message.get("more_body", False):
            return body


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
