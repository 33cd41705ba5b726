"""Postgres with pgvector: a table of yours, or one made here. Exact, or by an HNSW index.

A table made here has `id text primary key`, `embedding vector(d)` and `metadata jsonb`. In a table that was
there before, the columns are named in the address; without a jsonb column of metadata its other columns are
the fields.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from typing import Any

from sfumato.errors import ParameterError
from sfumato.stores.base import Store, StoreError, in_order
from sfumato.stores.kinds.postgres import Columns, connect, has_graph, inspect, make_table, plain
from sfumato.stores.rows import Hit, Metadata, Metric, Rows, Scalar
from sfumato.types import Vectors

_OPERATORS = {"cosine": "<=>", "l2": "<->", "ip": "<#>"}
_CLASSES = {"cosine": "vector_cosine_ops", "l2": "vector_l2_ops", "ip": "vector_ip_ops"}
_SEARCH_WIDTH = 200


class PgVector(Store):
    """A table in Postgres."""

    name = "pgvector"
    residue = (
        "Postgres keeps replaced vectors in its write-ahead log, backups and replicas until those expire"
    )

    def __init__(
        self,
        dsn: str,
        table: str = "sfumato",
        *,
        metric: Metric | None = None,
        index: str | None = None,
        columns: Columns | None = None,
        create: bool = True,
        label: str = "",
    ) -> None:
        super().__init__(label or f"postgresql:#{table}", metric)
        if index not in (None, "exact", "hnsw"):
            raise ParameterError(f"`index` of a Postgres store must be exact or hnsw. Found {index!r:.40}.")
        self.exact = index != "hnsw"
        self._wanted, self._indexed = columns or Columns(), False
        parts = table.split(".")
        if not 1 <= len(parts) <= 2 or not all(
            0 < len(part.encode()) <= 63 and "\0" not in part for part in parts
        ):
            raise ParameterError("The table must be named TABLE or SCHEMA.TABLE, up to 63 bytes each.")
        self._sql: Any = importlib.import_module("psycopg.sql")
        self._table = self._sql.Identifier(*parts)
        self._connection: Any = connect(dsn, self.label)
        with self._opening():
            self._take_over(metric, create)

    def _take_over(self, metric: Metric | None, create: bool) -> None:
        found = inspect(self._connection, self._table, self._wanted, self.label)
        if found is not None:
            self._columns = found
            self._agree(found.metric or metric or "cosine", found.dim, metric if found.metric else None)
        elif not create:
            raise self._absent()

    def _look(self) -> None:
        self._take_over(self._asked, create=True)

    def _run(self, text: str, values: Any = (), **names: Any) -> Any:
        return self._connection.execute(self._compose(text, **names), values)

    def _compose(self, text: str, **names: Any) -> Any:
        """The statement, with every identifier quoted by psycopg."""
        columns = self._columns
        return self._sql.SQL(text).format(
            table=self._table,
            id=self._sql.Identifier(columns.id),
            vector=self._sql.Identifier(columns.vector),
            metadata=self._sql.Identifier(columns.metadata or "metadata"),
            type=self._sql.SQL(columns.id_type),
            fields=self._fields(),
            operator=self._sql.SQL(_OPERATORS[self.metric]),
            **names,
        )

    def _fields(self) -> Any:
        """The columns of metadata, as a list to select."""
        columns = self._columns
        names = [columns.metadata] if columns.metadata else columns.others
        return self._sql.SQL("").join(self._sql.SQL(", ") + self._sql.Identifier(name) for name in names)

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        if self.dim is None:
            self._columns = make_table(
                self._connection, self._table, self._wanted, vectors.shape[1], self.metric
            )
            self.dim = vectors.shape[1]
        names = [self._columns.metadata] if self._columns.metadata else self._columns.others
        unknown = sorted({name for fields in metadata for name in fields} - set(self._columns.others))
        if not self._columns.metadata and unknown:
            raise ParameterError(
                f"{self.label} has no column {unknown[0]!r}. Add one, or leave the field out."
            )
        sql = self._sql
        targets = [self._columns.id, self._columns.vector, *names]
        statement = self._compose(
            "INSERT INTO {table} ({targets}) VALUES ({marks}) ON CONFLICT ({id}) DO UPDATE SET {sets}",
            targets=sql.SQL(", ").join(map(sql.Identifier, targets)),
            marks=sql.SQL(", ").join(
                [sql.SQL("%s::") + sql.SQL(self._columns.id_type), *[sql.SQL("%s")] * (len(targets) - 1)]
            ),
            sets=sql.SQL(", ").join(
                sql.SQL("{0} = excluded.{0}").format(sql.Identifier(name)) for name in targets[1:]
            ),
        )
        rows = [
            (
                name,
                vector,
                *([json.dumps(fields)] if self._columns.metadata else [fields.get(n) for n in names]),
            )
            for name, vector, fields in zip(ids, vectors, metadata, strict=True)
        ]
        with self._connection.transaction(), self._connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def _build_index(self) -> None:
        """Build the graph once there is something to search: row by row it takes many times as long."""
        if self.exact or self._indexed:
            return
        if not has_graph(self._connection, self._table, self._columns.vector):
            operators = self._sql.SQL(_CLASSES[self.metric])
            self._run("CREATE INDEX ON {table} USING hnsw ({vector} {operators})", operators=operators)
        self._indexed = True

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        if self._columns.metadata:
            text = "UPDATE {table} SET {vector} = %s, {metadata} = coalesce({metadata}, '{{}}') || %s::jsonb"
            values: list[Any] = [json.dumps(fields)]
            sets = self._sql.SQL("")
        else:
            for name in sorted(set(fields) - set(self._columns.others)):
                # A mark needs a place: a nullable column costs nothing until it is filled.
                self._run("ALTER TABLE {table} ADD COLUMN {name} text", name=self._sql.Identifier(name))
                self._columns.others.append(name)
            text = "UPDATE {table} SET {vector} = %s{sets}"
            values = list(fields.values())
            sets = self._sql.SQL("").join(
                self._sql.SQL(", {} = %s").format(self._sql.Identifier(name)) for name in fields
            )
        statement = self._compose(text + " WHERE {id} = %s::{type}", sets=sets)
        with self._connection.transaction(), self._connection.cursor() as cursor:
            rows = [(vector, *values, name) for name, vector in zip(ids, vectors, strict=True)]
            cursor.executemany(statement, rows)

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        self._build_index()
        return self._ranked(vectors, k, allowed, self.exact)

    def _search_every(self, vectors: Vectors, k: int) -> list[list[Hit]]:
        return self._ranked(vectors, k, {}, exact=True)

    def _ranked(
        self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]], exact: bool
    ) -> list[list[Hit]]:
        conditions, values = self._where(allowed)
        text = (
            "SELECT {id}::text, {vector} {operator} %s AS nearness{fields} FROM {table}{where} "
            "ORDER BY nearness LIMIT %s"
        )
        statement = self._compose(text, where=conditions)
        with self._connection.transaction():
            if exact:
                self._connection.execute("SET LOCAL enable_indexscan = off")
            else:
                self._connection.execute(f"SET LOCAL hnsw.ef_search = {min(1000, max(_SEARCH_WIDTH, 2 * k))}")
                # Without it a filter is applied to what the graph found, and may leave nothing.
                self._connection.execute("SET LOCAL hnsw.iterative_scan = strict_order")
            found = [self._connection.execute(statement, (each, *values, k)).fetchall() for each in vectors]
        return [[Hit(row[0], float(row[1]), self._read(row[2:])) for row in rows] for rows in found]

    def _where(self, allowed: dict[str, list[Scalar]]) -> tuple[Any, list[Any]]:
        sql = self._sql
        values: list[Any] = []
        parts = []
        for name, accepted in allowed.items():
            if self._columns.metadata:
                parts.append(
                    sql.SQL("{} -> %s = ANY(%s::jsonb[])").format(sql.Identifier(self._columns.metadata))
                )
                values.append(name)
            elif name in self._columns.others:
                parts.append(sql.SQL("to_jsonb({}) = ANY(%s::jsonb[])").format(sql.Identifier(name)))
            else:
                raise ParameterError(f"{self.label} has no column {name!r}. Leave it out of the filter.")
            values.append([json.dumps(each) for each in accepted])
        return (sql.SQL(" WHERE ") if parts else sql.SQL("")) + sql.SQL(" AND ").join(parts), values

    def _read(self, found: Any) -> Metadata:
        if self._columns.metadata:
            return dict(found[0] or {})
        pairs = zip(self._columns.others, found, strict=True)
        return {name: plain(value) for name, value in pairs if value is not None}

    def _get(self, ids: list[str]) -> Rows:
        text = "SELECT {id}::text, {vector}::vector{fields} FROM {table} WHERE {id} = ANY(%s::{type}[])"
        found = self._run(text, (ids,)).fetchall()
        return self._rows(in_order({row[0]: self._row(row) for row in found}, ids))

    def _row(self, row: Any) -> tuple[str, Any, Metadata]:
        if row[1] is None:
            raise StoreError(f"{self.label} has a row without a vector. Fill it or delete it first.")
        return row[0], row[1].to_numpy(), self._read(row[2:])

    def _delete(self, ids: list[str]) -> None:
        self._run("DELETE FROM {table} WHERE {id} = ANY(%s::{type}[])", (ids,))

    def _batches(self, size: int) -> Iterator[Rows]:
        # The alias tells the column from the text that is selected under the same name.
        text = (
            "SELECT {id}::text, {vector}::vector{fields} FROM {table} AS listed{after} "
            "ORDER BY listed.{id} LIMIT %s"
        )
        last: list[str] = []
        while True:
            after = self._compose(" WHERE {id} > %s::{type}") if last else self._sql.SQL("")
            found = self._run(text, (*last, size), after=after).fetchall()
            if not found:
                return
            yield self._rows([self._row(row) for row in found])
            last = [found[-1][0]]

    def _count(self) -> int:
        return int(self._run("SELECT count(*) FROM {table}").fetchone()[0])

    def forget(self) -> None:
        """Write the table anew, so that no page keeps a replaced row."""
        if self.dim is not None:
            with self._speaking():
                self._run("VACUUM (FULL) {table}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
