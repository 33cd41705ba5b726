"""SQLite with sqlite-vec: a table in one file, every search exact.

The driver is `apsw`, because many builds of Python come with an SQLite that loads no extensions. A table made
here says in a comment of its own definition how it measures; other tables of the file are left alone, and one
that was made otherwise is refused.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.files import PathLike
from sfumato.stores.base import Store, in_order
from sfumato.stores.kinds.databases import refuse_traps_beside
from sfumato.stores.names import NameRule
from sfumato.stores.rows import Hit, Metadata, Metric, Rows, Scalar, checked_metric
from sfumato.types import Vectors

_WAIT_MS = 60_000
_AT_ONCE = 500
_DISTANCES = {"cosine": "vec_distance_cosine", "l2": "vec_distance_L2", "ip": "sfumato_ip"}
_TABLE = (
    'CREATE TABLE "{name}" (/* sfumato {metric} {dim} */ id TEXT PRIMARY KEY NOT NULL, '
    "embedding BLOB NOT NULL CHECK (length(embedding) = {size}), metadata TEXT NOT NULL) STRICT"
)
_SAYS = re.compile(r"/\* sfumato (cosine|l2|ip) ([1-9][0-9]{0,5}) \*/")
_NAMES = NameRule(
    "The table",
    r"(?ai)(?!sqlite_)[a-z_][a-z0-9_-]{0,62}",
    "a letter or _ and up to 62 letters, digits, _ and -, not beginning with sqlite_",
)


class Sqlite(Store):
    """A table in an SQLite file. What is deleted is overwritten with zeros in the file."""

    name = "sqlite"
    residue = (
        "SQLite overwrites replaced vectors in its file, but deletes the journal that held them without "
        "overwriting it: the disk, backups and snapshots of it may keep them"
    )

    def __init__(
        self,
        path: PathLike,
        table: str = "sfumato",
        *,
        metric: Metric | None = None,
        create: bool = True,
        label: str = "",
    ) -> None:
        super().__init__(label or f"sqlite:{path}#{table}", metric)
        self._table = _NAMES.check(table)
        self._connection: Any = None
        with self._opening():
            self._connection = _connect(Path(path), create)
            self._look()
            if self.dim is None and not create:
                raise self._absent()

    def _look(self) -> None:
        found = self._run(
            "SELECT type, name, sql FROM sqlite_schema WHERE tbl_name = ? COLLATE NOCASE "
            "AND name NOT LIKE 'sqlite_autoindex_%'",
            (self._table,),
        ).fetchall()
        if not found:
            return
        said = _SAYS.search(found[0][2] or "")
        if said is None or found != [("table", self._table, self._definition(said[1], int(said[2])))]:
            raise ParameterError(
                f"{self.label} is a table that was not made here, or has triggers or indexes of its own. "
                "Name another one."
            )
        self._agree(checked_metric(said[1]), int(said[2]), self._asked)

    def _definition(self, metric: str, dim: int) -> str:
        return _TABLE.format(name=self._table, metric=metric, dim=dim, size=4 * dim)

    def _run(self, text: str, values: Any = ()) -> Any:
        # A name was checked to need no quoting beyond the quotes.
        return self._connection.execute(text.replace("{table}", f'"{self._table}"'), values)

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        with self._connection:
            if self.dim is None:
                self._run(self._definition(self.metric, vectors.shape[1]))
            self._write(ids, vectors, metadata)
        self.dim = vectors.shape[1]

    def _write(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        rows = [
            (name, vector.astype("<f4").tobytes(), json.dumps(fields))
            for name, vector, fields in zip(ids, vectors, metadata, strict=True)
        ]
        self._connection.executemany(
            f'INSERT INTO "{self._table}" VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE '
            "SET embedding = excluded.embedding, metadata = excluded.metadata",
            rows,
        )

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        place = {name: row for row, name in enumerate(ids)}
        with self._connection:
            kept = self._get(ids)
            merged = [metadata | fields for metadata in kept.metadata]
            self._write(kept.ids, vectors[[place[name] for name in kept.ids]], merged)

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        where, values = _where(allowed)
        text = (
            f"SELECT id, {_DISTANCES[self.metric]}(embedding, ?) AS distance, metadata FROM {{table}}{where} "
            "ORDER BY distance, id LIMIT ?"
        )
        found = []
        for each in vectors:
            rows = self._run(text, (each.astype("<f4").tobytes(), *values, k))
            found.append([Hit(name, float(distance), json.loads(held)) for name, distance, held in rows])
        return found

    def _get(self, ids: list[str]) -> Rows:
        found: dict[str, tuple[str, Any, Metadata]] = {}
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(part))
            rows = self._run(f"SELECT id, embedding, metadata FROM {{table}} WHERE id IN ({marks})", part)
            found |= {row[0]: _row(row) for row in rows}
        return self._rows(in_order(found, ids))

    def _delete(self, ids: list[str]) -> None:
        with self._connection:
            self._connection.executemany(
                f'DELETE FROM "{self._table}" WHERE id = ?', [(name,) for name in ids]
            )

    def _batches(self, size: int) -> Iterator[Rows]:
        text = "SELECT id, embedding, metadata FROM {table} WHERE id > ? ORDER BY id LIMIT ?"
        last = ""
        while found := self._run(text, (last, size)).fetchall():
            yield self._rows([_row(row) for row in found])
            last = found[-1][0]

    def _count(self) -> int:
        return int(self._run("SELECT count(*) FROM {table}").fetchone()[0])

    def forget(self) -> None:
        """Write the whole file anew, and empty its log if it has one."""
        with self._speaking():
            self._run("VACUUM")
            self._run("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _connect(file: Path, create: bool) -> Any:
    """Open a file that may be a stranger's: nothing in its schema runs, and nothing else is opened."""
    apsw: Any = importlib.import_module("apsw")
    refuse_traps_beside(file)
    flags = apsw.SQLITE_OPEN_READWRITE | (apsw.SQLITE_OPEN_CREATE if create else 0)
    connection = apsw.Connection(str(file.absolute()), flags=flags)
    connection.set_busy_timeout(_WAIT_MS)
    for setting, value in (
        (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
        (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
        (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        (apsw.SQLITE_DBCONFIG_DQS_DML, 0),
    ):
        connection.config(setting, value)
    connection.enable_load_extension(True)
    connection.load_extension(importlib.import_module("sqlite_vec").loadable_path())
    connection.enable_load_extension(False)
    connection.create_scalar_function("sfumato_ip", _minus_inner_product, 2, deterministic=True)
    connection.execute("PRAGMA secure_delete = ON").fetchall()
    return connection


def _minus_inner_product(left: bytes, right: bytes) -> float:
    """What sqlite-vec has no function for, in float64."""
    near, far = (np.frombuffer(each, "<f4").astype(np.float64) for each in (left, right))
    return -float(near @ far)


def _where(allowed: dict[str, list[Scalar]]) -> tuple[str, list[Any]]:
    """Conditions on the metadata, with every name and value bound and none in the text."""
    # JSON's own types are compared, too: SQLite takes true for 1.
    one = (
        "EXISTS (SELECT 1 FROM json_each(metadata) AS held, json_each(?) AS wanted WHERE held.key = ? "
        "AND held.value = wanted.value "
        "AND (held.type IN ('true', 'false')) = (wanted.type IN ('true', 'false')))"
    )
    values: list[Any] = []
    for name, accepted in allowed.items():
        values += [json.dumps(accepted), name]
    return (" WHERE " if allowed else "") + " AND ".join([one] * len(allowed)), values


def _row(row: tuple[str, bytes, str]) -> tuple[str, Any, Metadata]:
    return row[0], np.frombuffer(row[1], "<f4"), json.loads(row[2])
