"""Chroma: a folder on this machine, or a server by its address. Searches walk an HNSW graph.

Every row comes with its vector, so Chroma is never given an embedding function and never downloads a model.
Its telemetry is turned off. The text Chroma keeps beside a vector is the metadata field `document` here.
An encoder that a collection names, with its code and its address, is never loaded.
"""

from __future__ import annotations

import importlib
import os
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from sfumato.errors import ParameterError
from sfumato.files import PathLike
from sfumato.stores.base import Store, StoreError, in_order
from sfumato.stores.kinds.chroma_folder import clear_room
from sfumato.stores.kinds.databases import refuse_traps
from sfumato.stores.names import NameRule
from sfumato.stores.rows import TEXT_FIELD, Hit, Metadata, Metric, Rows, Scalar
from sfumato.types import Vectors

KEY_VARIABLE = "CHROMA_API_KEY"
_SEARCH_WIDTH = 200
_NAMES = NameRule(
    "A Chroma collection",
    r"(?!.*\.\.)(?!\d+\.\d+\.\d+\.\d+$)[A-Za-z0-9][A-Za-z0-9._-]{1,510}[A-Za-z0-9]",
    "3 to 512 letters, digits, ., _ and -, a letter or digit first and last, not .. and no address",
)
_PAUSES = (0.05, 0.2, 0.5, 1.0)
"""Seconds before a question that failed inside the server is asked again."""


class Chroma(Store):
    """A collection in Chroma."""

    name = "chroma"
    exact = False
    residue = (
        "Chroma keeps replaced vectors in its log and in free pages of its database until it drops them "
        "itself; migrate into a new collection in a new folder and delete the old folder instead"
    )

    def __init__(
        self,
        collection: str,
        *,
        path: PathLike | None = None,
        address: str | None = None,
        metric: Metric | None = None,
        tenant: str | None = None,
        database: str | None = None,
        create: bool = True,
        label: str = "",
    ) -> None:
        super().__init__(label or f"chroma:{path or address}#{collection}", metric)
        if (path is None) == (address is None):
            raise ParameterError("A Chroma store needs a `path` or an `address`, and not both.")
        self.collection = _NAMES.check(collection)
        self._path = path
        self._client: Any = None
        self._collection: Any = None
        with self._opening():
            self._client = _client(path, address, tenant, database)
            self._look()
            if self._collection is None and not create:
                raise self._absent()

    def _look(self) -> None:
        if self._collection is None:
            self._collection = self._existing()
        if self._collection is not None:
            self._take_over(self._asked)

    def _existing(self) -> Any:
        errors: Any = importlib.import_module("chromadb.errors")
        try:
            found = self._client.get_collection(self.collection, embedding_function=None)
        except errors.NotFoundError:
            return None
        # On each write Chroma would make the encoders that the schema names: any model, with its code.
        found._model.set_serialized_schema({})
        return found

    def _take_over(self, metric: Metric | None) -> None:
        settings = self._collection.configuration_json
        hnsw = settings.get("hnsw") or settings.get("spann") or {}
        first = self._first()
        if len(first):
            self._agree(hnsw.get("space", "l2"), len(first[0]), metric)
        else:
            self.metric = hnsw.get("space", "l2")

    def _first(self) -> Any:
        """The vector of some row, if any; a server that is just writing its first ones is asked again."""
        errors: Any = importlib.import_module("chromadb.errors")
        for pause in _PAUSES:
            try:
                return self._collection.get(limit=1, include=["embeddings"])["embeddings"]
            except errors.InternalError:  # its graph is announced before it is on disk
                time.sleep(pause)
        return self._collection.get(limit=1, include=["embeddings"])["embeddings"]

    def _made(self) -> Any:
        if self._collection is None:
            self._collection = self._client.create_collection(
                self.collection,
                embedding_function=None,
                configuration={"hnsw": {"space": self.metric, "ef_search": _SEARCH_WIDTH}},
            )
        return self._collection

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        target, step = self._made(), int(self._client.get_max_batch_size())
        for start in range(0, len(ids), step):
            part = slice(start, start + step)
            self._upsert(target, ids[part], vectors[part], metadata[part])
        self.dim = vectors.shape[1]

    def _upsert(self, target: Any, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        before = target.get(ids=ids, include=["metadatas", "documents"])
        known = dict(zip(before["ids"], before["metadatas"], strict=True))
        texts = dict(zip(before["ids"], before["documents"], strict=True))
        lost = [
            name
            for name, fields in zip(ids, metadata, strict=True)
            if texts.get(name) is not None and TEXT_FIELD not in fields
        ]
        if lost:
            # Chroma has no way to take the text alone off a row.
            target.delete(ids=lost)
        # Chroma merges fields; those that the new row lacks are taken off by None.
        whole = [
            {**dict.fromkeys(known.get(name) or {}), **{k: v for k, v in fields.items() if k != TEXT_FIELD}}
            for name, fields in zip(ids, metadata, strict=True)
        ]
        with_text = [row for row, fields in enumerate(metadata) if TEXT_FIELD in fields]
        without = [row for row, fields in enumerate(metadata) if TEXT_FIELD not in fields]
        for rows in (with_text, without):
            if rows:
                documents = (
                    {"documents": [metadata[row][TEXT_FIELD] for row in rows]} if rows is with_text else {}
                )
                target.upsert(
                    ids=[ids[row] for row in rows],
                    embeddings=vectors[rows],
                    metadatas=[whole[row] or None for row in rows],
                    **documents,
                )

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        step = int(self._client.get_max_batch_size())
        for start in range(0, len(ids), step):
            part = slice(start, start + step)
            names = ids[part]
            self._collection.update(ids=names, embeddings=vectors[part], metadatas=[fields for _ in names])

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        found = self._collection.query(
            query_embeddings=vectors,
            n_results=k,
            where=_filter(allowed),
            include=["distances", "metadatas", "documents"],
        )
        return [
            [
                Hit(name, self._distance(distance), _fields(fields, text))
                for name, distance, fields, text in zip(*each, strict=True)
            ]
            for each in zip(
                found["ids"], found["distances"], found["metadatas"], found["documents"], strict=True
            )
        ]

    def _distance(self, given: float) -> float:
        if self.metric == "l2":
            return float(np.sqrt(max(given, 0.0)))
        return given - 1.0 if self.metric == "ip" else given

    def _get(self, ids: list[str]) -> Rows:
        found = self._read(ids=ids)
        return self._rows(in_order({row[0]: row for row in found}, ids))

    def _read(self, **which: Any) -> list[tuple[str, Any, Metadata]]:
        found = self._collection.get(**which, include=["embeddings", "metadatas", "documents"])
        fields = [_fields(*each) for each in zip(found["metadatas"], found["documents"], strict=True)]
        return list(zip(found["ids"], found["embeddings"], fields, strict=True))

    def _delete(self, ids: list[str]) -> None:
        self._collection.delete(ids=ids)

    def _batches(self, size: int) -> Iterator[Rows]:
        start = 0
        while found := self._read(limit=size, offset=start):
            yield self._rows(found)
            start += len(found)

    def _count(self) -> int:
        return int(self._collection.count())

    def close(self) -> None:
        """Let go of the folder or the connection."""
        if self._client is not None:
            # Chroma leaves the connections of a client open when it is closed.
            for each in (self._client, getattr(self._client, "_admin_client", None)):
                session = getattr(getattr(each, "_server", None), "_session", None)
                if session is not None:
                    session.close()
            closed, self._client = self._client, None
            closed.close()
            # Clients of one process share what they have open: the last one clears up after all of them.
            shared = getattr(closed, "_identifier_to_system", None)
            if self._path is not None and shared is not None and closed._identifier not in shared:
                with self._speaking():
                    clear_room(self._path or ".")


def _client(path: PathLike | None, address: str | None, tenant: str | None, database: str | None) -> Any:
    # Read when chromadb is imported and when a client is made.
    os.environ["ANONYMIZED_TELEMETRY"] = "False"
    chromadb: Any = importlib.import_module("chromadb")
    # Not from a file .env in the current folder: settings name the classes that Chroma imports.
    settings = importlib.import_module("chromadb.config").Settings(anonymized_telemetry=False, _env_file=None)
    place = {name: value for name, value in (("tenant", tenant), ("database", database)) if value}
    if address is None:
        refuse_traps(path or ".")
        return chromadb.PersistentClient(path=os.fspath(path or "."), settings=settings, **place)
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError("The address of a Chroma server must read http(s)://HOST:PORT.")
    key = os.environ.get(KEY_VARIABLE)
    failure = False
    try:
        return chromadb.HttpClient(
            host=parts.hostname,
            port=parts.port or (443 if parts.scheme == "https" else 8000),
            ssl=parts.scheme == "https",
            headers={"x-chroma-token": key} if key else None,
            settings=settings,
            **place,
        )
    except ValueError:
        failure = True
    if failure:
        raise StoreError(f"No Chroma server answers at {parts.hostname}. Start it, or check the address.")


def _filter(allowed: dict[str, list[Scalar]]) -> dict[str, Any] | None:
    each = [{name: {"$in": values}} for name, values in allowed.items()]
    if not each:
        return None
    return each[0] if len(each) == 1 else {"$and": each}


def _fields(metadata: Metadata | None, text: str | None) -> Metadata:
    fields = dict(metadata or {})
    if text is not None:
        fields[TEXT_FIELD] = text
    return fields
