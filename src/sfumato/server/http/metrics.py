"""Figures for Prometheus: counts and durations, without texts, keys or tenants' names."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

from sfumato.errors import MissingPackageError

SHARED_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""A folder in which several workers add up their figures; set before the workers start."""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


class Metrics:
    """What is counted; with several workers, `/metrics` of any of them adds up all."""

    def __init__(self) -> None:
        try:
            prometheus: Any = import_module("prometheus_client")
        except ModuleNotFoundError:
            raise MissingPackageError("prometheus_client", "serve", "for the gateway") from None
        self._prometheus = prometheus
        self._registry = registry = prometheus.CollectorRegistry()
        self._shared = bool(os.environ.get(SHARED_VARIABLE))
        mode: dict[str, Any] = {"multiprocess_mode": "livesum"} if self._shared else {}
        self.requests = prometheus.Counter(
            "sfumato_requests", "Requests answered.", ["route", "status"], registry=registry
        )
        self.seconds = prometheus.Histogram(
            "sfumato_request_seconds", "Time to answer.", ["route"], buckets=_SECONDS, registry=registry
        )
        self.texts = prometheus.Counter(
            "sfumato_texts_released", "Texts whose vectors were released.", ["role"], registry=registry
        )
        self.batch = prometheus.Histogram(
            "sfumato_batch_texts", "Texts in a request.", buckets=_ROWS, registry=registry
        )
        self.busy = prometheus.Gauge(
            "sfumato_requests_running", "Requests worked on now.", registry=registry, **mode
        )
        self.waiting = prometheus.Gauge(
            "sfumato_requests_waiting", "Requests waiting for their turn.", registry=registry, **mode
        )

    def text(self) -> tuple[bytes, str]:
        """The figures as Prometheus reads them, and their content type."""
        registry = self._registry
        if self._shared:
            registry = self._prometheus.CollectorRegistry()
            import_module("prometheus_client.multiprocess").MultiProcessCollector(registry)
        return self._prometheus.generate_latest(registry), str(self._prometheus.CONTENT_TYPE_LATEST)
