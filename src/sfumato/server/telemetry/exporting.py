"""Sending figures and traces by OpenTelemetry's own protocol, to the address that the operator named.

OpenTelemetry itself reads the standard variables: OTEL_EXPORTER_OTLP_ENDPOINT and its headers, samplers,
limits and intervals. Only HTTP with protobuf is spoken.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from sfumato.errors import InputError, MissingPackageError
from sfumato.server.telemetry.figures import FIGURES, CountedFigure
from sfumato.server.telemetry.traces import RequestTrace, parent_of
from sfumato.version import __version__

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_PROTOCOL = "OTEL_EXPORTER_OTLP_PROTOCOL"
_SPOKEN = "http/protobuf"
_PATIENCE = 5_000
"""Milliseconds for what is left to be sent when the gateway stops."""


def check_telemetry(variables: Mapping[str, str] | None = None) -> None:
    """Refuse to begin where no address is named, or another protocol than the one that is spoken."""
    found = os.environ if variables is None else variables
    each = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT")
    if not found.get(_ENDPOINT) and not all(found.get(name) for name in each):
        raise InputError(
            f"--otel needs an address to send to. Set {_ENDPOINT}, such as http://127.0.0.1:4318."
        )
    if found.get(_PROTOCOL, _SPOKEN) != _SPOKEN:
        raise InputError(f"`{_PROTOCOL}` must be {_SPOKEN} or unset. Found another protocol.")
    for name in ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"):
        try:
            import_module(name)
        except ModuleNotFoundError:
            raise MissingPackageError(name, "otel", "for traces and figures by OpenTelemetry") from None


class Telemetry:
    """One process's exporters; figures that are looked up are looked up by `look` before they are sent."""

    def __init__(self) -> None:
        check_telemetry()
        self._look: Callable[[], None] = lambda: None
        self._set: dict[str, float] = {}
        resource = _resource()
        self._traces, self._meters = _trace_provider(resource), _meter_provider(resource)
        self._tracer = self._traces.get_tracer("sfumato.gateway", __version__)
        meter = self._meters.get_meter("sfumato.gateway", __version__)
        self._made = {figure.name: self._instrument(meter, figure) for figure in FIGURES}

    def _instrument(self, meter: Any, figure: CountedFigure) -> Any:
        named = {"unit": figure.unit, "description": figure.meaning}
        if figure.kind == "counter":
            return meter.create_counter(figure.name, **named)
        if figure.kind == "histogram":
            buckets = list(figure.buckets)
            return meter.create_histogram(figure.name, **named, explicit_bucket_boundaries_advisory=buckets)
        return meter.create_observable_gauge(figure.name, [lambda _: self._looked_up(figure)], **named)

    def _looked_up(self, figure: CountedFigure) -> list[Any]:
        from opentelemetry.metrics import Observation

        self._look()
        return [Observation(self._set[figure.name])] if figure.name in self._set else []

    def look_with(self, look: Callable[[], None]) -> None:
        """Have `look` called before figures that are looked up are sent."""
        self._look = look

    def add(self, figure: CountedFigure, value: float, labels: dict[str, str]) -> None:
        """Count or observe a value; a gauge is set to it."""
        if figure.kind == "counter":
            self._made[figure.name].add(value, labels)
        elif figure.kind == "histogram":
            self._made[figure.name].record(value, labels)
        else:
            self._set[figure.name] = value

    def trace(self, headers: Mapping[str, str], begun: int) -> RequestTrace:
        """The trace of a request, under the client's own span where its headers name one."""
        # Without a context of its own it would stand under whatever span this process is in.
        return RequestTrace(self._tracer, parent_of(headers) or _nothing(), begun)

    def close(self) -> None:
        """Send what is left, and stop."""
        self._traces.force_flush(_PATIENCE)
        self._traces.shutdown()
        self._meters.shutdown(_PATIENCE)


def _nothing() -> Any:
    return import_module("opentelemetry.context").Context()


def _resource() -> Any:
    resources: Any = import_module("opentelemetry.sdk.resources")
    own = {"service.version": __version__, "service.instance.id": secrets.token_hex(8)}
    if not os.environ.get("OTEL_SERVICE_NAME"):
        own["service.name"] = "sfumato-gateway"
    return resources.Resource.create(own)


def _trace_provider(resource: Any) -> Any:
    sdk: Any = import_module("opentelemetry.sdk.trace")
    export: Any = import_module("opentelemetry.sdk.trace.export")
    otlp: Any = import_module("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    made = sdk.TracerProvider(resource=resource, shutdown_on_exit=False)
    made.add_span_processor(export.BatchSpanProcessor(otlp.OTLPSpanExporter()))
    return made


def _meter_provider(resource: Any) -> Any:
    sdk: Any = import_module("opentelemetry.sdk.metrics")
    export: Any = import_module("opentelemetry.sdk.metrics.export")
    otlp: Any = import_module("opentelemetry.exporter.otlp.proto.http.metric_exporter")
    reader = export.PeriodicExportingMetricReader(otlp.OTLPMetricExporter())
    return sdk.MeterProvider([reader], resource, shutdown_on_exit=False)
