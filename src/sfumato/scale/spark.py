"""Spark: a function for `DataFrame.mapInArrow`, and the schema of what it gives.

    kept = ["id"]
    protect = in_arrow(protector, secret="/etc/sfumato.key", id_column="id", keep_columns=kept)
    frame.mapInArrow(protect, output_schema(dict(frame.dtypes), kept))

Spark runs a task again when a machine is lost, and may run it twice at once. With a secret both give the same
vectors; without one the second draws anew, so set spark.speculation to false and write with a committer that
keeps one attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

from sfumato.errors import InputError
from sfumato.protector import Protector
from sfumato.scale.portable import PortableProtector
from sfumato.scale.rows import release_arrow

Batches = Iterator[Any]


def in_arrow(
    protector: Protector,
    *,
    secret: str | None = None,
    id_column: str | None = None,
    keep_columns: Sequence[str] = (),
) -> Callable[[Batches], Batches]:
    """Return a function from Arrow record batches to protected ones, for `mapInArrow`.

    Args:
        protector: What protects, without its secret.
        secret: Where each machine finds the secret for sticky noise: a file, or `env:NAME`.
        id_column: A column whose values are the ledger's accounts, for rows that come as vectors.
        keep_columns: Columns to carry over.
    """
    portable = PortableProtector.of(protector, secret=secret)
    kept = tuple(keep_columns)

    def protect(batches: Batches) -> Batches:
        made = _opened(portable)
        for batch in batches:
            if len(batch):
                table, _ = release_arrow(batch, made, id_column=id_column, keep_columns=kept)
                yield from table.to_batches()

    return protect


@lru_cache(maxsize=4)
def _opened(portable: PortableProtector) -> Protector:
    """One protector a Python process, however many tasks it runs."""
    return portable.open()


def output_schema(columns: dict[str, str], keep_columns: Sequence[str] = ()) -> str:
    """Write the schema that `mapInArrow` asks for, from the columns (name to type) of the input."""
    missing = [name for name in keep_columns if name not in columns]
    if missing:
        raise InputError(f"The input has no column {missing[0]!r}. It has: {', '.join(sorted(columns))}.")
    return ", ".join([*(f"`{name}` {columns[name]}" for name in keep_columns), "embedding array<float>"])
