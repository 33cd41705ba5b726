"""The addresses of sealed collections: documents in, out and erased, and searches."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from fastapi import Request, Response

from sfumato.sealing.client.contents import SealedResult
from sfumato.server.app import Gateway
from sfumato.server.collections import answers
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
from sfumato.server.http.guard import Visit
from sfumato.server.http.problems import Problem
from sfumato.server.routes import answered, errors, listed
from sfumato.server.settings import GatewaySettings
from sfumato.server.turns.work import Work

BASE = "/v1/collections/{name}"
Call = Callable[[ServedCollection, Work, Visit, GatewaySettings], dict[str, Any]]
"""What is done with a collection of the tenant's, in its turn."""


def add_collections(app: Any, gateway: Gateway) -> None:
    """Add the addresses of sealed collections."""

    @app.get(
        "/v1/collections",
        summary="The sealed collections of this key",
        response_model=None,
        responses=answered("Collections", listed("collection")) | errors(401, 403),
    )
    async def collections(request: Request) -> dict[str, Any]:
        names = gateway.collections.names(request.state.visit.tenant)
        return {"object": "list", "data": [{"id": name, "object": "collection"} for name in names]}

    for path, summary, call, asked, answer in (
        ("documents", "Seal documents", _add, DOCUMENTS, answers.CHANGED),
        ("documents/get", "Read documents", _read, READ, answers.DOCUMENTS),
        ("documents/delete", "Delete or erase documents", _delete, DELETE, answers.GONE),
        ("search", "The nearest documents", _search, SEARCH, answers.FOUND),
    ):
        _post(app, gateway, f"{BASE}/{path}", summary, call, answers.described(answer, asked))

    one = f"{BASE}/documents/{{id:path}}"

    @app.get(one, summary="Read one document", **answers.described(answers.DOCUMENTS))
    async def read_one(name: str, id: str, request: Request) -> Response:
        return await run(gateway, name, request, lambda *given: _document(one_id(id), *given[:2]))

    @app.delete(one, summary="Delete or erase one document", **answers.described(answers.GONE))
    async def delete_one(name: str, id: str, request: Request, erase: bool = False) -> Response:
        gone = GoneDocuments(one_id(id), erase)
        return await run(gateway, name, request, lambda *given: _deleted(gone, *given[:2]))


def _post(app: Any, gateway: Gateway, path: str, summary: str, call: Call, described: dict[str, Any]) -> None:
    @app.post(path, summary=summary, name=call.__name__.strip("_"), **described)
    async def post(name: str, request: Request) -> Response:
        return await run(gateway, name, request, call)


async def run(gateway: Gateway, name: str, request: Request, call: Call) -> Response:
    """Do what is asked of a collection of this tenant's; nothing is looked at where it is not."""
    visit, settings = request.state.visit, gateway.settings
    collection = gateway.collections.get(visit.tenant, name)

    def work(work: Work) -> bytes:
        body = json.dumps(call(collection, work, visit, settings), ensure_ascii=False).encode()
        if len(body) > settings.max_bytes:
            message = f"The answer would have more than {settings.max_bytes} bytes. Ask for less at once."
            raise Problem(400, message, code="answer_too_large")
        return body

    body = await gateway.engine.run(visit.tenant, work, request.receive, visit.trace)
    return Response(body, media_type="application/json")


def _add(collection: ServedCollection, work: Work, visit: Visit, settings: GatewaySettings) -> dict[str, Any]:
    new = read_documents(visit.body, settings)
    visit.texts, visit.role = len(new.ids), "document"
    with collection.using(work) as store:
        return {"changed": store.add(new.ids, new.texts, new.metadata)}


def _read(collection: ServedCollection, work: Work, visit: Visit, _: GatewaySettings) -> dict[str, Any]:
    ids = read_ids(visit.body)
    visit.texts, visit.role = len(ids), "document"
    return _documents(ids, collection, work)


def _delete(
    collection: ServedCollection, work: Work, visit: Visit, settings: GatewaySettings
) -> dict[str, Any]:
    gone = read_gone(visit.body, settings)
    visit.texts, visit.role = len(gone.ids), "document"
    return _deleted(gone, collection, work)


def _search(
    collection: ServedCollection, work: Work, visit: Visit, settings: GatewaySettings
) -> dict[str, Any]:
    asked = read_search(visit.body, settings)
    visit.texts, visit.role = len(asked.queries), "query"
    return answers.told(searched(asked, collection, work))


def searched(asked: SealedSearch, collection: ServedCollection, work: Work) -> list[SealedResult]:
    """Search query by query, until nobody waits any more."""
    vectors = collection.embed(asked.queries, work)
    found = []
    with collection.using(work) as store:
        for vector in vectors:
            work.check()
            found += store.search(vectors=vector[None], k=asked.k, where=asked.where)
    return found


def _documents(ids: list[str], collection: ServedCollection, work: Work) -> dict[str, Any]:
    with collection.using(work) as store:
        return {"documents": [answers.document(row) for row in store.get(ids)]}


def _document(ids: list[str], collection: ServedCollection, work: Work) -> dict[str, Any]:
    found = _documents(ids, collection, work)
    if not found["documents"]:
        raise Problem(404, "There is no document of this id.", code="no_document", param="id")
    return found


def _deleted(gone: GoneDocuments, collection: ServedCollection, work: Work) -> dict[str, Any]:
    with collection.using(work) as store:
        if not gone.erase:
            return {"deleted": store.delete(gone.ids), "erased": None}
        before = len(store)
        record = store.erase(gone.ids)
        return {"deleted": before - len(store), "erased": None if record is None else asdict(record)}
