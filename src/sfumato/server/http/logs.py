"""The log: one JSON object a line on standard error, with figures and names of places, never contents."""

from __future__ import annotations

import json
import logging
import sys
from datetime import datetime, timezone
from typing import Any

from sfumato.errors import place_of

NAME = "sfumato.gateway"


class JsonLines(logging.Formatter):
    """Writes a record as one line; what a foreign library would fill in or trace is left out."""

    def format(self, record: logging.LogRecord) -> str:
        """The record's time, level, event and fields."""
        at = datetime.fromtimestamp(record.created, timezone.utc).isoformat(timespec="milliseconds")
        line: dict[str, Any] = {"time": at, "level": record.levelname.lower(), "logger": record.name}
        # The pattern and not the message: a library may fill in anything, such as a part of a request.
        line["event"] = str(record.msg)
        line.update(getattr(record, "fields", {}))
        error = record.exc_info[1] if record.exc_info else None
        if error is not None:
            line["error"], line["at"] = type(error).__name__, place_of(error)
        return json.dumps(line, default=str)


def start_logging() -> logging.Logger:
    """Send the gateway's log, and the server's, to standard error as JSON."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    for name in (NAME, "uvicorn", "uvicorn.error", "asyncio", "opentelemetry"):
        logger = logging.getLogger(name)
        logger.handlers = [handler]
        logger.setLevel(logging.INFO)
        logger.propagate = False
    quiet = logging.getLogger("uvicorn.access")  # it would print paths and queries
    quiet.handlers, quiet.propagate = [logging.NullHandler()], False
    return logging.getLogger(NAME)


def tell(event: str, level: int = logging.INFO, *, error: BaseException | None = None, **fields: Any) -> None:
    """Log an event with its fields."""
    trace = None if error is None else (type(error), error, error.__traceback__)
    logging.getLogger(NAME).log(level, event, extra={"fields": fields}, exc_info=trace)
