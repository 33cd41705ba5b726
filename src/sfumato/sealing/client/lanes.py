"""Searching the rows of several writers: each lane by its own cells, and the best of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from sfumato.embedders.texts import checked_texts
from sfumato.errors import InputError
from sfumato.numbers import whole_number
from sfumato.sealing.client.contents import SealedHit, SealedResult
from sfumato.sealing.client.searching import RowSearch
from sfumato.sealing.client.session import SealedClient
from sfumato.stores.rows import Where, checked_vectors, checked_where

MOST_HITS = 1000


@dataclass(frozen=True, slots=True)
class Lane:
    """The rows of one writer, as this client knows them."""

    name: str
    """How the lane is called in a result's faults; empty for this client's own."""
    client: SealedClient
    search: RowSearch

    def stale(self) -> int:
        """How many changes the store has seen that this client has not; -1 where the store does not say."""
        place = self.client.generation_place()
        stored = self.client.generation(self.client.outbox.fetch([place.id]).get(place.id))
        return -1 if stored is None else max(0, stored - self.client.state.settings.generation)


def search_lanes(
    lanes: Sequence[Lane], texts: Any, k: int, where: Where | None, vectors: Any
) -> list[SealedResult]:
    """The k nearest rows of every text or vector, over all lanes; `texts` may be one text."""
    if (texts is None) == (vectors is None):
        raise InputError("Give texts or vectors to search by, and not both.")
    k = whole_number(k, "k", 1, MOST_HITS)
    allowed = checked_where(where)
    dim = next((each.client.state.settings.dim for each in lanes if each.client.state.settings.dim), None)
    if vectors is None:
        asked = lanes[0].client.embed(checked_texts([texts] if isinstance(texts, str) else texts))
    else:
        asked = checked_vectors(vectors, dim)
    return [_best([(lane.name, lane.search.search(each, k, allowed)) for lane in lanes], k) for each in asked]


def search_name_in(lanes: Sequence[Lane], name: str, k: int, where: Where | None) -> SealedResult:
    """Rows of all lanes that hold a value, those most about it first."""
    k = whole_number(k, "k", 1, MOST_HITS)
    (text,) = checked_texts([name])
    allowed, own = checked_where(where), lanes[0].client
    vector = None if own.encoder() is None else own.embed([text])[0]
    return _best([(lane.name, lane.search.named(text, vector, k, allowed)) for lane in lanes], k)


def _best(found: Sequence[tuple[str, SealedResult]], k: int) -> SealedResult:
    """What each lane found, as one answer; its faults with the lane's name."""
    if len(found) == 1:
        name, result = found[0]
        return replace(result, faults=_said(name, result)) if name else result
    hits: dict[tuple[str, str, str], SealedHit] = {}
    for hit in sorted((hit for _, each in found for hit in each.hits), key=lambda hit: -hit.score):
        # A row that two writers hold the same is one; another row under the same id is another.
        hits.setdefault((hit.id, hit.text, repr(sorted(hit.metadata.items()))), hit)
    return SealedResult(
        list(hits.values())[:k],
        all(each.complete for _, each in found),
        tuple(fault for name, each in found for fault in _said(name, each)),
        sum(each.candidates for _, each in found),
        sum(each.texts for _, each in found),
        sum(each.bytes for _, each in found),
    )


def _said(name: str, result: SealedResult) -> tuple[str, ...]:
    return tuple(f"{name}: {fault}" if name else fault for fault in result.faults)
