"""The worker class for gunicorn.

gunicorn -k sfumato.server.worker.GatewayWorker 'sfumato.server:from_environment()'
"""

from __future__ import annotations

from typing import Any

from uvicorn_worker import UvicornWorker

from sfumato.server.http.protocol import PatientProtocol


class GatewayWorker(UvicornWorker):
    """A uvicorn worker that believes no proxy headers and cuts off clients that never finish theirs."""

    CONFIG_KWARGS: dict[str, Any] = {
        "loop": "auto",
        "http": PatientProtocol,
        "ws": "none",
        "proxy_headers": False,
        "server_header": False,
        "access_log": False,
    }
