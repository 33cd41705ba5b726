"""The console's sealed view: what a tenant finds, beside what its store was asked for and holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from itertools import islice
from typing import Any

from fastapi import Request, Response

from sfumato.sealing.store import SealedStore
from sfumato.server.app import Gateway
from sfumato.server.collections.answers import described, told
from sfumato.server.collections.routes import run
from sfumato.server.collections.serving import ServedCollection
from sfumato.server.collections.watching import StoreRequest, content_of
from sfumato.server.console.preview import LONGEST
from sfumato.server.http.problems import Problem
from sfumato.server.http.requests import read_object
from sfumato.server.turns.work import Work

HITS = 5
MOST_LOOKED_AT = 20_000
"""Records whose sizes are counted, at most."""
SHOWN = 64
"""Records of a request that are shown, at most; how many there are is said."""
_BEGINNING = 12
_LARGEST = 16 * LONGEST
"""Bytes of a body: a character takes at most twelve."""
_CLASSES = 12
_ASKED = {
    "type": "object",
    "required": ["collection", "query"],
    "additionalProperties": False,
    "properties": {
        "collection": {"type": "string"},
        "query": {"type": "string", "minLength": 1, "maxLength": LONGEST},
    },
}
_SEEN = {
    "type": "object",
    "required": ["results", "complete", "requests", "store"],
    "properties": {"requests": {"type": "array"}, "store": {"type": "object"}},
}


def add_sealed_view(app: Any, gateway: Gateway) -> None:
    """Add what the sealed view asks for."""
    counted: dict[ServedCollection, tuple[Any, dict[str, Any]]] = {}

    @app.post("/console/sealed", summary="A search, and what the store saw of it", **described(_SEEN, _ASKED))
    async def look(request: Request) -> Response:
        name, query = _read(request.state.visit.body)

        def work(collection: ServedCollection, work: Work, *_: Any) -> dict[str, Any]:
            (vector,) = collection.embed([query], work)
            with collection.using(work) as store, _watching(collection) as seen:
                found = store.search(vectors=vector[None], k=HITS)
                moment = store.settings
                if collection not in counted or counted[collection][0] != moment:
                    counted[collection] = (moment, _stolen(store))
            shown = [_request(each) for each in seen]
            return {**told(found), "requests": shown, "store": counted[collection][1]}

        return await run(gateway, name, request, work)


def _read(body: bytes | bytearray) -> tuple[str, str]:
    if len(body) > _LARGEST:  # before it is parsed, since that is done where all requests come in
        raise Problem(413, f"A search here must stay under {_LARGEST} bytes.", code="too_large")
    found = read_object(body)
    name, query = found.get("collection"), found.get("query")
    if not isinstance(name, str):
        raise Problem(400, "`collection` must be a name.", code="invalid_value", param="collection")
    if not isinstance(query, str) or not query.strip() or len(query) > LONGEST:
        message = f"`query` must be a string of 1 to {LONGEST} characters, not all blank."
        raise Problem(400, message, code="invalid_value", param="query")
    if any("\ud800" <= letter <= "\udfff" for letter in query):
        raise Problem(400, "`query` holds half of a surrogate pair.", code="invalid_value", param="query")
    return name, query


def _watching(collection: ServedCollection) -> AbstractContextManager[list[StoreRequest]]:
    window = collection.window
    return nullcontext([]) if window is None else window.watching()


def _request(asked: StoreRequest) -> dict[str, Any]:
    """One request as the store has it: ids, and of each record its size and how it begins."""
    records = [_record(name, asked.contents.get(name)) for name in asked.ids[:SHOWN]]
    whole = sum(len(each) for each in asked.contents.values())
    return {"records": len(asked.ids), "bytes": whole, "shown": records}


def _record(name: str, content: bytes | None) -> dict[str, Any]:
    there = content or b""
    return {"id": name, "bytes": len(there), "begins": there[:_BEGINNING].hex(" ")}


def _stolen(store: SealedStore) -> dict[str, Any]:
    """What a copy of the store tells: how many records there are, and of which sizes."""
    sizes = Counter(_sizes(store))
    common = sizes.most_common(_CLASSES)
    return {
        "rows": len(store),
        "records": len(store.store),
        "looked_at": sizes.total(),
        "bytes": sum(size * count for size, count in sizes.items()),
        "classes": [{"bytes": size, "records": count} for size, count in sorted(common)],
        "other_classes": len(sizes) - len(common),
        "other_records": sizes.total() - sum(count for _, count in common),
    }


def _sizes(store: SealedStore) -> Iterator[int]:
    every = (fields for rows in store.store.batches(500) for fields in rows.metadata)
    for fields in islice(every, MOST_LOOKED_AT):
        yield len(content_of(fields))
