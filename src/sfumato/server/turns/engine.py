"""Doing the work off the event loop: in turn, in time, and given up where nobody waits any more."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.languages.coverage import unread
from sfumato.errors import InputError
from sfumato.preparing import Prepared
from sfumato.queries import prepare_clean
from sfumato.release import shortened
from sfumato.server.http.logs import tell
from sfumato.server.http.problems import GONE, Problem, problem_of
from sfumato.server.http.requests import EmbeddingRequest, read_request
from sfumato.server.settings import GatewaySettings
from sfumato.server.telemetry.traces import NO_TRACE, RequestTrace
from sfumato.server.tenancy.tenants import Tenant
from sfumato.server.turns.queue import Turns
from sfumato.server.turns.shares import Shares
from sfumato.server.turns.work import Work

T = TypeVar("T")
Receive = Callable[[], Awaitable[dict[str, Any]]]
SPARE = 32
"""Threads kept for tenants that have no request under way, so that nobody waits for another's to end."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Reply:
    """Vectors that are on the ledger and may leave."""

    request: EmbeddingRequest
    vectors: NDArray[np.float32]
    tokens: int
    unread: int = 0
    """Texts in a language in which nothing finds what is to be hidden."""


class Engine:
    """A bounded pool of threads with a fair queue in front."""

    def __init__(self, settings: GatewaySettings, shares: Shares) -> None:
        self._timeout, self._shares = settings.timeout, shares
        # Without keys there is one tenant only, for whom nothing has to be kept free.
        spare = 0 if settings.keys is None else SPARE
        self._pool = ThreadPoolExecutor(settings.threads + spare, "gateway")
        self.turns = Turns(settings.threads, settings.max_waiting, spare)
        self.busy = 0

    async def run(
        self, tenant: str, call: Callable[[Work], T], receive: Receive, trace: RequestTrace = NO_TRACE
    ) -> T:
        """Run `call` in a thread when it is this tenant's turn; its work ends when nobody waits any more."""
        work = Work(tenant, self._shares, deadline=time.monotonic() + self._timeout, trace=trace)
        main = asyncio.ensure_future(self._in_turn(call, work))
        gone = asyncio.ensure_future(_hung_up(receive))
        try:
            done, _ = await asyncio.wait(
                {main, gone}, timeout=self._timeout, return_when=asyncio.FIRST_COMPLETED
            )
            if main in done:
                return _result(main)
            if gone in done:
                raise Problem(GONE, "The client hung up.", code="client_gone")
            raise Problem(504, "The request took too long. Send fewer texts at once.", code="timeout")
        finally:
            work.stop.set()
            main.cancel()
            gone.cancel()
            await asyncio.gather(main, gone, return_exceptions=True)

    async def _in_turn(self, call: Callable[[Work], T], work: Work) -> T:
        await self.turns.take(work.tenant)
        self.busy += 1
        running = asyncio.get_running_loop().run_in_executor(self._pool, _called, call, work)
        # The place is free when the thread is, not when somebody stops waiting for it.
        running.add_done_callback(lambda done: self._leave(work.tenant, done))
        return await asyncio.shield(running)

    def _leave(self, tenant: str, running: asyncio.Future[Any]) -> None:
        self.busy -= 1
        self.turns.give_back(tenant)
        if not running.cancelled():
            running.exception()  # looked at, so that nothing is logged about it being overlooked

    def close(self) -> None:
        """Let running work end and start no more."""
        self._pool.shutdown(wait=True, cancel_futures=True)


def release(tenant: Tenant, body: bytes | bytearray, settings: GatewaySettings, work: Work) -> Reply:
    """Read a request, embed its texts, write the ledger, and only then draw the noise.

    The texts are prepared a few at a time: other tenants' come in between, and no more once nobody waits.
    """
    with work.step():
        request = read_request(body, settings, tenant.tokens, tenant.dim)
        clean = request.role == "clean_query"
        if clean and not tenant.clean_queries:
            message = "The operator of this gateway does not allow clean queries for this key."
            raise Problem(403, message, code="clean_queries_not_allowed", param="input_type")
        seconds = tenant.speed.require(request.texts)
    with tenant.load.taken(work, len(request.texts), seconds):
        parts, tokens, foreign = _all_prepared(tenant, request.texts, work, clean=clean)
    vectors = tenant.releaser.release(request.texts, Prepared.together(parts), request.role, work)
    if request.dimensions is not None and request.dimensions < vectors.shape[1]:
        vectors = shortened(vectors, request.dimensions)
    return Reply(request, vectors, tokens, foreign)


def _all_prepared(
    tenant: Tenant, given: list[str], work: Work, *, clean: bool
) -> tuple[list[Prepared], int, int]:
    """The texts in steps, their tokens, and how many nothing reads; the speed of each step is noted."""
    parts, tokens, foreign = [], 0, 0
    for first, texts in work.slices(given):
        before = work.used
        with work.trace.step("prepare", texts=len(texts)), work.step():
            parts.append(_prepared(tenant, texts, first, work, clean=clean))
        with work.step():
            tokens += _count(tenant, texts)
            foreign += unread(texts, tenant.protector.concepts).count
        tenant.load.done(work, tenant.speed.seconds(texts))
        tenant.speed.note(texts, work.used - before)
    return parts, tokens, foreign


def _count(tenant: Tenant, texts: list[str]) -> int:
    return tenant.tokens.count(texts) if tenant.tokens else sum(len(text) // 4 + 1 for text in texts)


def _prepared(tenant: Tenant, texts: list[str], first: int, work: Work, *, clean: bool) -> Prepared:
    try:
        if clean:
            return prepare_clean(tenant.protector, texts, on_batch=work, check=work.check)
        return tenant.protector.prepare(texts, on_batch=work, check=work.check)
    except InputError as error:
        if not first:
            raise
        raise InputError(f"Counting rows from {first}: {error}") from None


def _called(call: Callable[[Work], T], work: Work) -> T:
    work.check()
    return call(work)


def _result(work: asyncio.Future[T]) -> T:
    """What came of the work; an error becomes what a client may know of it."""
    try:
        return work.result()
    except Exception as error:
        problem = problem_of(error)
        if problem.status >= 500:
            tell("failed", logging.ERROR, error=error, status=problem.status)
        raise problem from None


async def _hung_up(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
