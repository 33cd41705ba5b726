"""The addresses of the gateway."""

from __future__ import annotations

from typing import Any

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException

from sfumato.server.app import Gateway
from sfumato.server.http.answers import BLOCK, written
from sfumato.server.http.problems import Problem, problem_of
from sfumato.server.http.requests import REQUEST_SCHEMA
from sfumato.server.turns.engine import Reply, release
from sfumato.server.turns.work import Work
from sfumato.version import __version__

UNPROTECTED = "#unprotected"
"""Stands after the model's name in an answer to clean queries."""
UNREAD = "x-sfumato-unread-texts"
"""How many texts are in a language in which nothing finds what is to be hidden; absent where none is."""
_ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["message", "type", "param", "code"],
            "properties": {
                "message": {"type": "string"},
                "type": {"type": "string"},
                "param": {"type": ["string", "null"]},
                "code": {"type": ["string", "null"]},
            },
        }
    },
}
_EMBEDDINGS = {
    "type": "object",
    "required": ["object", "data", "model", "usage"],
    "properties": {
        "object": {"const": "list"},
        "model": {"type": "string"},
        "data": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["object", "index", "embedding"],
                "properties": {
                    "object": {"const": "embedding"},
                    "index": {"type": "integer"},
                    "embedding": {
                        "anyOf": [{"type": "array", "items": {"type": "number"}}, {"type": "string"}]
                    },
                },
            },
        },
        "usage": {
            "type": "object",
            "required": ["prompt_tokens", "total_tokens"],
            "properties": {"prompt_tokens": {"type": "integer"}, "total_tokens": {"type": "integer"}},
        },
    },
}
_HEALTH = {
    "type": "object",
    "required": ["status", "version"],
    "properties": {"status": {"const": "ok"}, "version": {"type": "string"}},
}
_WORDS = {
    400: "Refused: a rule is broken.",
    401: "No valid key.",
    403: "Not from here.",
    404: "There is nothing of this name.",
    408: "Sent too slowly.",
    413: "Too large.",
    429: "The privacy budget is spent.",
    502: "The upstream failed.",
    503: "Busy.",
    504: "Took too long.",
}


def errors(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """How a route's errors are described in the schema."""
    return {
        status: {"description": _WORDS[status], "content": {"application/json": {"schema": _ERROR}}}
        for status in statuses
    }


def answered(description: str, schema: dict[str, Any]) -> dict[int | str, dict[str, Any]]:
    """How a route's good answer is described in the schema."""
    return {200: {"description": description, "content": {"application/json": {"schema": schema}}}}


def listed(kind: str, **more: dict[str, Any]) -> dict[str, Any]:
    """The schema of a list of named things."""
    fields = {"id": {"type": "string"}, "object": {"const": kind}, **more}
    item = {"type": "object", "required": list(fields), "properties": fields}
    return {
        "type": "object",
        "required": ["object", "data"],
        "properties": {"object": {"const": "list"}, "data": {"type": "array", "items": item}},
    }


_MODELS = listed("model", created={"type": "integer"}, owned_by={"type": "string"})


def add_routes(app: Any, gateway: Gateway) -> None:
    """Add everything but the console."""

    @app.post(
        "/v1/embeddings",
        summary="Protected embeddings of texts",
        responses=answered("Embeddings", _EMBEDDINGS) | errors(400, 401, 403, 408, 413, 429, 502, 503, 504),
        openapi_extra={
            "requestBody": {"required": True, "content": {"application/json": {"schema": REQUEST_SCHEMA}}}
        },
    )
    async def embeddings(request: Request) -> Response:
        visit = request.state.visit
        released, model = await gateway.engine.run(
            visit.tenant, lambda work: _release(gateway, visit, work), request.receive, visit.trace
        )
        visit.texts, visit.role = len(released.request.texts), released.request.role
        visit.unread = released.unread
        headers = {UNREAD: str(released.unread)} if released.unread else {}
        gateway.metrics.released(visit.role, visit.texts)
        pieces = written(released, model)
        if visit.texts > BLOCK:
            return StreamingResponse(pieces, media_type="application/json", headers=headers)
        return Response(b"".join(pieces), media_type="application/json", headers=headers)

    @app.get(
        "/v1/models",
        summary="The one model of this key",
        response_model=None,
        responses=answered("Models", _MODELS) | errors(401, 403, 503),
    )
    async def models(request: Request) -> dict[str, Any]:
        name = request.state.visit.tenant
        tenant = await gateway.engine.run(name, lambda _: gateway.tenants.get(name), request.receive)
        return {"object": "list", "data": [_model(tenant.model, tenant.speed.limits())]}

    @app.get(
        "/health",
        summary="Whether the gateway is up",
        response_model=None,
        responses=answered("Up", _HEALTH) | errors(403),
    )
    async def health() -> dict[str, Any]:
        return {"status": "ok", "version": __version__}

    @app.get(
        "/metrics",
        summary="Figures for Prometheus",
        response_class=Response,
        responses={200: {"description": "Figures", "content": {"text/plain": {}}}, **errors(401, 403)},
    )
    async def metrics() -> Response:
        text, kind = gateway.metrics.text()
        return Response(text, media_type=kind)

    _add_error_shapes(app)


def _release(gateway: Gateway, visit: Any, work: Work) -> tuple[Reply, str]:
    tenant = gateway.tenants.get(visit.tenant)
    released = release(tenant, visit.body, gateway.settings, work)
    # A vector without noise is not the protector's, and the answer must not say so.
    mark = UNPROTECTED if released.request.role == "clean_query" else ""
    return released, tenant.model + mark


def _model(name: str, limits: dict[str, Any]) -> dict[str, Any]:
    """What OpenAI's clients expect of a model, and what one request may hold now."""
    return {"id": name, "object": "model", "created": 0, "owned_by": "sfumato", "limits": limits}


def _add_error_shapes(app: Any) -> None:
    """Give every error of the framework the shape of ours."""

    @app.exception_handler(HTTPException)
    async def plain(_: Request, error: Any) -> Response:
        words = {404: "There is nothing at this address.", 405: "This address does not take this method."}
        message = words.get(error.status_code, "The request was refused.")
        problem = Problem(error.status_code, message, code="not_found" if error.status_code == 404 else None)
        return JSONResponse(problem.body(), error.status_code, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, __: Any) -> Response:
        return JSONResponse(Problem(400, "The request breaks the schema.").body(), 400)

    @app.exception_handler(Problem)
    @app.exception_handler(Exception)
    async def problem(_: Request, error: Exception) -> Response:
        found = problem_of(error)
        return JSONResponse(found.body(), found.status, headers=found.headers)
