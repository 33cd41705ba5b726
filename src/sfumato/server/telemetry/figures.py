"""What is counted: one table of figures, shown to Prometheus and, where it is on, sent by OpenTelemetry.

Counts and durations, without texts, keys or tenants' names.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, Protocol

from sfumato.errors import MissingPackageError

SHARED_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""A folder in which several workers add up their figures; set before the workers start."""
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_VERBS = {"counter": "inc", "histogram": "observe", "gauge": "set"}
_ROWS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)


@dataclass(frozen=True, slots=True)
class CountedFigure:
    """One figure: its name and meaning, and what it is told apart by."""

    name: str
    meaning: str
    kind: Literal["counter", "histogram", "gauge"]
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    unit: str = "1"


REQUESTS = CountedFigure("sfumato_requests", "Requests answered.", "counter", ("route", "status"))
SECONDS = CountedFigure("sfumato_request_seconds", "Time to answer.", "histogram", ("route",), _SECONDS, "s")
TEXTS = CountedFigure("sfumato_texts_released", "Texts whose vectors were released.", "counter", ("role",))
BATCH = CountedFigure("sfumato_batch_texts", "Texts in a request.", "histogram", (), _ROWS)
BUSY = CountedFigure("sfumato_requests_running", "Requests worked on now.", "gauge")
WAITING = CountedFigure("sfumato_requests_waiting", "Requests waiting for their turn.", "gauge")
FIGURES = (REQUESTS, SECONDS, TEXTS, BATCH, BUSY, WAITING)


class Teller(Protocol):
    """Whoever passes figures on."""

    def add(self, figure: CountedFigure, value: float, labels: dict[str, str]) -> None:
        """Count or observe a value; a gauge is set to it."""


class PrometheusFigures:
    """The figures as Prometheus asks for them; with several workers, any of them adds up all."""

    def __init__(self) -> None:
        try:
            prometheus: Any = import_module("prometheus_client")
        except ModuleNotFoundError:
            raise MissingPackageError("prometheus_client", "serve", "for the gateway") from None
        self._prometheus, self._registry = prometheus, prometheus.CollectorRegistry()
        self._shared = bool(os.environ.get(SHARED_VARIABLE))
        self._made = {figure.name: self._instrument(figure) for figure in FIGURES}

    def _instrument(self, figure: CountedFigure) -> Any:
        more: dict[str, Any] = {"registry": self._registry}
        if figure.kind == "gauge" and self._shared:
            more["multiprocess_mode"] = "livesum"
        if figure.kind == "histogram":
            more["buckets"] = figure.buckets
        made = getattr(self._prometheus, figure.kind.capitalize())
        return made(figure.name, figure.meaning, list(figure.labels), **more)

    def add(self, figure: CountedFigure, value: float, labels: dict[str, str]) -> None:
        """Count or observe a value; a gauge is set to it."""
        found = self._made[figure.name]
        found = found.labels(**labels) if figure.labels else found
        getattr(found, _VERBS[figure.kind])(value)

    def text(self) -> tuple[bytes, str]:
        """The figures as Prometheus reads them, and their content type."""
        registry = self._registry
        if self._shared:
            registry = self._prometheus.CollectorRegistry()
            import_module("prometheus_client.multiprocess").MultiProcessCollector(registry)
        return self._prometheus.generate_latest(registry), str(self._prometheus.CONTENT_TYPE_LATEST)


class Metrics:
    """What is counted, told to all who want to know."""

    def __init__(self, *others: Teller) -> None:
        self._prometheus = PrometheusFigures()
        self._tellers: tuple[Teller, ...] = (self._prometheus, *others)
        self._watched: dict[CountedFigure, Callable[[], float]] = {}

    def answered(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._add(REQUESTS, 1, route=route, status=str(status))
        self._add(SECONDS, seconds, route=route)

    def released(self, role: str, texts: int) -> None:
        """Vectors of so many texts were released."""
        self._add(TEXTS, texts, role=role)
        self._add(BATCH, texts)

    def watch(self, figure: CountedFigure, value: Callable[[], float]) -> None:
        """Look a figure up whenever figures are asked for."""
        self._watched[figure] = value

    def look(self) -> None:
        """Bring what is looked up to where it stands now."""
        for figure, value in self._watched.items():
            self._add(figure, value())

    def text(self) -> tuple[bytes, str]:
        """The figures as Prometheus reads them, and their content type."""
        self.look()
        return self._prometheus.text()

    def _add(self, figure: CountedFigure, value: float, **labels: str) -> None:
        for teller in self._tellers:
            teller.add(figure, value, labels)
