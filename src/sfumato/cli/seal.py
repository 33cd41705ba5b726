"""`sfumato seal`: put texts into a store that finds them and can read nothing."""

from __future__ import annotations

import json as json_text
import math
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, cast

from sfumato.cli.options.sealed import (
    BitsOption,
    ConfirmOption,
    EmbedderOption,
    FilterOption,
    HandleOption,
    IdColumnOption,
    KeepOption,
    NamesOption,
    NewKeyOption,
    NoiseRatioOption,
    PrecisionOption,
    StateOption,
    StoreOption,
    TablesOption,
    TenantOption,
    state_folder,
)
from sfumato.cli.options.shared import InputFile, TextColumnOption, column_names
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress
from sfumato.errors import InputError
from sfumato.files import require_place
from sfumato.inputs import ColumnNames, RowBatch, count, read
from sfumato.inputs.names import USUAL, no_column
from sfumato.sealing.client.database import is_begun
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.store import SealedStore
from sfumato.stores.base import Store
from sfumato.stores.opening import open_store

NAME = "seal"
EXAMPLE = (
    "Examples: sfumato seal notes.jsonl --store qdrant:db#notes --key notes.key  |  "
    "sfumato seal notes.csv --store postgresql://host/db#notes --key notes.key --keep recall@10=0.99"
)
_ROWS_AT_ONCE = 50_000
_CHARACTERS_AT_ONCE = 1 << 26
_TIMED = 20


def command(
    source: InputFile,
    store: StoreOption,
    key: NewKeyOption,
    confirm: ConfirmOption = None,
    text_column: TextColumnOption = None,
    id_column: IdColumnOption = None,
    handle: HandleOption = None,
    bits: BitsOption = None,
    noise_ratio: NoiseRatioOption = None,
    names: NamesOption = None,
    filters: FilterOption = None,
    embedder: EmbedderOption = None,
    keep: KeepOption = "recall@10=0.99",
    tables: TablesOption = 1,
    precision: PrecisionOption = "int8",
    tenant: TenantOption = "",
    state: StateOption = None,
    json: JsonOption = None,
) -> None:
    """Seal texts, metadata and vectors into a store; run again, it adds what is new and changed."""
    with open_store(store) as records:
        secret = key_for(key, records)
        if confirm is not None:
            secret.confirm(confirm)
        folder = state_folder(key, secret, store, tenant, state)
        make_room(folder, state)
        with SealedStore(
            records,
            key=secret,
            folder=folder,
            handle=handle,
            bits=bits,
            release=noise_ratio,
            names=names,
            filters=filters or (),
            embedder=embedder or (None if is_begun(folder) else "minilm"),
            tenant=tenant,
            precision=cast(Any, precision),
            tables=tables,
            keep=keep,
        ) as sealed:
            changed = _add_all(sealed, source, id_column, column_names(text_column))
            facts = _facts(sealed, changed, folder, secret)
    _show(facts)
    write_json(json, facts)


def key_for(file: Path, records: Store) -> SealingKey:
    """The key, made if there is none; never beside rows that another key has sealed."""
    if not file.exists() and len(records):
        raise InputError(
            f"{records.label} has rows already, and there is no key at `{file}`. Give the key they were "
            "sealed with, or a new collection."
        )
    require_place(file)
    return SealingKey.open(file)


def make_room(folder: Path, given: Path | None) -> None:
    """Make the folder that a state's folder is made in."""
    require_place(folder if given is not None else folder.parent)
    if given is None:
        folder.parent.mkdir(mode=0o700, exist_ok=True)


def _add_all(sealed: SealedStore, source: Path, id_column: str | None, names: ColumnNames) -> int:
    changed = 0
    with progress("sealing", count(source), rate="rows") as bar:
        told = partial(bar.advance, bar.task_ids[0])
        for ids, texts, fields in gathered(source, id_column, names):
            changed += sealed.add(ids, texts, fields, on_rows=told)
    return changed


def gathered(
    source: Path, id_column: str | None, names: ColumnNames = USUAL
) -> Iterator[tuple[list[str], list[str], list[Any]]]:
    """Rows, as many at a time as memory bears: those that are sealed together cannot be told apart."""
    ids: list[str] = []
    texts: list[str] = []
    fields: list[dict[str, Any]] = []
    taken = 0
    for batch in read(source, need="text", names=names):
        own = batch.texts or []
        column = id_column or ("id" if "id" in batch.columns else None)
        if column is not None and column not in batch.columns:
            raise no_column(source, column, batch.columns, "--id-column")
        ids += _ids(batch, column, len(own))
        texts += own
        fields += [_metadata(batch, row, column) for row in range(len(own))]
        taken += sum(map(len, own))
        if len(ids) >= _ROWS_AT_ONCE or taken >= _CHARACTERS_AT_ONCE:
            yield ids, texts, fields
            ids, texts, fields, taken = [], [], [], 0
    if ids:
        yield ids, texts, fields


def _ids(batch: RowBatch, column: str | None, rows: int) -> list[str]:
    if column is None:
        return [str(batch.first_row + row) for row in range(rows)]
    found = batch.columns[column]
    absent = next((row for row, each in enumerate(found) if each is None), None)
    if absent is not None:
        raise InputError(f"Row {batch.first_row + absent} has no id in the column `{column}`. Give it one.")
    return [str(each) for each in found]


def _metadata(batch: RowBatch, row: int, column: str | None) -> dict[str, Any]:
    """The other columns of a row; what is neither text, number nor truth value is kept as JSON."""
    fields = {name: values[row] for name, values in batch.columns.items() if name != column}
    return {name: _plain(value) for name, value in fields.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, str | bool | int) or (isinstance(value, float) and math.isfinite(value)):
        return value
    return json_text.dumps(value, default=str)


def _facts(sealed: SealedStore, changed: int, folder: Path, key: SealingKey) -> dict[str, Any]:
    """What was done, and what a query costs: measured with texts of the collection."""
    texts = [row.text for row in next(sealed.iterate(_TIMED), [])]
    begun = time.perf_counter()
    found = sealed.search(texts) if texts else []
    taken = time.perf_counter() - begun
    many = max(1, len(found))
    return {
        "handle": sealed.settings.handle,
        "sees": sealed.sees,
        "rows": len(sealed),
        "changed": changed,
        "records": len(sealed.store),
        "probes": sealed.settings.probes,
        "candidates": round(sum(each.candidates for each in found) / many, 1),
        "bytes": round(sum(each.bytes for each in found) / many),
        "milliseconds": round(1000 * taken / many, 2),
        "complete": all(each.complete for each in found),
        "measured": None if sealed.measured is None else sealed.measured.to_dict(),
        "key": key.fingerprint,
        "state": str(folder),
    }


def _show(facts: dict[str, Any]) -> None:
    def line(text: str) -> None:
        console().print(text, highlight=False, markup=False)

    line(f"{facts['rows']} rows sealed, {facts['changed']} of them new or changed; key {facts['key']}")
    line(
        f"A query fetches {facts['candidates']:g} candidates and 32 texts, {facts['bytes']} bytes in all, "
        f"and takes {facts['milliseconds']:g} ms with its embedding."
    )
    measured = facts["measured"]
    if measured is not None:
        held = "" if measured["holds"] else f" ({measured['target']:g} is not shown by so few rows)"
        line(f"{measured['metric']} kept: {measured['kept']:.4f}, at least {measured['low']:.4f}{held}")
    line(f"The store holds {facts['records']} records. It sees {facts['sees']}.")
    line(f"Keep copies of the key and of {facts['state']}: without either, no row opens again.")
