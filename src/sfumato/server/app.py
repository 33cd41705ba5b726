"""Putting the gateway together: settings in, an ASGI application out."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from sfumato.errors import MissingPackageError, SfumatoError
from sfumato.server.collections.serving import ServedCollections
from sfumato.server.http.guard import Guard
from sfumato.server.http.logs import start_logging, tell
from sfumato.server.settings import GatewaySettings
from sfumato.server.telemetry.figures import BUSY, WAITING, Metrics
from sfumato.server.tenancy.encoders import Encoders
from sfumato.server.tenancy.keys import KeyRing
from sfumato.server.tenancy.tenants import Tenants
from sfumato.server.turns.engine import Engine
from sfumato.server.turns.shares import Shares
from sfumato.version import __version__

if TYPE_CHECKING:
    from sfumato.server.telemetry.exporting import Telemetry


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Gateway:
    """The parts that routes use."""

    settings: GatewaySettings
    tenants: Tenants
    collections: ServedCollections
    engine: Engine
    metrics: Metrics


def create_app(settings: GatewaySettings) -> Any:
    """The gateway as an ASGI application, for uvicorn, gunicorn or a test."""
    try:
        fastapi: Any = import_module("fastapi")
    except ModuleNotFoundError:
        raise MissingPackageError("fastapi", "serve", "for the gateway") from None
    from sfumato.server.greeting import add_greeting
    from sfumato.server.http.protocol import allow_files
    from sfumato.server.routes import add_routes

    start_logging()
    allow_files(settings.max_connections)
    ring = None if settings.keys is None else KeyRing(settings.keys, grace=settings.keys_grace)
    telemetry = _telemetry(settings)
    gateway = _made(settings, ring, telemetry)

    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        try:
            await asyncio.to_thread(gateway.tenants.warm_up)
        except SfumatoError as error:
            tell("cannot start", logging.ERROR, reason=str(error))
            raise
        # What is loaded stays: a collection that walked through it would hold every thread for a third of a
        # second, and a text full of terms is enough to start one.
        gc.collect()
        gc.freeze()
        _say_what_is_on(settings)
        watching = asyncio.ensure_future(_watch(ring))
        yield
        watching.cancel()
        await asyncio.to_thread(gateway.engine.close)
        await asyncio.to_thread(gateway.collections.close)
        if telemetry is not None:
            await asyncio.to_thread(telemetry.close)
        tell("stopped")

    app = fastapi.FastAPI(
        title="Sfumato gateway",
        version=__version__,
        description="OpenAI-compatible embeddings, protected before they leave.",
        lifespan=lifespan,
        docs_url=None,  # the usual pages load their scripts from elsewhere
        redoc_url=None,
    )
    add_routes(app, gateway)
    if settings.collections is not None:
        from sfumato.server.collections.routes import add_collections

        add_collections(app, gateway)
    page = None
    if settings.console:
        from sfumato.server.console.routes import add_console

        page = add_console(app, gateway)
    add_greeting(app, gateway, page)
    return Guard(app, settings, ring, gateway.metrics, telemetry)


def _telemetry(settings: GatewaySettings) -> Telemetry | None:
    if not settings.otel:
        return None
    from sfumato.server.telemetry.exporting import Telemetry

    return Telemetry()


def _made(settings: GatewaySettings, ring: KeyRing | None, telemetry: Telemetry | None) -> Gateway:
    shares = Shares()
    encoders = Encoders(shares)
    tenants = Tenants(settings, ring, encoders)
    collections = ServedCollections(settings, encoders, tenants)
    engine, metrics = Engine(settings, shares), Metrics(*([] if telemetry is None else [telemetry]))
    metrics.watch(BUSY, lambda: engine.busy)
    metrics.watch(WAITING, lambda: engine.turns.waiting)
    if telemetry is not None:
        telemetry.look_with(metrics.look)
    return Gateway(settings, tenants, collections, engine, metrics)


def from_environment() -> Any:
    """The gateway whose settings are in variables such as SFUMATO_SERVE_PROTECTOR."""
    return create_app(GatewaySettings.from_environment())


async def _watch(ring: KeyRing | None) -> None:
    """Look at the keys file every second, so that its trouble is told of without waiting for a request."""
    while ring is not None:
        await asyncio.sleep(1.0)
        _ = ring.file


def _say_what_is_on(settings: GatewaySettings) -> None:
    tell(
        "started",
        version=__version__,
        keys=settings.keys is not None,
        tls=settings.tls_cert is not None,
        ceiling=settings.ceiling if settings.accounting == "sum" else settings.ceiling_advantage,
        accounting=settings.accounting,
        console=settings.console,
        upstream=bool(settings.upstream),
        collections=settings.collections is not None,
        clean_queries=settings.clean_queries,
        otel=settings.otel,
    )
    if settings.clean_queries:
        tell("clean queries: who asks for one gets a vector without noise or promise", logging.WARNING)
    if settings.keys is None:
        tell("no keys: every process on this machine may use the gateway, and nobody else", logging.WARNING)
    elif settings.tls_cert is None:
        tell("no TLS here: keys and texts travel in the clear unless a proxy adds it", logging.WARNING)
    unlimited = settings.ceiling is None and settings.ceiling_advantage is None
    if unlimited and settings.protector is not None:
        tell("no ceiling: what is spent is counted and never refused", logging.WARNING)
