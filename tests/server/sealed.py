"""Sealed collections of a gateway under test: the operator's file, and what a client asks for."""

from __future__ import annotations

import json
from pathlib import Path

from tests.server.running import DIM, Running

EMBEDDER = f"fake:{DIM}"
BASE = "/v1/collections/notes"


def allow(path: Path, tenants: dict[str, dict[str, object]]) -> Path:
    """Write a collections file; an address alone stands for a collection with the encoder for tests."""
    written = {
        tenant: {
            name: {"embedder": EMBEDDER, "store": each} if isinstance(each, str) else each
            for name, each in own.items()
        }
        for tenant, own in tenants.items()
    }
    path.write_text(json.dumps({"version": 1, "tenants": written}))
    path.chmod(0o600)
    return path


def add(running: Running, ids, texts, metadata=None, key=None, base=BASE):
    body = {"ids": ids, "texts": texts} | ({} if metadata is None else {"metadata": metadata})
    return running.ask("POST", f"{base}/documents", body, key)


def search(running: Running, query, key=None, base=BASE, **fields):
    status, _, answer = running.ask("POST", f"{base}/search", {"query": query, **fields}, key)
    assert status == 200, answer
    return answer


def found(answer) -> list[str]:
    """The ids that a search of one query found."""
    return [hit["id"] for hit in answer["results"][0]["hits"]]
