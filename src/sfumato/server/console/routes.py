"""The console at `/`: one page, and what it asks for. Behind the same keys as everything else."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict
from importlib.resources import files
from typing import Any

from fastapi import Request

from sfumato.server.app import Gateway
from sfumato.server.console import words
from sfumato.server.console.preview import LONGEST, Preview
from sfumato.server.greeting import hashed
from sfumato.server.http.problems import Problem
from sfumato.server.http.requests import read_object
from sfumato.server.routes import errors
from sfumato.server.tenancy.tenants import Tenant

SCRIPTS = ("console.js", "sealed.js")


def page() -> tuple[str, str]:
    """The page as one file, and the policy that lets it run its own script and style and nothing else."""
    folder = files("sfumato.server") / "page"
    style = (folder / "console.css").read_text()
    script = "".join((folder / name).read_text() for name in SCRIPTS)
    body = (folder / "console.html").read_text().replace("/*style*/", style).replace("/*script*/", script)
    rules = {
        "default-src": "'none'",
        "style-src": hashed(style),
        "script-src": hashed(script),
        "connect-src": "'self'",
        "img-src": "data:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    return body, "; ".join(f"{name} {value}" for name, value in rules.items())


def add_console(app: Any, gateway: Gateway) -> tuple[str, str]:
    """Add what the console asks for; return its page and the policy that belongs to it."""
    previews: dict[str, Preview] = {}

    def preview_of(tenant: Tenant, *, asked: bool) -> Preview:
        made = previews.setdefault(tenant.model, Preview(tenant.protector))
        if asked or not gateway.settings.upstream:  # opening a page sends nothing to anybody else's server
            made.start()
        return made

    _add_state(app, gateway, lambda tenant: preview_of(tenant, asked=False))

    @app.post(
        "/console/try",
        summary="A sentence before and after the noise; nothing is released",
        responses=errors(400, 401, 403, 408, 413, 503, 504),
        openapi_extra={
            "requestBody": {"required": True, "content": {"application/json": {"schema": _TRY}}},
        },
    )
    async def attempt(request: Request) -> dict[str, Any]:
        visit = request.state.visit

        def work(_: Any) -> dict[str, Any]:
            text, factor, neutral = _read(visit.body)
            preview = preview_of(gateway.tenants.get(visit.tenant), asked=True)
            if factor not in (preview.steps if neutral else preview.plain):
                if preview.complete:
                    words = (
                        "`factor` must be one of the slider's, and `neutral` false only where there are any."
                    )
                    raise Problem(400, words, param="factor")
                raise Problem(503, "The preview is still being made.", headers={"Retry-After": "2"})
            return preview.look(text, factor, neutral=neutral)

        return await gateway.engine.run(visit.tenant, work, request.receive)

    if gateway.settings.collections is not None:
        from sfumato.server.console.sealed import add_sealed_view

        add_sealed_view(app, gateway)
    return page()


def _add_state(app: Any, gateway: Gateway, preview_of: Callable[[Tenant], Preview]) -> None:
    @app.get("/console/state", summary="What the console shows", responses=errors(401, 403, 503))
    async def state(request: Request) -> dict[str, Any]:
        name = request.state.visit.tenant

        def work(_: Any) -> dict[str, Any]:
            shared = {
                "tenant": name,
                "keyed": gateway.settings.keys is not None,
                "collections": gateway.collections.names(name),
                "protects": gateway.tenants.protects(name),
            }
            if not shared["protects"]:
                return shared
            tenant = gateway.tenants.get(name)
            return {**shared, **_state(tenant, preview_of(tenant))}

        return await gateway.engine.run(name, work, request.receive)


_TRY = {
    "type": "object",
    "required": ["text", "factor"],
    "properties": {
        "text": {"type": "string", "minLength": 1, "maxLength": LONGEST},
        "factor": {"type": "number", "description": "How much of the protector's own noise."},
        "neutral": {"type": "boolean", "default": True, "description": "With neutral texts, or without."},
    },
}


def _read(body: bytes | bytearray) -> tuple[str, float, bool]:
    found = read_object(body)
    text, factor, neutral = found.get("text"), found.get("factor"), found.get("neutral", True)
    if not isinstance(text, str) or not 1 <= len(text) <= LONGEST:
        raise Problem(400, f"`text` must be a string of 1 to {LONGEST} characters.", param="text")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise Problem(400, "`text` holds half of a surrogate pair.", param="text")
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 <= factor <= 100:
        raise Problem(400, "`factor` must be a number from 0 to 100.", param="factor")
    if not isinstance(neutral, bool):
        raise Problem(400, "`neutral` must be true or false.", param="neutral")
    return text, float(factor), neutral


def _state(tenant: Tenant, preview: Preview) -> dict[str, Any]:
    protector = tenant.protector
    return {
        "model": tenant.model,
        "certificate": preview.certificate,
        "promise": words.promise(protector),
        "facts": words.facts(tenant),
        "notes": list(protector.guarantee.notes),
        "ledger": words.ledger(tenant),
        "preview": {
            "status": preview.status,
            "complete": preview.complete,
            "looks_for": preview.looks_for,
            "control": preview.control,
            "guess": preview.guess,
            "clean_found": preview.clean_found,
            "progress": round(preview.progress, 3),
            "steps": _figures(preview.steps),
            "plain": _figures(preview.plain),
            "examples": preview.examples,
        },
    }


def _figures(steps: Mapping[float, Any]) -> list[dict[str, Any]]:
    """What is measured so far, from no noise to most."""
    return [asdict(steps[factor].figures) for factor in sorted(list(steps))]
