"""One case for each registered adapter: how it takes documents and a query, and how it is written down."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.embedders import Fake
from sfumato.protector import Protector
from sfumato.reference import Protected, ProtectorReference

DIM = 48
VECTORS = Fake(dim=DIM)


@dataclass(frozen=True)
class Case:
    """How one adapter is used."""

    make: Callable[[Any, Protected], Any]
    documents: Callable[[Any, list[str]], Any]
    query: Callable[[Any, str], Any] | None = None
    again: Callable[[Any], Any] | None = None
    """Write it down and read it again."""
    written: Callable[[Any], str] | None = None
    """What is written down."""
    expected: Callable[[Protector, list[str]], Any] = Protector.embed
    sticky: bool = True
    empty: bool = True
    """Whether its framework takes an empty list."""


def _direct(kind: Any, protected: Protected) -> Any:
    return kind(protected)


def _fitted(kind: Any, protected: Protected) -> Any:
    # Fitted on other rows: nothing may be learned from them.
    rows = VECTORS.embed(["anything", "else"]) if kind.__name__ == "ProtectVectors" else ["anything"]
    return kind(protected).fit(rows)


def _haystack(texts: list[str]) -> list[Any]:
    from haystack import Document

    return [Document(id=f"row-{row}", content=text) for row, text in enumerate(texts)]


def _haystack_documents(made: Any, texts: list[str]) -> Any:
    return [each.embedding for each in made.run(documents=_haystack(texts))["documents"]]


def _haystack_again(made: Any) -> Any:
    return type(made).from_dict(json.loads(json.dumps(made.to_dict())))


def _features(texts: list[str]) -> Any:
    import torch

    return {"sentence_embedding": torch.from_numpy(VECTORS.embed(texts))}


def _module_documents(made: Any, texts: list[str]) -> Any:
    made.eval()
    return made(_features(texts))["sentence_embedding"].numpy()


def _rows_named_by_their_numbers(protector: Protector, texts: list[str]) -> Any:
    rows = _shorter(texts).astype(np.float64)
    return protector.protect(rows, texts=[row.tobytes().hex() for row in rows])


def _shorter(texts: list[str]) -> Any:
    return VECTORS.embed(texts) / np.float32(2)  # inside the norm bound, so that nothing is drawn in


def _rebuilt(made: Any) -> Any:
    return type(made).build_from_config(json.loads(json.dumps(made.get_config())))


def _pickled(made: Any) -> Any:
    return pickle.loads(pickle.dumps(made))


CASES = {
    "langchain": Case(
        _direct, lambda made, texts: made.embed_documents(texts), lambda made, text: made.embed_query(text)
    ),
    "llama-index": Case(
        _direct,
        lambda made, texts: made.get_text_embedding_batch(texts),
        lambda made, text: made.get_query_embedding(text),
        again=lambda made: type(made).from_json(made.to_json()),
        written=lambda made: made.to_json(),
    ),
    "haystack-text": Case(
        _direct,
        # It takes one text and calls it a query.
        lambda made, texts: [made.run(text=text)["embedding"] for text in texts],
        lambda made, text: made.run(text=text)["embedding"],
        again=_haystack_again,
        written=lambda made: json.dumps(made.to_dict()),
        sticky=False,
    ),
    "haystack-documents": Case(
        _direct,
        _haystack_documents,
        again=_haystack_again,
        written=lambda made: json.dumps(made.to_dict()),
    ),
    "chroma": Case(
        _direct,
        lambda made, texts: made(texts),
        lambda made, text: made.embed_query([text])[0],
        again=_rebuilt,
        written=lambda made: json.dumps(made.get_config()),
        empty=False,
    ),
    "sentence-transformers": Case(
        _direct,
        _module_documents,
        expected=lambda protector, texts: protector.protect(VECTORS.embed(texts)),
        sticky=False,
    ),
    "sklearn-vectors": Case(
        _fitted,
        lambda made, texts: made.transform(_shorter(texts)),
        again=_pickled,
        written=lambda made: pickle.dumps(made).decode("latin-1"),
        expected=_rows_named_by_their_numbers,
        empty=False,
    ),
    "sklearn-texts": Case(
        _fitted,
        lambda made, texts: made.transform(texts),
        again=_pickled,
        written=lambda made: pickle.dumps(made).decode("latin-1"),
    ),
}


def protected(name: str, folder: str, *, sticky: bool = True) -> ProtectorReference:
    """Where the protector of a case is kept; a module that sees no texts has no secret."""
    takes_secret = name != "sentence-transformers"
    secret = "env:SFUMATO_SECRET" if sticky and takes_secret else ""
    return ProtectorReference(folder, secret=secret, tenant="acme")
