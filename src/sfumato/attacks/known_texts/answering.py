"""Whoever answers an attacker's questions: a protector, a running gateway, a store that can be searched.

A question is one text of the attacker's own. He counts every text that he sends, refused ones as well, and
stops at the number that he may ask. A release over its ceiling is refused (`BudgetError`; HTTP 429 of a
gateway), which is an answer of its own kind: somebody has spent that text's budget.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Any, Literal

import numpy as np

from sfumato.attacks.base import Embeds, entrance_of, fresh_releases
from sfumato.embedders.endpoint import Poster
from sfumato.embedders.openai import answered_vectors
from sfumato.embedders.remote import checked_address
from sfumato.errors import BudgetError, EndpointError, ParameterError
from sfumato.numbers import whole_number
from sfumato.release import Releasing
from sfumato.types import Vectors

Answer = Any
"""A release, `(d,)`; or of a search, how near each row is by its id, higher for nearer."""
_REFUSED = 429
_COLLECTIONS = "/collections/"
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class Answering:
    """Something that answers texts."""

    kind: Literal["releases", "searches"]
    ask: Callable[[list[str]], Sequence[Answer]]
    """One answer a text; a refusal of one of them refuses all."""


def releases_of(embed: Callable[[list[str]], Any]) -> Answering:
    """Texts in, their `(n, d)` releases out, such as the `embed` of a protector."""
    return Answering("releases", lambda texts: list(np.asarray(embed(texts), np.float64)))


def searches_of(search: Callable[[list[str], int], Sequence[Any]], k: int = 10) -> Answering:
    """Texts in, the `k` nearest rows out, such as the `search` of a protected or a sealed store.

    Args:
        search: hits of each text with an `id` and a `distance` or a `score`, or something with such `hits`.
        k: rows that come back at most.
    """
    most = whole_number(k, "k", 1, 1000)

    def ask(texts: list[str]) -> list[Answer]:
        return [_nearness(getattr(found, "hits", found)) for found in search(texts, most)]

    return Answering("searches", ask)


def gateway(
    url: str,
    *,
    role: Literal["document", "query"] = "document",
    key_variable: str | None = None,
    model: str = "any",
    k: int = 10,
) -> Answering:
    """A running gateway, asked with the key that the environment holds for its host.

    Args:
        url: such as https://host/v1 for releases, https://host/v1/collections/notes for searches.
        role: what he says that his texts are; queries get fresh noise, and spend what a text may spend.
        key_variable: the environment variable of the key; see `embedders.remote`.
        model: the model's name, which a gateway may not look at.
        k: rows that a search brings at most.
    """
    base = checked_address(url)
    searching = _COLLECTIONS in base
    poster = Poster(
        f"{base}/search" if searching else f"{base}/embeddings",
        key_variable=key_variable,
        timeout=60.0,
        retries=0,
        longest_wait=0.0,
    )

    def post(body: Mapping[str, Any], count: int) -> bytes:
        return poster.post(json.dumps(body).encode(), f"for {count} questions", Event())

    def release(texts: list[str]) -> Any:
        body = {"model": model, "input": texts, "encoding_format": "base64", "input_type": role}
        return answered_vectors(post(body, len(texts)), len(texts), 0, f"{poster.address} answered")

    def search(texts: list[str], most: int) -> list[Any]:
        return _hits(post({"queries": texts, "k": most}, len(texts)), len(texts), poster.address)

    return searches_of(search, k) if searching else releases_of(release)


def answering(
    given: Any, mechanism: Releasing | None = None, embedder: Embeds | None = None, *, seed: int = 0
) -> Answering:
    """Whatever was given, ready to be asked.

    Args:
        given: an `Answering`, a gateway's address, a protector or anything else with `embed`, a store or
            anything else with `search`, a function from texts to releases; None for a victim that is told.
        mechanism: then, what the victim releases through.
        embedder: its encoder; a protector brings its own.
        seed: of the noise that such a victim's answers have.
    """
    if isinstance(given, Answering):
        return given
    if isinstance(given, str):
        return gateway(given)
    for name, made in (("search", searches_of), ("embed", releases_of)):
        if callable(getattr(given, name, None)):
            return made(getattr(given, name))
    if callable(given):
        return releases_of(given)
    if given is not None:
        raise ParameterError(
            "`oracle` must be an address, a protector, a store or a function of texts. "
            f"Found {type(given).__name__}."
        )
    entrance = entrance_of(mechanism, embedder)
    if entrance is None:
        raise ParameterError("`oracle` or `embedder` must say who is asked. Found neither. Pass one.")
    return _told(mechanism, entrance, seed)


def _told(mechanism: Releasing | None, entrance: Embeds, seed: int) -> Answering:
    """A victim that is imitated: fresh noise at each question, and every text embedded once."""
    release = fresh_releases(mechanism, seed)
    known: dict[str, Vectors] = {}

    def ask(texts: list[str]) -> Any:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        if new:
            known.update(zip(new, np.asarray(entrance.embed(new), np.float32), strict=True))
        return release(np.stack([known[text] for text in texts]))

    return releases_of(ask)


@dataclass(slots=True)
class Questions:
    """Asks, a few texts at a time, and counts; nothing is sent beyond `most`."""

    source: Answering
    most: int
    sent: int = 0
    """Texts that were sent, whatever came of them."""
    refused: set[str] = field(default_factory=set)
    """Those that were refused."""

    def __call__(self, texts: Sequence[str]) -> list[Answer | None]:
        """The answer to each text; None where it was refused or may not be asked any more."""
        rows = list(texts)
        found: list[Answer | None] = []
        for start in range(0, len(rows), _AT_ONCE):
            found += self._some(rows[start : start + _AT_ONCE])
        return found

    @property
    def left(self) -> int:
        """Texts that may still be sent."""
        return self.most - self.sent

    def _some(self, texts: list[str]) -> list[Answer | None]:
        able = texts[: self.left]
        if not able:
            return [None] * len(texts)
        self.sent += len(able)
        try:
            found: list[Answer | None] = list(self.source.ask(able))
        except (BudgetError, EndpointError) as error:
            if isinstance(error, EndpointError) and error.status != _REFUSED:
                raise
            if len(able) == 1:
                self.refused.add(able[0])
                found = [None]
            else:  # one of them is refused: which?
                half = len(able) // 2
                found = self._some(able[:half]) + self._some(able[half:])
        return found + [None] * (len(texts) - len(able))


def _nearness(hits: Any) -> dict[str, float]:
    return {
        str(hit.id): float(hit.score) if hasattr(hit, "score") else -float(hit.distance)
        for hit in reversed(list(hits))
    }


@dataclass(frozen=True, slots=True)
class _GatewayHit:
    id: str
    score: float


def _hits(answer: bytes, count: int, address: str) -> list[list[_GatewayHit]]:
    """The hits of each search; what a server wrote is never shown."""
    rows: list[list[_GatewayHit]] | None = None
    with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError):
        results = json.loads(answer)["results"]
        rows = [
            [_GatewayHit(str(hit["id"]), float(hit["score"])) for hit in each["hits"]] for each in results
        ]
    if rows is None or len(rows) != count:
        raise EndpointError(f"{address} answered with something that is not {count} searches' hits.")
    return rows
