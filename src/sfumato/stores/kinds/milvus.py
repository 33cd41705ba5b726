"""Milvus: a folder on this machine (Milvus Lite), or a server by its address.

A collection made here has `id` (text), `vector` and dynamic fields, which are the metadata. One that was
there before is used by naming its fields in the address; a function of a collection, which would hand texts
to a server that it names, is a reason to refuse it. The client's own lists of ids are not used: it writes
them into an expression without quoting them.
"""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from sfumato.errors import ParameterError
from sfumato.files import PathLike
from sfumato.stores.base import Store, in_order
from sfumato.stores.kinds.milvus_client import NAMES, among, client_class, literal
from sfumato.stores.kinds.milvus_folder import leave, serve
from sfumato.stores.narrowing import narrowed
from sfumato.stores.rows import Hit, Metadata, Metric, Rows, Scalar
from sfumato.types import Vectors

TOKEN_VARIABLE = "MILVUS_TOKEN"
_SPACES = {"cosine": "COSINE", "l2": "L2", "ip": "IP"}
_AT_ONCE = 500
_MOST = 16_384
_TIMEOUT = 60.0
_SEARCH_WIDTH = 200
_LONGEST_ID = 2048
"""Bytes: our ids have up to 512 characters."""


class Milvus(Store):
    """A collection in Milvus."""

    name = "milvus"
    residue = (
        "Milvus keeps replaced and deleted rows in older segments and in its log until it compacts them; "
        "migrate into a new collection in a new folder and delete the old folder instead"
    )

    def __init__(
        self,
        collection: str,
        *,
        path: PathLike | None = None,
        address: str | None = None,
        metric: Metric | None = None,
        index: str | None = None,
        id: str = "id",
        vector: str = "vector",
        database: str = "",
        create: bool = True,
        label: str = "",
    ) -> None:
        super().__init__(label or f"milvus:{path or 'server'}#{collection}", metric)
        if (path is None) == (address is None):
            raise ParameterError("A Milvus store needs a `path` or an `address`, and not both.")
        if index not in (None, "exact", "hnsw"):
            raise ParameterError(f"`index` of a Milvus store must be exact or hnsw. Found {index!r:.40}.")
        self.collection, self._id, self._vector = (NAMES.check(name) for name in (collection, id, vector))
        self._index, self._fixed = index, set[str]()
        self._number = False
        self.exact = index != "hnsw"
        self._client: Any = None
        self._folder: PathLike | None = None
        with self._opening():
            kind = client_class()
            if path is not None:
                address = serve(path)
                self._folder = path
            token = os.environ.get(TOKEN_VARIABLE, "")
            self._client = kind(
                uri=address,
                token=token if path is None else "",
                db_name=database,
                timeout=_TIMEOUT,
            )
            self._look()
            if self.dim is None and not create:
                raise self._absent()

    def _look(self) -> None:
        if not self._client.has_collection(self.collection, timeout=_TIMEOUT):
            return
        found = self._client.describe_collection(self.collection, timeout=_TIMEOUT)
        kinds = {field["name"]: field for field in found["fields"]}
        self._refuse_misfit(found, kinds)
        indexes = self._client.list_indexes(self.collection, self._vector)
        if not indexes:
            raise ParameterError(f"{self.label} has no index on {self._vector!r}. Make one first.")
        index = self._client.describe_index(self.collection, indexes[0])
        names_of = {space: name for name, space in _SPACES.items()}
        if index["metric_type"] not in names_of:
            raise ParameterError(f"{self.label} measures by {index['metric_type']}, which is not supported.")
        self.exact = (
            index["index_type"] in ("FLAT", "AUTOINDEX") if self._folder else (index["index_type"] == "FLAT")
        )
        self._fixed = set(kinds) - {self._id, self._vector}
        self._number = kinds[self._id]["type"].name == "INT64"
        self._client.load_collection(self.collection, timeout=_TIMEOUT)
        dim = int(kinds[self._vector]["params"]["dim"])
        self._agree(names_of[index["metric_type"]], dim, self._asked)  # type: ignore[arg-type]

    def _refuse_misfit(self, found: dict[str, Any], kinds: dict[str, Any]) -> None:
        if found.get("functions"):
            raise ParameterError(
                f"{self.label} is refused: it has functions, which may hand its texts to a server that they "
                "name. Copy its rows into a collection without."
            )
        wanted = (("id", self._id, ("VARCHAR", "INT64")), ("vector", self._vector, ("FLOAT_VECTOR",)))
        for role, name, types in wanted:
            if name not in kinds or kinds[name]["type"].name not in types:
                raise ParameterError(
                    f"{self.label} has no field {name!r} of type {' or '.join(types)}. Name the field of the "
                    f"{role} in the address: ?{role}=NAME."
                )
        if not kinds[self._id].get("is_primary") or found.get("auto_id"):
            raise ParameterError(f"The field {self._id!r} of {self.label} must be the key, given by you.")

    def _make(self, dim: int) -> None:
        types: Any = importlib.import_module("pymilvus").DataType
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=True)
        schema.add_field(self._id, types.VARCHAR, is_primary=True, max_length=_LONGEST_ID)
        schema.add_field(self._vector, types.FLOAT_VECTOR, dim=dim)
        indexes = self._client.prepare_index_params()
        how: dict[str, Any] = {"index_type": "FLAT"}
        if self._index == "hnsw":
            how = {"index_type": "HNSW", "params": {"M": 32, "efConstruction": 200}}
        indexes.add_index(self._vector, metric_type=_SPACES[self.metric], **how)
        self._client.create_collection(
            self.collection, schema=schema, index_params=indexes, consistency_level="Strong", timeout=_TIMEOUT
        )
        self.dim = dim

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        for name in {name for fields in metadata for name in fields} & {self._id, self._vector}:
            raise ParameterError(f"A metadata field cannot be called {name!r} in {self.label}. Rename it.")
        if self.dim is None:
            self._make(vectors.shape[1])
        before = dict(zip(*self._fields_of(ids), strict=True))
        # Milvus Lite merges dynamic fields; those that the new row lacks are taken off by None.
        whole = [
            {**dict.fromkeys(before.get(name, ())), **fields}
            for name, fields in zip(ids, metadata, strict=True)
        ]
        self._put(ids, vectors, whole)

    def _fields_of(self, ids: list[str]) -> tuple[list[str], list[Metadata]]:
        rows = self._query(ids, vectors=False)
        return [row[0] for row in rows], [row[2] for row in rows]

    def _put(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            rows = [
                {**fields, self._id: self._key(name), self._vector: vector}
                for name, vector, fields in zip(ids[part], vectors[part], metadata[part], strict=True)
            ]
            self._client.upsert(self.collection, rows, timeout=_TIMEOUT)

    def _key(self, name: str) -> Any:
        if not self._number:
            return name
        if not re.fullmatch(r"-?[0-9]{1,18}", name):
            raise ParameterError(f"{self.label} has whole numbers as ids. Found one that is none.")
        return int(name)

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        names, kept = self._fields_of(ids)
        place = {name: row for row, name in enumerate(ids)}
        self._put(names, vectors[[place[name] for name in names]], [each | fields for each in kept])

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        if not allowed:
            return [found for part in _parts(vectors, _AT_ONCE) for found in self._nearest(part, k, "")]
        condition = " and ".join(among(name, values) for name, values in allowed.items())
        return [narrowed(partial(self._filtered, each, condition), k, allowed, _MOST) for each in vectors]

    def _filtered(self, vector: Vectors, condition: str, k: int) -> list[Hit]:
        return self._nearest(vector[None], k, condition)[0]

    def _nearest(self, vectors: Vectors, k: int, condition: str) -> list[list[Hit]]:
        found = self._client.search(
            self.collection,
            data=list(vectors),
            anns_field=self._vector,
            limit=k,
            filter=condition,
            output_fields=self._shown(),
            search_params={} if self.exact else {"params": {"ef": max(_SEARCH_WIDTH, 2 * k)}},
            consistency_level="Strong",
            timeout=_TIMEOUT,
        )
        return [
            [
                Hit(str(hit[self._id]), self._distance(hit["distance"]), self._read(hit["entity"]))
                for hit in hits
            ]
            for hits in found
        ]

    def _shown(self, *more: str) -> list[str]:
        return [*more, "$meta", *sorted(self._fixed)]

    def _distance(self, given: float) -> float:
        if self.metric == "l2":
            return float(np.sqrt(max(given, 0.0)))
        return 1.0 - given if self.metric == "cosine" else -given

    def _read(self, row: Any) -> Metadata:
        return {
            name: value
            for name, value in row.items()
            if name not in (self._id, self._vector, "$meta") and isinstance(value, str | int | float | bool)
        }

    def _query(self, ids: list[str], vectors: bool) -> list[tuple[str, Any, Metadata]]:
        more = [self._id, self._vector] if vectors else [self._id]
        found = []
        for part in _parts(ids, _AT_ONCE):
            keys = ", ".join(literal(self._key(name)) for name in part)
            found += self._read_rows(f"{self._id} in [{keys}]", len(part), *more)
        return found

    def _read_rows(self, condition: str, limit: int, *more: str) -> list[tuple[str, Any, Metadata]]:
        rows = self._client.query(
            self.collection,
            filter=condition,
            output_fields=self._shown(*more),
            limit=limit,
            consistency_level="Strong",
            timeout=_TIMEOUT,
            # In the order of the ids, as the client's own iterator asks for.
            iterator="True",
            reduce_stop_for_best="True",
        )
        return [(str(row[self._id]), row.get(self._vector), self._read(row)) for row in rows]

    def _get(self, ids: list[str]) -> Rows:
        return self._rows(in_order({row[0]: row for row in self._query(ids, vectors=True)}, ids))

    def _delete(self, ids: list[str]) -> None:
        for part in _parts(ids, _AT_ONCE):
            keys = ", ".join(literal(self._key(name)) for name in part)
            self._client.delete(self.collection, filter=f"{self._id} in [{keys}]", timeout=_TIMEOUT)

    def _batches(self, size: int) -> Iterator[Rows]:
        first: Any = -(1 << 63) if self._number else ""
        comparison = ">="
        while True:
            condition = f"{self._id} {comparison} {literal(first)}"
            found = self._read_rows(condition, min(size, _MOST), self._id, self._vector)
            if not found:
                return
            yield self._rows(found)
            first, comparison = self._key(found[-1][0]), ">"

    def _count(self) -> int:
        found = self._client.query(
            self.collection,
            filter="",
            output_fields=["count(*)"],
            consistency_level="Strong",
            timeout=_TIMEOUT,
        )
        return int(found[0]["count(*)"])

    def close(self) -> None:
        """Let go of the folder or the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None
        if self._folder is not None:
            leave(self._folder)
            self._folder = None


def _parts(values: Any, size: int) -> Iterator[Any]:
    for start in range(0, len(values), size):
        yield values[start : start + size]
