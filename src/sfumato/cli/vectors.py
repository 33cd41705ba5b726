"""Texts to audit and the vectors that belong to them: joined by ids where both files have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.concepts.base import Span
from sfumato.errors import InputError
from sfumato.inputs import ColumnNames, read
from sfumato.inputs.names import USUAL, no_column
from sfumato.inputs.parquet import open_parquet

ID_COLUMN = "id"


class AuditTexts:
    """The first texts of a file, their spans, their ids, and which of them may be shown."""

    def __init__(
        self, path: Path, limit: int, everything: bool, id_column: str | None = None,
        group_column: str | None = None, label_column: str | None = None, tags_column: str | None = None,
        names: ColumnNames = USUAL,
    ) -> None:  # fmt: skip
        self.texts: list[str] = []
        self.showable: list[bool] = []
        self.names = names
        self.id_column, self.asked = id_column or ID_COLUMN, id_column is not None
        found: list[list[Span]] = []
        ids: list[Any] = []
        groups: list[str | None] = []
        labels: list[str | None] = []
        tags: list[list[str]] = []
        labelled = False
        for batch in read(path, need="text", names=names):
            texts = batch.texts or []
            marks = batch.columns.get("showable", [False] * len(texts))
            self.texts += texts
            if self.asked and self.id_column not in batch.columns:
                raise no_column(path.name, self.id_column, batch.columns, "--id-column")
            ids += batch.columns.get(self.id_column, [None] * len(texts))
            groups += groups_in(batch.columns, group_column, path.name)
            labels += groups_in(batch.columns, label_column, path.name, "--label-column")
            tags += _tags_in(batch.columns, tags_column, path.name)
            self.showable += [everything or mark is True for mark in marks]
            labelled = labelled or batch.spans is not None
            found += batch.spans if batch.spans is not None else [[] for _ in texts]
            if len(self.texts) >= limit:
                break
        self.texts, self.showable = self.texts[:limit], self.showable[:limit]
        self.spans = found[:limit] if labelled else None
        self.groups = None if group_column is None else groups[:limit]
        self.labels = None if label_column is None else labels[:limit]
        self.tags = None if tags_column is None else tags[:limit]
        self.ids = self._ids(ids[:limit], path)

    def _ids(self, found: list[Any], path: Path) -> list[str] | None:
        if any(each is None for each in found):
            if self.asked:
                row = next(row for row, each in enumerate(found) if each is None)
                raise InputError(
                    f"`{path.name}` must have an id in `{self.id_column}` in every row. Row {row} has none."
                )
            return None
        ids = [str(each) for each in found]
        if len(set(ids)) < len(ids):
            if self.asked:
                raise InputError(f"The ids in `{self.id_column}` of `{path.name}` must all be different.")
            return None
        return ids

    def vectors(self, path: Path | None, option: str) -> NDArray[np.float32] | None:
        """The vectors of the texts, or refuse the file: by id where it has ids too, else row by row."""
        if path is None:
            return None
        if self.ids is not None and (self.asked or _has_column(path, self.id_column)):
            return by_id(path, option, self.ids, self.id_column, self.names)
        return _in_order(path, option, len(self.texts), self.names)


def groups_in(
    columns: Mapping[str, Sequence[Any]], name: str | None, file: str, option: str = "--group-column"
) -> list[str | None]:
    """What each row of a file belongs to, or is labelled with."""
    if name is None:
        return []
    if name not in columns:
        raise no_column(file, name, columns, option)
    return [group_of(each) for each in columns[name]]


def _tags_in(columns: Mapping[str, Sequence[Any]], name: str | None, file: str) -> list[list[str]]:
    """The tags of each row: a list, or words between commas."""
    if name is None:
        return []
    if name not in columns:
        raise no_column(file, name, columns, "--tags-column")
    several = [each.split(",") if isinstance(each, str) else each or [] for each in columns[name]]
    return [[str(tag).strip() for tag in each] for each in several]


def group_of(value: Any) -> str | None:
    """What a row belongs to; an empty value is nothing."""
    return None if value is None or value == "" else str(value)


def by_id(
    path: Path, option: str, ids: list[str], column: str, names: ColumnNames = USUAL
) -> NDArray[np.float32]:
    """The vectors of these ids, in their order, or refuse the file."""
    if not _has_column(path, column):
        raise no_column(path.name, column, _columns_of(path), "--id-column")
    wanted = {name: row for row, name in enumerate(ids)}
    made: NDArray[np.float32] | None = None
    filled = np.zeros(len(ids), bool)
    for batch in read(path, need="embedding", columns=(column,), names=names):
        vectors = np.asarray(batch.vectors)
        made = np.empty((len(ids), vectors.shape[1]), vectors.dtype) if made is None else made
        for name, vector in zip(batch.columns[column], vectors, strict=True):
            row = wanted.get(str(name))
            if row is None:
                continue
            if filled[row]:
                raise InputError(f"The ids in `{column}` of `{path.name}` must all be different.")
            made[row], filled[row] = vector, True
    if made is None or not filled.all():
        raise InputError(
            f"{option} has to hold a vector for each of the {len(ids)} ids in `{column}`. It lacks "
            f"{int((~filled).sum())}. Check the ids, or name their column with --id-column."
        )
    return made


def _in_order(path: Path, option: str, rows: int, names: ColumnNames) -> NDArray[np.float32]:
    found: list[Any] = []
    count = 0
    for batch in read(path, need="embedding", columns=(), names=names):
        found.append(batch.vectors)
        count += len(batch)
        if count >= rows:
            break
    if count < rows:
        raise InputError(f"{option} has to hold a vector for each of the {rows} texts. Found {count}.")
    return np.concatenate(found)[:rows]


def _has_column(path: Path, name: str) -> bool:
    return name in _columns_of(path)


def _columns_of(path: Path) -> list[str]:
    """The columns of a Parquet file; other files of vectors have none."""
    if path.suffix.lower() != ".parquet" or not path.is_file():
        return []
    with open_parquet(path) as opened:
        return list(opened.schema_arrow.names)
