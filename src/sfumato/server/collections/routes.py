"""The addresses of sealed collections: documents in, out and erased, and searches."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from fastapi import Request, Response

from sfumato.sealing.client.contents import SealedResult
from sfumato.server.app import Gateway
from sfumato.server.collections.requests import (
    DELETE,
    DOCUMENTS,
    READ,
    SEARCH,
    GoneDocuments,
    SealedSearch,
    one_id,
    read_documents,
    read_gone,
    read_ids,
    read_search,
)
from sfumato.server.collections.serving import ServedCollection
from sfumato.server.http.problems import Problem
from sfumato.server.routes import errors
from sfumato.server.turns.work import Work

DIGITS = 3
"""Of a score: what a vector kept in eight bits a number can carry; further ones would be its rounding."""
FAULTS = 10
"""Lines about what is wrong with a store that an answer holds at most."""
_BASE = "/v1/collections/{name}"
_SCALARS = {"type": "object"}
_DOCUMENT: dict[str, Any] = {
    "type": "object",
    "required": ["id", "text", "metadata"],
    "properties": {"id": {"type": "string"}, "text": {"type": "string"}, "metadata": _SCALARS},
}
_HIT: dict[str, Any] = {
    "type": "object",
    "required": ["id", "score", "text", "metadata"],
    "properties": {**_DOCUMENT["properties"], "score": {"type": "number"}},
}
_FOUND = {
    "type": "object",
    "required": ["results", "complete"],
    "properties": {
        "complete": {"type": "boolean", "description": "Whether the store gave all that it was asked for."},
        "results": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["query", "hits", "complete", "faults"],
                "properties": {
                    "query": {"type": "integer"},
                    "hits": {"type": "array", "items": _HIT},
                    "complete": {"type": "boolean"},
                    "faults": {"type": "array", "items": {"type": "string"}},
                },
            },
        },
    },
}
_READ = {
    "type": "object",
    "required": ["documents"],
    "properties": {"documents": {"type": "array", "items": _DOCUMENT}},
}
_CHANGED = {
    "type": "object",
    "required": ["changed"],
    "properties": {"changed": {"type": "integer", "description": "Documents that are new or other than before."}},
}
_GONE = {
    "type": "object",
    "required": ["deleted", "erased"],
    "properties": {
        "deleted": {"type": "integer", "description": "Documents that were there."},
        "erased": {"type": ["object", "null"], "description": "The record of an erasure, if it was one."},
    },
}


def add_collections(app: Any, gateway: Gateway) -> None:
    """Add the addresses of sealed collections."""

    @app.get("/v1/collections", summary="The sealed collections of this key", responses=errors(401, 403))
    async def collections(request: Request) -> dict[str, Any]:
        names = gateway.collections.names(request.state.visit.tenant)
        return {"object": "list", "data": [{"id": name, "object": "collection"} for name in names]}

    _add_documents(app, gateway)
    _add_search(app, gateway)


def _add_documents(app: Any, gateway: Gateway) -> None:
    @app.post(f"{_BASE}/documents", summary="Seal documents", **_described(_CHANGED, DOCUMENTS))
    async def add(name: str, request: Request) -> Response:
        def work(collection: ServedCollection, work: Work) -> dict[str, Any]:
            new = read_documents(request.state.visit.body, gateway.settings)
            _note(request, len(new.ids), "document")
            with collection.using(work) as store:
                return {"changed": store.add(new.ids, new.texts, new.metadata)}

        return await _run(gateway, name, request, work)

    @app.post(f"{_BASE}/documents/get", summary="Read documents", **_described(_READ, READ))
    async def read(name: str, request: Request) -> Response:
        def work(collection: ServedCollection, work: Work) -> dict[str, Any]:
            ids = read_ids(request.state.visit.body)
            _note(request, len(ids), "document")
            return _read(collection, ids, work)

        return await _run(gateway, name, request, work)

    @app.get(f"{_BASE}/documents/{{id:path}}", summary="Read one document", **_described(_READ, None, 404))
    async def read_one(name: str, id: str, request: Request) -> Response:
        def work(collection: ServedCollection, work: Work) -> dict[str, Any]:
            found = _read(collection, one_id(id), work)
            if not found["documents"]:
                raise Problem(404, "There is no document of this id.", code="no_document", param="id")
            return found

        return await _run(gateway, name, request, work)

    @app.post(f"{_BASE}/documents/delete", summary="Delete or erase documents", **_described(_GONE, DELETE))
    async def delete(name: str, request: Request) -> Response:
        def work(collection: ServedCollection, work: Work) -> dict[str, Any]:
            gone = read_gone(request.state.visit.body, gateway.settings)
            _note(request, len(gone.ids), "document")
            return _delete(collection, gone, work)

        return await _run(gateway, name, request, work)

    @app.delete(f"{_BASE}/documents/{{id:path}}", summary="Delete or erase one", **_described(_GONE, None))
    async def delete_one(name: str, id: str, request: Request, erase: bool = False) -> Response:
        def work(collection: ServedCollection, work: Work) -> dict[str, Any]:
            return _delete(collection, GoneDocuments(one_id(id), erase), work)

        return await _run(gateway, name, request, work)


def _add_search(app: Any, gateway: Gateway) -> None:
    @app.post(f"{_BASE}/search", summary="The nearest documents", **_described(_FOUND, SEARCH))
    async def search(name: str, request: Request) -> Response:
        def work(collection: ServedCollection, work: Work) -> dict[str, Any]:
            asked = read_search(request.state.visit.body, gateway.settings)
            _note(request, len(asked.queries), "query")
            return told(run_search(collection, asked, work))

        return await _run(gateway, name, request, work)


async def _run(gateway: Gateway, name: str, request: Request, call: Any) -> Response:
    """Do what is asked of a collection of this tenant's; nothing is looked at where it is not."""
    tenant = request.state.visit.tenant
    collection = gateway.collections.get(tenant, name)

    def work(work: Work) -> bytes:
        body = json.dumps(call(collection, work), ensure_ascii=False).encode()
        if len(body) > gateway.settings.max_bytes:
            most = gateway.settings.max_bytes
            message = f"The answer would have more than {most} bytes. Ask for fewer documents at once."
            raise Problem(400, message, code="answer_too_large")
        return body

    return Response(await gateway.engine.run(tenant, work, request.receive), media_type="application/json")


def run_search(collection: ServedCollection, asked: SealedSearch, work: Work) -> list[SealedResult]:
    """Search query by query, until nobody waits any more."""
    vectors = collection.embed(asked.queries, work)
    found = []
    with collection.using(work) as store:
        for vector in vectors:
            work.check()
            found += store.search(vectors=vector[None], k=asked.k, where=asked.where)
    return found


def told(results: Iterable[SealedResult]) -> dict[str, Any]:
    """What a client is told of searches."""
    rows = [
        {
            "query": number,
            "hits": [
                {**_document(hit), "score": round(hit.score, DIGITS)} for hit in result.hits
            ],
            "complete": result.complete,
            "faults": list(result.faults[:FAULTS]),
        }
        for number, result in enumerate(results)
    ]
    return {"results": rows, "complete": all(row["complete"] for row in rows)}


def _read(collection: ServedCollection, ids: list[str], work: Work) -> dict[str, Any]:
    with collection.using(work) as store:
        return {"documents": [_document(row) for row in store.get(ids)]}


def _delete(collection: ServedCollection, gone: GoneDocuments, work: Work) -> dict[str, Any]:
    with collection.using(work) as store:
        if not gone.erase:
            return {"deleted": store.delete(gone.ids), "erased": None}
        before = len(store)
        record = store.erase(gone.ids)
        return {"deleted": before - len(store), "erased": None if record is None else asdict(record)}


def _document(row: Any) -> dict[str, Any]:
    return {"id": row.id, "text": row.text, "metadata": row.metadata}


def _note(request: Request, texts: int, role: str) -> None:
    request.state.visit.texts, request.state.visit.role = texts, role


def _described(answer: dict[str, Any], asked: dict[str, Any] | None, *more: int) -> dict[str, Any]:
    """How a route is described in the schema."""
    statuses = (400, 401, 403, 404, 408, 413, 502, 503, 504, *more)
    found: dict[str, Any] = {
        "responses": {
            200: {"description": "Done", "content": {"application/json": {"schema": answer}}},
            **errors(*statuses),
        }
    }
    if asked is not None:
        content = {"application/json": {"schema": asked}}
        found["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    return found
