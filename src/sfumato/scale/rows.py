"""One batch of rows through a protector: which vectors, whose noise, and what is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import InputError, VectorError
from sfumato.inputs import RowBatch
from sfumato.inputs.columns import as_batch
from sfumato.inputs.names import USUAL, ColumnNames, columns_found
from sfumato.protector import Protector

ReleasedRows = tuple[Any, int | None]
"""An Arrow table of kept columns and `embedding`, and how many texts held a concept, if there are any."""

EMBEDDING = "embedding"
"""What the released vectors are called, whatever the input calls its own."""


class SavedRows(Protocol):
    """Where rows that take long to embed are saved on the way."""

    def released(
        self, batch: RowBatch, release: Callable[[RowBatch], tuple[NDArray[np.float32], int]]
    ) -> tuple[NDArray[np.float32], int]:
        """Release a batch of texts, some rows at a time; those that were saved before are not drawn again."""


def release(
    batch: RowBatch, protector: Protector, identities: Sequence[str] | None, saved: SavedRows | None = None
) -> tuple[NDArray[np.float32], int | None]:
    """Protect the rows of a batch; return vectors, and how many texts held a concept where there are texts.

    Texts that the protector embeds are their own accounts. Vectors that come from elsewhere are charged to
    `identities`, or else to their texts, or else to themselves.
    """

    def embedded(rows: RowBatch) -> tuple[NDArray[np.float32], int]:
        ready = protector.prepare(rows.texts or [], spans=rows.spans)
        return protector.release(ready), int(ready.matched.sum())

    try:
        if batch.texts is not None and protector.embedder is not None:
            return embedded(batch) if saved is None else saved.released(batch, embedded)
        if batch.vectors is None:
            raise InputError("The protector has no embedder and the input no vectors. Give one or the other.")
        return protector.protect(batch.vectors, texts=batch.texts, units=identities), None
    except VectorError as error:
        raise _placed(error, batch.first_row) from None


def _placed(error: VectorError, first_row: int) -> VectorError:
    """The same error with the row counted from the beginning of the file."""
    if error.row is None:
        return error
    row = first_row + error.row
    return VectorError(str(error).replace(f"Row {error.row} ", f"Row {row} ", 1), row)


def places(file: str, first_row: int, rows: int) -> list[str]:
    """Tell the rows of a file apart by where they stand."""
    return [f"row {row} of {file}" for row in range(first_row, first_row + rows)]


def release_arrow(
    part: Any,
    protector: Protector,
    *,
    file: str | None = None,
    first_row: int = 0,
    id_column: str | None = None,
    keep_columns: Sequence[str] = (),
    names: ColumnNames = USUAL,
    saved: SavedRows | None = None,
) -> ReleasedRows:
    """Protect an Arrow batch or table into a table of `keep_columns` and `embedding`.

    Args:
        part: Rows with a column of texts or of vectors.
        protector: What protects them.
        file: Where the rows come from, their accounts if they have no ids; None where nobody knows.
        first_row: Where in the file they start.
        id_column: A column whose values are the ledger's accounts, for rows that come as vectors.
        keep_columns: The columns to carry over.
        names: What the columns of texts and of vectors are called.
        saved: Where texts are saved while the others are embedded.
    """
    found = part.schema.names
    missing = [name for name in (*keep_columns, *filter(None, [id_column])) if name not in found]
    if missing:
        raise InputError(f"The input has no column {missing[0]!r}. {columns_found(found)}.")
    if isinstance(part, pa.Table):
        part = part.combine_chunks()
        part = part.to_batches()[0] if len(part) else pa.RecordBatch.from_pylist([], part.schema)
    own = part.select([name for name in names.own if name in found])
    batch = as_batch(file or "the batch", own, first_row, names=names)
    identities = None
    if id_column is not None:
        identities = _ids(part.column(id_column), id_column)
    elif file is not None and batch.texts is None:
        identities = places(file, first_row, len(part))
    released, matched = release(batch, protector, identities, saved)
    kept = {name: part.column(name) for name in keep_columns}
    return as_table(released, kept), matched


def release_batch(
    batch: RowBatch,
    protector: Protector,
    *,
    file: str,
    keep_columns: Sequence[str] = (),
    id_column: str | None = None,
    names: ColumnNames = USUAL,
    saved: SavedRows | None = None,
) -> ReleasedRows:
    """Protect a batch of any input file into a table of `keep_columns` and `embedding`; see above."""
    kept = _kept(batch, keep_columns, names.text)
    identities = None
    if id_column is not None:
        identities = _ids(_kept(batch, [id_column], names.text)[id_column], id_column)
    elif batch.texts is None:
        identities = places(file, batch.first_row, len(batch))
    released, matched = release(batch, protector, identities, saved)
    return as_table(released, kept), matched


def _kept(batch: RowBatch, wanted: Sequence[str], text: str) -> dict[str, Any]:
    """The columns to keep: the first rows must have them, later ones may lack what only some objects have."""
    known = dict(batch.columns)
    if batch.texts is not None:
        known[text] = batch.texts
    missing = [name for name in wanted if name not in known]
    if missing and batch.first_row == 0:
        raise InputError(f"The input has no column {missing[0]!r}. {columns_found(known)}.")
    return {name: _array(name, known.get(name, [None] * len(batch))) for name in wanted}


def _array(name: str, values: Sequence[Any]) -> Any:
    """A column of one type, or a refusal; what it holds is never shown."""
    try:
        return pa.array(list(values))
    except (pa.ArrowException, OverflowError):
        raise InputError(_mixed(f"The column {name!r}")) from None


def common_schema(schemas: Iterable[Any]) -> Any:
    """The schema that holds the columns of every table: rows of some may lack a value in all of a column."""
    try:
        plain = [schema.remove_metadata() for schema in schemas]
        return pa.unify_schemas(plain, promote_options="permissive")
    except pa.ArrowException:
        raise InputError(_mixed("A column")) from None


def _mixed(column: str) -> str:
    return f"{column} to keep holds values that do not go together. Give it one type, or leave it out."


def _ids(column: Any, name: str) -> list[str]:
    if column.null_count:
        raise InputError(
            f"The column {name!r} must have a value in every row. Found {column.null_count} nulls."
        )
    return [f"id {value}" for value in column.to_pylist()]


def as_table(vectors: NDArray[np.float32], columns: dict[str, Any]) -> Any:
    """Return `columns` and a fixed-size-list `embedding` column, none of whose numbers may be missing."""
    if EMBEDDING in columns:
        raise InputError(f"`{EMBEDDING}` is what the released vectors are called. Keep other columns.")
    values = pa.array(np.ascontiguousarray(vectors).reshape(-1), type=pa.float32())
    # Columns without nulls are written and read a third faster.
    kind = pa.list_(pa.field("element", pa.float32(), nullable=False), vectors.shape[1])
    embedding = pa.FixedSizeListArray.from_arrays(values, type=kind)
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    schema = pa.schema([*fields, pa.field(EMBEDDING, kind, nullable=False)])
    return pa.Table.from_arrays([*columns.values(), embedding], schema=schema)
