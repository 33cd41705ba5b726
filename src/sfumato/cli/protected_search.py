"""Searching a protected collection: the store has vectors and ids, the texts are looked up at home."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sfumato.cli.output import console
from sfumato.cli.seal import gathered
from sfumato.errors import InputError
from sfumato.protector import Protector
from sfumato.stores.base import Store
from sfumato.stores.opening import open_store
from sfumato.stores.protected import ProtectedStore
from sfumato.stores.rows import Hit

_SHOWN = 100


def search_protected(
    url: str,
    protector: Protector,
    asked: Sequence[str],
    k: int,
    where: Mapping[str, Any],
    clean: bool,
    texts: Path | None,
    id_column: str | None,
) -> dict[str, Any]:
    """Search, show what was found, and return it."""
    if k < 1:
        raise InputError(f"-k must be at least 1. Found {k}.")
    with ProtectedStore(
        open_store(url, create=False), protector, queries="clean" if clean else "protected"
    ) as store:
        found = store.search(list(asked), k, where=_of_its_kind(store.store, where))
    wanted = {hit.id for hits in found for hit in hits}
    known = {} if texts is None else _texts_of(texts, id_column, wanted)
    for query, hits in enumerate(found):
        _show(query if len(found) > 1 else None, hits, known)
    hidden = 0 if clean else _name_hidden(protector, asked)
    if hidden:
        console(aside=True).print(
            f"sfumato: {hidden} of {len(asked)} searches name what the protector hides, which is taken out "
            "of them as out of texts: they find what else they say.",
            highlight=False,
        )
    return {"results": [_facts(query, hits, known) for query, hits in enumerate(found)], "hidden": hidden}


def cut(text: str) -> str:
    """A text on one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"


def _of_its_kind(store: Store, where: Mapping[str, Any]) -> dict[str, Any] | None:
    """Of the values that a filter may mean those of the kind that the store has in the field: it has one."""
    first = next(store.batches(), None) if where else None
    rows = [] if first is None else first.metadata
    kinds = {name: type(row[name]) for row in rows for name in where if name in row}
    kept = {
        name: [each for each in values if type(each) is kinds.get(name)] for name, values in where.items()
    }
    return {name: kept[name] or values[:1] for name, values in where.items()} or None


def _texts_of(source: Path, id_column: str | None, wanted: set[str]) -> dict[str, str]:
    """Texts of the rows that were found."""
    known: dict[str, str] = {}
    for ids, texts, _ in gathered(source, id_column):
        known |= {name: text for name, text in zip(ids, texts, strict=True) if name in wanted}
    return known


def _name_hidden(protector: Protector, asked: Sequence[str]) -> int:
    """How many searches hold a concept that is taken out of them."""
    if not protector.neutral:
        return 0
    found = [concept.find_all(asked) for concept in protector.concepts if concept.detector is not None]
    return sum(any(spans) for spans in zip(*found, strict=True))


def _show(query: int | None, hits: Sequence[Hit], known: Mapping[str, str]) -> None:
    screen = console()
    if query is not None:
        screen.print(f"Query {query}", highlight=False)
    for hit in hits:
        words = f"{hit.distance:.4f}  {hit.id}  {cut(known.get(hit.id, ''))}"
        screen.print(words.rstrip(), highlight=False, markup=False)


def _facts(query: int, hits: Sequence[Hit], known: Mapping[str, str]) -> dict[str, Any]:
    rows = [
        {"id": hit.id, "distance": hit.distance, "metadata": dict(hit.metadata)}
        | ({"text": known[hit.id]} if hit.id in known else {})
        for hit in hits
    ]
    return {"query": query, "hits": rows}
