"""LanceDB: a table in a folder, every search exact; the table's other columns are the metadata."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import numpy as np

from sfumato.errors import ArtifactError, ParameterError
from sfumato.files import PathLike
from sfumato.stores.base import Store, in_order
from sfumato.stores.names import NameRule
from sfumato.stores.rows import Hit, Metadata, Metric, Rows, Scalar, checked_metric
from sfumato.types import Vectors

_METRIC = b"sfumato.metric"
_ENCODERS = b"embedding_functions"
_AT_ONCE = 500
_NAMES = NameRule(
    "A LanceDB table",
    r"(?!\.\.?$)[A-Za-z0-9._-]{1,249}",
    "up to 249 letters, digits, ., _ and -, not by . or ..",
)


class LanceDB(Store):
    """A table in LanceDB."""

    name = "lancedb"
    residue = (
        "LanceDB keeps replaced vectors in older versions of a table; those were removed, copies are not"
    )

    def __init__(
        self,
        path: PathLike,
        table: str = "sfumato",
        *,
        metric: Metric | None = None,
        id: str = "id",
        vector: str = "vector",
        create: bool = True,
        label: str = "",
    ) -> None:
        super().__init__(label or f"lancedb:{path}#{table}", metric)
        self._id, self._vector, self._name = id, vector, _NAMES.check(table)
        self._table: Any = None
        with self._speaking():
            # Every read looks for what other processes wrote; the default is never to look.
            self._database: Any = importlib.import_module("lancedb").connect(
                os.fspath(path), read_consistency_interval=timedelta(0)
            )
            self._look()
        if self._table is None and not create:
            raise self._absent()

    def _look(self) -> None:
        if self._table is None and self._is_there():
            self._table = self._database.open_table(self._name)
            self._take_over(self._asked)

    def _is_there(self) -> bool:
        following = None
        while True:
            page = self._database.list_tables(page_token=following)
            if self._name in page.tables:
                return True
            following = page.page_token
            if not following:
                return False

    @property
    def _arrow(self) -> Any:
        return importlib.import_module("pyarrow")

    def _take_over(self, metric: Metric | None) -> None:
        schema, types = self._table.schema, self._arrow.types
        if _ENCODERS in (schema.metadata or {}):
            raise ArtifactError(
                f"{self.label} is refused: it names an encoder, which LanceDB would load, with its code, and "
                "hand texts. Copy it without: create_table(NEW, old.to_arrow().replace_schema_metadata())."
            )
        for role, column in (("id", self._id), ("vector", self._vector)):
            if column not in schema.names:
                raise ParameterError(
                    f"{self.label} has no column {column!r}. Name the column of the {role} in the address: "
                    f"?{role}=NAME."
                )
        kind = schema.field(self._vector).type
        if not types.is_fixed_size_list(kind):
            raise ParameterError(
                f"The column {self._vector!r} of {self.label} must hold vectors. Found {kind}."
            )
        said = (schema.metadata or {}).get(_METRIC)
        own = None if said is None else checked_metric(said.decode())
        self._agree(own or metric or "cosine", kind.list_size, own and metric)

    def _others(self) -> list[str]:
        return [name for name in self._table.schema.names if name not in (self._id, self._vector)]

    def _made(self, dim: int) -> Any:
        if self._table is None:
            pa = self._arrow
            fields = [(self._id, pa.string()), (self._vector, pa.list_(pa.float32(), dim))]
            schema = pa.schema(fields, metadata={_METRIC: self.metric.encode()})
            self._table = self._database.create_table(self._name, schema=schema)
            self.dim = dim
        return self._table

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        table = self._made(vectors.shape[1])
        self._widen(metadata)
        rows = self._as_rows(ids, vectors, {name: [m.get(name) for m in metadata] for name in self._others()})
        table.merge_insert(self._id).when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def _widen(self, metadata: list[Metadata]) -> None:
        """Add a column for each field that has none yet."""
        pa, known = self._arrow, set(self._table.schema.names)
        kinds = {bool: pa.bool_(), int: pa.int64(), float: pa.float64(), str: pa.string()}
        fresh: dict[str, Any] = {}
        for fields in metadata:
            for name, value in fields.items():
                if name in (self._id, self._vector):
                    raise ParameterError(
                        f"A metadata field cannot be called {name!r} in {self.label}. Rename it."
                    )
                if name not in known and (name not in fresh or type(value) is float):
                    fresh[name] = kinds[type(value)]
        if fresh:
            self._table.add_columns([pa.field(name, kind) for name, kind in fresh.items()])

    def _as_rows(self, ids: list[str], vectors: Vectors, columns: dict[str, list[Any]]) -> Any:
        """The rows as the table has its columns."""
        pa, schema = self._arrow, self._table.schema
        values = pa.array(vectors.reshape(-1))
        made = {
            self._id: [self._key(name) for name in ids],
            self._vector: pa.FixedSizeListArray.from_arrays(values, vectors.shape[1]),
            **columns,
        }
        misfit = ""
        try:
            arrays = [
                column.cast(schema.field(name).type)
                if name == self._vector
                else pa.array(column, schema.field(name).type)
                for name, column in made.items()
            ]
            return pa.table(arrays, schema=pa.schema([schema.field(name) for name in made]))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, ValueError):
            misfit = "A field has to keep the type it had first"
        raise ParameterError(
            f"The rows do not fit the columns of {self.label}. {misfit}; convert the values."
        )

    def _key(self, name: str) -> Any:
        return int(name) if self._arrow.types.is_integer(self._table.schema.field(self._id).type) else name

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        self._widen([fields])
        kept = self._get(ids)
        place = {name: row for row, name in enumerate(ids)}
        part = vectors[[place[name] for name in kept.ids]]
        columns = {name: [value] * len(kept) for name, value in fields.items()}
        rows = self._as_rows(kept.ids, part, columns)
        self._table.merge_insert(self._id).when_matched_update_all().execute(rows)

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        condition = self._where(allowed)
        found: list[list[Hit]] = []
        others = self._others()
        for each in vectors:
            query = self._table.search(each, vector_column_name=self._vector)
            query = query.distance_type("dot" if self.metric == "ip" else self.metric)
            query = query.bypass_vector_index().select([self._id, "_distance", *others]).limit(k)
            if condition:
                query = query.where(condition, prefilter=True)
            rows = query.to_arrow().to_pylist()
            found.append(
                [
                    Hit(str(row[self._id]), self._distance(row["_distance"]), _fields(row, others))
                    for row in rows
                ]
            )
        return found

    def _distance(self, given: float) -> float:
        if self.metric == "l2":
            return float(np.sqrt(max(given, 0.0)))
        return given - 1.0 if self.metric == "ip" else given

    def _where(self, allowed: dict[str, list[Scalar]]) -> str:
        missing = sorted(set(allowed) - set(self._others()))
        if missing:
            # No row has the field, so none passes.
            return "false"
        return " AND ".join(
            f"`{name}` IN ({', '.join(_literal(value) for value in values)})"
            for name, values in allowed.items()
        )

    def _get(self, ids: list[str]) -> Rows:
        found: dict[str, tuple[str, Any, Metadata]] = {}
        for start in range(0, len(ids), _AT_ONCE):
            query = self._table.search().where(self._among(ids[start : start + _AT_ONCE]))
            found |= {row[0]: row for row in self._triples(query.to_arrow())}
        return self._rows(in_order(found, ids))

    def _among(self, ids: list[str]) -> str:
        return f"`{self._id}` IN ({', '.join(_literal(self._key(name)) for name in ids)})"

    def _triples(self, part: Any) -> list[tuple[str, Any, Metadata]]:
        vectors = part.column(self._vector).to_pylist()
        rows = part.drop_columns([self._vector]).to_pylist()
        others = self._others()
        return [
            (str(row[self._id]), vector, _fields(row, others))
            for row, vector in zip(rows, vectors, strict=True)
        ]

    def _delete(self, ids: list[str]) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            self._table.delete(self._among(ids[start : start + _AT_ONCE]))

    def _batches(self, size: int) -> Iterator[Rows]:
        for part in self._table.search().to_batches(size):
            if len(part):
                yield self._rows(self._triples(self._arrow.Table.from_batches([part])))

    def _count(self) -> int:
        return int(self._table.count_rows())

    def forget(self) -> None:
        """Write the table anew and remove its older versions, which hold what was replaced."""
        if self._table is not None:
            with self._speaking(), warnings.catch_warnings():
                warnings.filterwarnings("ignore", "optimize", UserWarning)
                self._table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)


def _fields(row: dict[str, Any], names: list[str]) -> Metadata:
    return {name: row[name] for name in names if row[name] is not None}


def _literal(value: Scalar) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).lower() if isinstance(value, bool) else repr(value)
