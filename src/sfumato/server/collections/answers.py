"""What clients of sealed collections are told, and how the schema describes it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfumato.sealing.client.contents import SealedHit, SealedResult, SealedRow
from sfumato.server.routes import answered, errors

DIGITS = 3
"""Of a score: what vectors kept in eight bits a number can carry; further ones would be their rounding."""
FAULTS = 10
"""Lines about what is wrong with a store that an answer holds, at most."""
_DOCUMENT: dict[str, Any] = {
    "type": "object",
    "required": ["id", "text", "metadata"],
    "properties": {
        "id": {"type": "string"},
        "text": {"type": "string"},
        "metadata": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
    },
}
_HIT: dict[str, Any] = {
    "type": "object",
    "required": ["id", "score", "text", "metadata"],
    "properties": {**_DOCUMENT["properties"], "score": {"type": "number"}},
}
FOUND: dict[str, Any] = {
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
DOCUMENTS: dict[str, Any] = {
    "type": "object",
    "required": ["documents"],
    "properties": {"documents": {"type": "array", "items": _DOCUMENT}},
}
CHANGED: dict[str, Any] = {
    "type": "object",
    "required": ["changed"],
    "properties": {"changed": {"type": "integer", "description": "Documents that are new or changed."}},
}
GONE: dict[str, Any] = {
    "type": "object",
    "required": ["deleted", "erased"],
    "properties": {
        "deleted": {"type": "integer", "description": "Documents that were there."},
        "erased": {
            "type": ["object", "null"],
            "description": "The record of an erasure, if it was one.",
            "required": ["time", "count", "old_root", "new_root"],
            "properties": {
                "time": {"type": "string"},
                "count": {"type": "integer"},
                "old_root": {"type": "string"},
                "new_root": {"type": "string"},
            },
        },
    },
}


def told(results: Iterable[SealedResult]) -> dict[str, Any]:
    """What a client is told of searches."""
    rows = [
        {
            "query": number,
            "hits": [{**document(hit), "score": round(hit.score, DIGITS)} for hit in result.hits],
            "complete": result.complete,
            "faults": list(result.faults[:FAULTS]),
        }
        for number, result in enumerate(results)
    ]
    return {"results": rows, "complete": all(row["complete"] for row in rows)}


def document(row: SealedRow | SealedHit) -> dict[str, Any]:
    """A document as it was added."""
    return {"id": row.id, "text": row.text, "metadata": row.metadata}


def described(answer: dict[str, Any], asked: dict[str, Any] | None = None) -> dict[str, Any]:
    """How a route is described in the schema."""
    found: dict[str, Any] = {
        "responses": answered("Done", answer) | errors(400, 401, 403, 404, 408, 413, 502, 503, 504),
    }
    if asked is not None:
        content = {"application/json": {"schema": asked}}
        found["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    return found
