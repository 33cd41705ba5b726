"""How a table in Postgres is found, made and read: which column is what."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from sfumato.errors import ParameterError
from sfumato.stores.base import StoreError
from sfumato.stores.rows import Metric, checked_metric

_ID_TYPES = ("text", "character varying", "integer", "bigint", "smallint", "uuid")
_VECTOR = re.compile(r"(vector|halfvec)\(([0-9]+)\)")
_CONNECT_SECONDS = 15


@dataclass(slots=True)
class Columns:
    """Which column of a table is what."""

    id: str = "id"
    vector: str = "embedding"
    metadata: str | None = "metadata"
    """The jsonb column of metadata; None where the other columns are the fields."""
    others: list[str] = field(default_factory=list)
    id_type: str = "text"
    dim: int = 0
    metric: Metric | None = None


def connect(dsn: str, label: str) -> Any:
    """Open a connection; what libpq says is not passed on, because it may quote the address."""
    import psycopg

    failure = ""
    try:
        timeout = {} if "connect_timeout" in dsn else {"connect_timeout": _CONNECT_SECONDS}
        return psycopg.connect(dsn, autocommit=True, **timeout)
    except psycopg.Error as error:
        failure = type(error).__name__ + (f" {error.sqlstate}" if error.sqlstate else "")
    raise StoreError(
        f"{label} cannot be reached ({failure}). Check that the server runs, the address, user and password."
    )


def inspect(connection: Any, table: Any, wanted: Columns, label: str) -> Columns | None:
    """What a table that is there holds, or None."""
    name = table.as_string(connection)
    number = connection.execute("SELECT to_regclass(%s)::oid", (name,)).fetchone()[0]
    if number is None:
        return None
    types = dict(
        connection.execute(
            "SELECT attname, format_type(atttypid, atttypmod) FROM pg_attribute "
            "WHERE attrelid = %s AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            (number,),
        ).fetchall()
    )
    for role, column in (("id", wanted.id), ("vector", wanted.vector)):
        if column not in types:
            raise ParameterError(
                f"{label} has no column {column!r}. Name the column of the {role} in the address: "
                f"?{role}=NAME."
            )
    id_type = types[wanted.id].partition("(")[0]
    if id_type not in _ID_TYPES:
        raise ParameterError(
            f"{label} must have ids of a type among {', '.join(_ID_TYPES)}. Found {id_type}."
        )
    size = _VECTOR.fullmatch(types[wanted.vector])
    if size is None:
        raise ParameterError(
            f"The column {wanted.vector!r} of {label} must be vector(n) or halfvec(n). "
            f"Found {types[wanted.vector]}."
        )
    _register(connection)
    metadata = wanted.metadata if types.get(wanted.metadata or "") == "jsonb" else None
    others = [column for column in types if column not in (wanted.id, wanted.vector)]
    comment = connection.execute("SELECT obj_description(%s, 'pg_class')", (number,)).fetchone()[0]
    return Columns(
        wanted.id,
        wanted.vector,
        metadata,
        [] if metadata else others,
        id_type,
        int(size[2]),
        _metric(comment),
    )


def make_table(connection: Any, table: Any, wanted: Columns, dim: int, metric: Metric) -> Columns:
    """Make a table of ids, vectors and metadata, which says in its comment how it measures."""
    from psycopg import sql

    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except Exception:  # the server may not have it, or this user may not install it
        raise StoreError(
            "The database has no pgvector, or this user may not switch it on. "
            "Run there: CREATE EXTENSION vector"
        ) from None
    _register(connection)
    metadata = wanted.metadata or "metadata"
    parts = {
        "table": table,
        "id": sql.Identifier(wanted.id),
        "vector": sql.Identifier(wanted.vector),
        "metadata": sql.Identifier(metadata),
        "dim": sql.Literal(dim),
        "comment": sql.Literal(json.dumps({"sfumato": {"metric": metric}})),
    }
    with connection.transaction():
        connection.execute(
            sql.SQL(
                "CREATE TABLE {table} ({id} text PRIMARY KEY, {vector} vector({dim}) NOT NULL, "
                "{metadata} jsonb NOT NULL)"
            ).format(**parts)
        )
        connection.execute(sql.SQL("COMMENT ON TABLE {table} IS {comment}").format(**parts))
    return Columns(wanted.id, wanted.vector, metadata, [], "text", dim, metric)


def has_graph(connection: Any, table: Any, vector: str) -> bool:
    """Whether an HNSW index stands on the column."""
    found = connection.execute(
        "SELECT count(*) FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
        "JOIN pg_am ON pg_am.oid = relam "
        "JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0] "
        "WHERE indrelid = %s::regclass AND amname = 'hnsw' AND attname = %s",
        (table.as_string(connection), vector),
    ).fetchone()
    return bool(found[0])


def plain(value: Any) -> Any:
    """A column's value as metadata: numbers, booleans and text as they are, anything else as text."""
    return value if isinstance(value, str | int | float | bool) else str(value)


def _register(connection: Any) -> None:
    from pgvector.psycopg import register_vector

    register_vector(connection)


def _metric(comment: str | None) -> Metric | None:
    try:
        return checked_metric(json.loads(comment or "")["sfumato"]["metric"])
    except (ValueError, KeyError, TypeError):
        return None
