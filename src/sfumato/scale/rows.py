"""One batch of rows through a protector: which vectors, whose noise, and what is written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sfumato.errors import InputError
from sfumato.inputs import Batch
from sfumato.inputs.columns import as_batch
from sfumato.protector import Protector

_READ = ("text", "spans", "embedding")


def release(
    batch: Batch, protector: Protector, identities: Sequence[str] | None
) -> tuple[NDArray[np.float32], int | None]:
    """Protect the rows of a batch; return vectors, and how many texts held a concept where there are texts.

    Texts that the protector embeds are their own accounts. Vectors that come from elsewhere are charged to
    `identities`, or else to their texts, or else to themselves.
    """
    if batch.texts is not None and protector.embedder is not None:
        ready = protector.prepare(batch.texts, spans=batch.spans)
        return protector.release(ready), int(ready.matched.sum())
    if batch.vectors is None:
        raise InputError("The protector has no embedder and the input has no vectors. Give one or the other.")
    return protector.protect(batch.vectors, texts=batch.texts, units=identities), None


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
) -> tuple[Any, int | None]:
    """Protect an Arrow batch or table into a table of `keep_columns` and `embedding`.

    Args:
        part: Rows with a `text` or an `embedding` column.
        protector: What protects them.
        file: Where the rows come from, their accounts if they have no ids; None where nobody knows.
        first_row: Where in the file they start.
        id_column: A column whose values are the ledger's accounts, for rows that come as vectors.
        keep_columns: The columns to carry over.
    """
    found = part.schema.names
    missing = [name for name in (*keep_columns, *filter(None, [id_column])) if name not in found]
    if missing:
        raise InputError(f"The input has no column {missing[0]!r}. It has: {', '.join(sorted(found))}.")
    if isinstance(part, pa.Table):
        part = part.combine_chunks()
        part = part.to_batches()[0] if len(part) else pa.RecordBatch.from_pylist([], part.schema)
    batch = as_batch(file or "the batch", part.select([name for name in _READ if name in found]), first_row)
    identities = None
    if id_column is not None:
        identities = _ids(part.column(id_column), id_column)
    elif file is not None and batch.texts is None:
        identities = places(file, first_row, len(part))
    released, matched = release(batch, protector, identities)
    kept = {name: part.column(name) for name in keep_columns}
    return as_table(released, kept), matched


def _ids(column: Any, name: str) -> list[str]:
    if column.null_count:
        raise InputError(
            f"The column {name!r} must have a value in every row. Found {column.null_count} nulls."
        )
    return [f"id {value}" for value in column.to_pylist()]


def as_table(vectors: NDArray[np.float32], columns: dict[str, Any]) -> Any:
    """Return `columns` and a fixed-size-list `embedding` column, none of whose numbers may be missing."""
    values = pa.array(np.ascontiguousarray(vectors).reshape(-1), type=pa.float32())
    # Columns without nulls are written and read a third faster.
    kind = pa.list_(pa.field("element", pa.float32(), nullable=False), vectors.shape[1])
    embedding = pa.FixedSizeListArray.from_arrays(values, type=kind)
    fields = [pa.field(name, column.type) for name, column in columns.items()]
    schema = pa.schema([*fields, pa.field("embedding", kind, nullable=False)])
    return pa.Table.from_arrays([*columns.values(), embedding], schema=schema)
