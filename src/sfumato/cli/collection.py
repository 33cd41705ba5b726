"""A live collection as something to audit: its stored vectors, and the texts behind them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.cli.vectors import ID_COLUMN, by_id, group_of, groups_in
from sfumato.concepts.base import Span
from sfumato.errors import InputError
from sfumato.inputs import ColumnNames, read
from sfumato.inputs.names import USUAL, no_column
from sfumato.stores.base import Store
from sfumato.stores.opening import open_store
from sfumato.stores.rows import TEXT_FIELD

_AT_ONCE = 512


@dataclass(slots=True)
class Collected:
    """Texts whose vectors a collection holds, row by row."""

    id_column: str
    """Of files that hold vectors of the same rows."""
    ids: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    stored: list[Any] = field(default_factory=list)
    spans: list[list[Span]] | None = None
    showable: list[bool] = field(default_factory=list)
    group_column: str | None = None
    """What each row belongs to, in the file or the collection."""
    groups: list[str | None] | None = None
    names: ColumnNames = USUAL
    """What the columns of those files are called."""
    labels: list[str | None] | None = None
    tags: list[list[str]] | None = None
    """A collection says neither."""

    @property
    def released(self) -> Any:
        """`[n, d]` the stored vectors."""
        return np.array(self.stored, np.float32)

    def vectors(self, path: Path | None, option: str) -> Any:
        """The vectors that a file holds of the same rows, by id: a collection has no order."""
        return None if path is None else by_id(path, option, self.ids, self.id_column, self.names)


def collect(
    url: str,
    source: Path | None,
    *,
    text_field: str | None,
    id_column: str | None,
    group_column: str | None,
    limit: int,
    everything: bool,
    names: ColumnNames = USUAL,
) -> Collected:
    """Read vectors from a collection, and their texts from it or, by id, from a file."""
    with open_store(url, create=False) as store:
        found = Collected(id_column or ID_COLUMN, group_column=group_column, names=names)
        found.groups = None if group_column is None else []
        if source is not None:
            return _with_texts_of(store, source, found, limit, everything)
        return _with_own_texts(store, text_field or TEXT_FIELD, found, limit, everything)


def _with_own_texts(store: Store, name: str, found: Collected, limit: int, everything: bool) -> Collected:
    for rows in store.batches(_AT_ONCE):
        for own, vector, metadata in zip(rows.ids, rows.vectors, rows.metadata, strict=True):
            text = metadata.get(name)
            if isinstance(text, str) and text and len(found.texts) < limit:
                found.ids.append(own)
                found.texts.append(text)
                found.stored.append(vector)
                if found.groups is not None:
                    found.groups.append(group_of(metadata.get(str(found.group_column))))
        if len(found.texts) >= limit:
            break
    if not found.texts:
        raise InputError(
            f"{store.label} keeps no texts in `{name}`. Name the field with --text-field, or give the texts "
            "as IN with a column of ids."
        )
    if found.groups is not None and not any(found.groups):
        raise InputError(f"{store.label} has no field `{found.group_column}`. Name that of the groups.")
    found.showable = [everything] * len(found.texts)
    return found


def _with_texts_of(store: Store, source: Path, found: Collected, limit: int, everything: bool) -> Collected:
    id_column = found.id_column
    labelled = False
    spans: list[list[Span]] = []
    missing = 0
    for batch in read(source, batch=_AT_ONCE, need="text", names=found.names):
        texts = batch.texts or []
        if id_column not in batch.columns:
            raise no_column(source.name, id_column, batch.columns, "--id-column")
        ids = [str(each) for each in batch.columns[id_column]]
        rows = store.get(dict.fromkeys(ids))
        vectors = dict(zip(rows.ids, rows.vectors, strict=True))
        labelled = labelled or batch.spans is not None
        marks = batch.columns.get("showable", [False] * len(texts))
        groups = groups_in(batch.columns, found.group_column, source.name)
        for row, (name, text) in enumerate(zip(ids, texts, strict=True)):
            if name not in vectors:
                missing += 1
            elif len(found.texts) < limit:
                found.ids.append(name)
                found.texts.append(text)
                found.stored.append(vectors[name])
                if found.groups is not None:
                    found.groups.append(groups[row])
                found.showable.append(everything or marks[row] is True)
                spans.append(batch.spans[row] if batch.spans is not None else [])
        if len(found.texts) >= limit:
            break
    if not found.texts:
        raise InputError(f"{store.label} holds none of the {missing} ids in `{source.name}`. Check the ids.")
    found.spans = spans if labelled else None
    return found
