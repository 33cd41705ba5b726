"""What stands at `/`: the console or a few words for people with a browser, JSON for programs."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from fastapi import Request, Response
from fastapi.responses import HTMLResponse, JSONResponse

from sfumato.server.app import Gateway
from sfumato.version import __version__

_ADDRESSES = {
    "embeddings": "POST /v1/embeddings",
    "models": "GET /v1/models",
    "health": "GET /health",
    "metrics": "GET /metrics",
    "schema": "GET /openapi.json",
}


def add_greeting(app: Any, gateway: Gateway, page: tuple[str, str] | None) -> None:
    """Answer at `/`; `page` is the console and its policy, where there is one."""
    plain = (files("sfumato.server") / "page" / "greeting.html").read_text()
    style = plain.partition("<style>")[2].partition("</style>")[0]
    keyed = gateway.settings.keys is not None
    said = "A key is needed: Authorization: Bearer KEY." if keyed else "No key is needed on this machine."
    rules = (
        f"default-src 'none'; style-src {hashed(style)}; img-src data:; base-uri 'none'; form-action 'none'"
    )
    body, policy = page or (plain.replace("<!--keys-->", said), rules)

    @app.get("/", include_in_schema=False)
    async def greeting(request: Request) -> Response:
        if wants_page(request.headers.get("accept", "")):
            return HTMLResponse(body, headers={"Content-Security-Policy": policy, "Vary": "Accept"})
        known = dict(_ADDRESSES)
        if gateway.settings.collections is not None:
            known["collections"] = "GET /v1/collections"
        words = {"service": "Sfumato gateway", "version": __version__, "keys": keyed, "addresses": known}
        return JSONResponse(words, headers={"Vary": "Accept"})


def hashed(text: str) -> str:
    """How a policy names the one script or style that it allows."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def wants_page(accept: str) -> bool:
    """Whether a visitor is a browser: it names HTML, which programs do not."""
    kinds = [each.partition(";")[0].strip().lower() for each in accept[:2000].split(",")]
    return "text/html" in kinds or "application/xhtml+xml" in kinds
