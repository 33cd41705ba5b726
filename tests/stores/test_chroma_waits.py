"""A Chroma server that has announced a collection and not yet written it is asked again."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from sfumato.errors import StoreError
from sfumato.stores.kinds import chroma

errors = pytest.importorskip("chromadb.errors")


class Writing:
    """A collection whose first answers fail inside the server."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.configuration_json = {"hnsw": {"space": "cosine"}}

    def get(self, **asked):
        if self.failures:
            self.failures -= 1
            raise errors.InternalError("Nothing found on disk")
        return {"embeddings": []}


def opened(monkeypatch, failures):
    monkeypatch.setattr(chroma, "_client", lambda *place: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(chroma.Chroma, "_existing", lambda self: Writing(failures))
    monkeypatch.setattr(chroma, "_PAUSES", (0.0, 0.0))
    return chroma.Chroma("notes", path="nowhere")


def test_it_is_asked_again(monkeypatch):
    assert opened(monkeypatch, 2).metric == "cosine"


def test_and_not_for_ever(monkeypatch):
    with pytest.raises(StoreError):
        opened(monkeypatch, 3)
