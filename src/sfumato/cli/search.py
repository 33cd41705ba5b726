"""`sfumato search`: find rows of a sealed or a protected collection."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from sfumato.cli.options.sealed import (
    CleanOption,
    EmbedderOption,
    HitsOption,
    NameOption,
    ProtectorOption,
    QueriesOption,
    SearchIdsOption,
    SearchKeyOption,
    StateOption,
    StoreOption,
    TenantOption,
    TextArgument,
    TextsOption,
    WhereOption,
    state_folder,
)
from sfumato.cli.options.shared import AllowRemoteOption, TextColumnOption, column_names, reference
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress
from sfumato.cli.protected_search import cut, search_protected
from sfumato.errors import InputError
from sfumato.inputs import ColumnNames, read
from sfumato.sealing.client.contents import SealedResult
from sfumato.sealing.client.database import is_begun
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.store import SealedStore
from sfumato.stores.opening import open_store

NAME = "search"
EXAMPLE = (
    'Examples: sfumato search "cough and fever" --store qdrant:db#notes --key notes.key  |  '
    "sfumato search --queries questions.txt --store qdrant:db#notes --key notes.key --json found.json  |  "
    'sfumato search "late deliveries" --store chroma:safe#notes --protector places --texts notes.jsonl'
)
_PROTECTED = (
    "--protector DIR searches a protected collection: --key, --name, --embedder, --tenant and --state "
    "belong to a sealed one. Leave them out."
)
_SEALED = (
    "Give --key FILE for a sealed collection, or --protector DIR for a protected one, to which --clean, "
    "--texts and --allow-remote belong."
)


def command(
    store: StoreOption,
    text: TextArgument = None,
    key: SearchKeyOption = None,
    protector: ProtectorOption = None,
    queries: QueriesOption = None,
    text_column: TextColumnOption = None,
    name: NameOption = None,
    k: HitsOption = 10,
    where: WhereOption = None,
    embedder: EmbedderOption = None,
    tenant: TenantOption = "",
    state: StateOption = None,
    clean: CleanOption = False,
    texts: TextsOption = None,
    id_column: SearchIdsOption = None,
    allow_remote: AllowRemoteOption = None,
    json: JsonOption = None,
) -> None:
    """Find rows of a protected or sealed collection; exit code 1 if sealed rows are missing in the store."""
    if [text, queries, name].count(None) != 2:
        raise InputError("Give either TEXT, --queries FILE or --name VALUE.")
    if id_column is not None and queries is None and texts is None:
        raise InputError("--id-column is of --queries FILE or --texts FILE. Give one, or leave it out.")
    asked, ids = [text or ""], None
    if queries is not None:
        asked, ids = _questions(queries, column_names(text_column), id_column)
    allowed = _filter(where or [])
    if protector is not None:
        if key or name or embedder or tenant or state:
            raise InputError(_PROTECTED)
        made = reference(protector, allow_remote=allow_remote).open()
        write_json(json, search_protected(store, made, asked, k, allowed, clean, texts, id_column))
        return
    if key is None or clean or texts or allow_remote:
        raise InputError(_SEALED)
    with open_sealed(store, key, tenant, state, embedder) as sealed, progress("searching", None):
        if name is not None:
            found = [sealed.search_name(name, k, allowed)]
        else:
            found = sealed.search(asked, k, allowed)
    _show(found)
    write_json(json, _facts(found, ids))
    if not all(each.complete for each in found):
        raise typer.Exit(1)


def _questions(path: Path, names: ColumnNames, column: str | None) -> tuple[list[str], list[Any] | None]:
    """The texts to look for, and their ids where a column of them was named."""
    texts: list[str] = []
    ids: list[Any] = []
    for batch in read(path, need="text", columns=() if column is None else (column,), names=names):
        texts += batch.texts or []
        ids += batch.columns.get(column or "", [])
    return texts, None if column is None else ids


def open_sealed(
    url: str, key: Path, tenant: str, state: Path | None, embedder: str | None = None
) -> SealedStore:
    """Open a collection that is there, or refuse the key before the store is asked for anything."""
    secret = SealingKey.load(key)
    folder = state_folder(key, secret, url, tenant, state)
    if not is_begun(folder):
        raise InputError(
            f"The key {secret.fingerprint} has sealed nothing at this address for this tenant. Check the "
            "key, the address and the tenant, or give the folder with --state."
        )
    records = open_store(url, create=False)
    return SealedStore(records, key=secret, folder=folder, tenant=tenant, embedder=embedder, create=False)


def _filter(given: list[str]) -> dict[str, Any]:
    """What --where asks for: a value as text, as number and as truth value, since the shell has one kind."""
    allowed: dict[str, Any] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise InputError("--where must read FIELD=VALUE. Found something else.")
        values: list[Any] = [value]
        for kind in (int, float):
            try:
                values.append(kind(value))
            except ValueError:
                continue
        values += [value == "true"] if value in ("true", "false") else []
        allowed[name] = [*allowed.get(name, []), *values]
    return allowed


def _show(found: list[SealedResult]) -> None:
    screen = console()
    for query, result in enumerate(found):
        if len(found) > 1:
            screen.print(f"Query {query}", highlight=False)
        for hit in result.hits:
            screen.print(f"{hit.score:.4f}  {hit.id}  {cut(hit.text)}", highlight=False, markup=False)
        for fault in result.faults:
            console(aside=True).print(f"sfumato: incomplete: {fault}.", highlight=False, markup=False)


def _facts(found: list[SealedResult], ids: list[Any] | None) -> dict[str, Any]:
    many = max(1, len(found))
    return {
        "results": [
            {
                "query": query,
                **({} if ids is None else {"id": ids[query]}),
                "hits": [
                    {"id": hit.id, "score": hit.score, "text": hit.text, "metadata": hit.metadata}
                    for hit in result.hits
                ],
                "complete": result.complete,
                "faults": list(result.faults),
            }
            for query, result in enumerate(found)
        ],
        "candidates": round(sum(each.candidates for each in found) / many, 1),
        "bytes": round(sum(each.bytes for each in found) / many),
        "complete": all(each.complete for each in found),
    }
