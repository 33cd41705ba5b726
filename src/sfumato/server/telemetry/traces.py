"""Traces: what a request's time went into, as spans with counts and names of ours, and nothing that was sent.

A trace goes with a request into its thread. Where traces are off it is `NO_TRACE`, which does nothing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

TRACEPARENT = re.compile(r"00-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})", re.ASCII)
"""The W3C header in its first version: 55 characters, or it is as if it were not there."""
NUMBERS = ("texts", "together", "status", "received", "sent")
NAMES = ("route", "method", "tenant", "role")
"""All that a span may carry; routes, methods and roles are ours, and a tenant's name is the operator's."""


class RequestTrace:
    """One request's spans, all under one."""

    def __init__(self, tracer: Any = None, parent: Any = None, begun: int = 0) -> None:
        self._tracer, self._span, self._under = tracer, None, None
        if tracer is not None:
            from opentelemetry.trace import SpanKind, set_span_in_context

            self._span = tracer.start_span("request", parent, kind=SpanKind.SERVER, start_time=begun)
            self._under = set_span_in_context(self._span)

    @contextmanager
    def step(self, name: str, **figures: Any) -> Iterator[None]:
        """A span around a part of the work."""
        begun = time.time_ns()
        try:
            yield
        finally:
            self.note(name, begun, time.time_ns(), **figures)

    def note(self, name: str, begun: int, ended: int, **figures: Any) -> None:
        """A span that is over; times are nanoseconds since 1970."""
        if self._tracer is not None:
            attributes = _carried(figures)
            made = self._tracer.start_span(name, self._under, attributes=attributes, start_time=begun)
            made.end(ended)

    def end(self, **figures: Any) -> None:
        """The request is answered."""
        if self._span is not None:
            from opentelemetry.trace import StatusCode

            self._span.update_name(f"{figures['method']} {figures['route']}")
            self._span.set_attributes(_carried(figures))
            if figures["status"] >= 500:
                self._span.set_status(StatusCode.ERROR)
            self._span.end()


NO_TRACE = RequestTrace()


def parent_of(headers: Mapping[str, str]) -> Any:
    """The client's own span, where its header names one; what else it wrote is left out."""
    from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

    found = TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    if found is None:
        return None
    trace, span, flags = (int(part, 16) for part in found.groups())
    return set_span_in_context(NonRecordingSpan(SpanContext(trace, span, True, TraceFlags(flags & 1))))


def _carried(figures: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: int(figures[name]) for name in NUMBERS if name in figures}
    named = {name: str(figures[name])[:64] for name in NAMES if figures.get(name)}
    return {f"sfumato.{name}": value for name, value in {**kept, **named}.items()}
