"""What Elasticsearch and OpenSearch share: an index of documents, by their HTTP protocol.

Recorded contract, not tried with a server: the tests hold requests and answers to the documented shapes.

A document has the row's id, its vector twice (for the engine to rank by, and as the bytes of its float32
values), its metadata as one JSON text, and a keyword for each field and value, which is what filters look
for. The engine only ranks: distances are measured here, because what a score means differs between versions.
"""

from __future__ import annotations

import base64
import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from sfumato.errors import ParameterError
from sfumato.stores.base import Store, StoreError, in_order
from sfumato.stores.distances import distances
from sfumato.stores.kinds.search_http import JsonServer
from sfumato.stores.names import NameRule
from sfumato.stores.rows import Hit, Metadata, Metric, Rows, Scalar, checked_metric
from sfumato.types import Vectors

_NAMES = NameRule(
    "An index",
    r"[a-z0-9][a-z0-9_.-]{0,199}",
    "a small letter or digit and up to 199 small letters, digits, _, . and -",
)
_AT_ONCE = 500
_BYTES_AT_ONCE = 16 << 20
_MOST = 10_000
_LONGEST_KEY = 512
_HASHED = "sha256-"
_SHOWN = ["id", "values", "metadata"]


class SearchIndex(Store):
    """An index of a search engine; each engine says how it keeps and ranks vectors."""

    exact = True
    residue = (
        "A search engine keeps replaced and deleted rows in its segments until it merges them, in its "
        "transaction log, replicas and snapshots"
    )
    meta: ClassVar[str] = "sfumato"
    """Where an index says that it was made here, and how it measures."""

    def __init__(
        self,
        address: str,
        collection: str = "sfumato",
        *,
        metric: Metric | None = None,
        index: str | None = None,
        create: bool = True,
        label: str = "",
    ) -> None:
        super().__init__(label or f"{self.name}:#{collection}", metric)
        if index not in (None, "exact", "hnsw"):
            raise ParameterError(f"`index` of {self.name} must be exact or hnsw. Found {index!r:.40}.")
        self.exact = index != "hnsw"
        self._index = _NAMES.check(collection)
        self._server = JsonServer(address, self.label, self._credentials)
        self._look()
        if self.dim is None and not create:
            raise self._absent()

    @abstractmethod
    def _credentials(self) -> dict[str, str]:
        """The header that says who asks, from the environment."""

    @abstractmethod
    def _definition(self, dim: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """How the vectors are kept: the field `vector`, and settings of the index."""

    @abstractmethod
    def _ranked(self, vector: list[float], k: int, filters: list[Any]) -> dict[str, Any]:
        """The part of a search that ranks the documents that pass the filters."""

    def _look(self) -> None:
        found = self._server.ask("GET", f"/{self._index}/_mapping", absent=True)
        if found is None:
            return
        said = (found.get(self._index, {}).get("mappings", {}).get("_meta") or {}).get(self.meta)
        if not isinstance(said, dict) or said.get("index") not in ("exact", "hnsw"):
            raise ParameterError(f"{self.label} is an index that was not made here. Name another one.")
        self.exact = said["index"] == "exact"
        self._agree(checked_metric(str(said.get("metric"))), int(said["dim"]), self._asked)

    def _make(self, dim: int) -> None:
        vector, settings = self._definition(dim)
        kind = "exact" if self.exact else "hnsw"
        mappings = {
            "dynamic": False,
            "_meta": {self.meta: {"metric": self.metric, "dim": dim, "index": kind}},
            "properties": {
                "id": {"type": "keyword"},
                "vector": vector,
                "values": {"type": "binary"},
                "metadata": {"type": "keyword", "index": False, "doc_values": False},
                "fields": {"type": "keyword"},
            },
        }
        self._server.ask("PUT", f"/{self._index}", {"settings": settings, "mappings": mappings})
        self.dim = dim

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        if self.dim is None:
            self._make(vectors.shape[1])
        lines: list[Any] = []
        size = 0
        for name, vector, fields in zip(ids, vectors, metadata, strict=True):
            text = json.dumps(fields)
            lines += [
                {"index": {"_index": self._index, "_id": _key(name)}},
                self._document(name, vector, text),
            ]
            lines[-1]["fields"] = [_keyword(*each) for each in fields.items()]
            size += 30 * len(vector) + 2 * len(text)
            if len(lines) >= 2 * _AT_ONCE or size > _BYTES_AT_ONCE:
                self._bulk(lines)
                lines, size = [], 0
        self._bulk(lines)

    def _document(self, name: str, vector: Vectors, metadata: str) -> dict[str, Any]:
        values = base64.b64encode(vector.astype("<f4").tobytes()).decode()
        return {"id": name, "vector": vector.tolist(), "values": values, "metadata": metadata}

    def _bulk(self, lines: list[Any]) -> None:
        if not lines:
            return
        answer = self._server.bulk("/_bulk?refresh=true", lines)
        for item in answer["items"]:
            ((action, result),) = item.items()
            if result["status"] >= 300 and not (action == "delete" and result["status"] == 404):
                raise StoreError(
                    f"{self.label} refused a row: HTTP {result['status']}. Check the server's log."
                )

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        # A document is written whole, so that its vector and its mark never part.
        kept = self._get(ids)
        place = {name: row for row, name in enumerate(ids)}
        merged = [metadata | fields for metadata in kept.metadata]
        if len(kept):
            self._add(kept.ids, vectors[[place[name] for name in kept.ids]], merged)

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        filters = [
            {"terms": {"fields": sorted({_keyword(name, value) for value in values})}}
            for name, values in allowed.items()
        ]
        found = []
        for each in vectors:
            asked = {"size": k, "_source": _SHOWN, **self._ranked(each.tolist(), k, filters)}
            rows = self._hits(self._server.ask("POST", f"/{self._index}/_search", asked))
            found.append(self._measured(each, rows))
        return found

    def _measured(self, query: Vectors, rows: list[tuple[str, Any, Metadata]]) -> list[Hit]:
        if not rows:
            return []
        far = distances(query[None], np.stack([row[1] for row in rows]), self.metric)[0]
        hits = [Hit(name, float(at), fields) for (name, _, fields), at in zip(rows, far, strict=True)]
        return sorted(hits, key=lambda hit: hit.distance)

    def _hits(self, answer: Any) -> list[tuple[str, Any, Metadata]]:
        return [self._row(hit["_source"]) for hit in answer["hits"]["hits"]]

    def _row(self, source: Any) -> tuple[str, Any, Metadata]:
        values = np.frombuffer(base64.b64decode(source["values"], validate=True), "<f4")
        return str(source["id"]), values, json.loads(source["metadata"])

    def _get(self, ids: list[str]) -> Rows:
        found: dict[str, tuple[str, Any, Metadata]] = {}
        for start in range(0, len(ids), _AT_ONCE):
            asked = [{"_id": _key(name), "_source": _SHOWN} for name in ids[start : start + _AT_ONCE]]
            answer = self._server.ask("POST", f"/{self._index}/_mget", {"docs": asked})
            rows = [self._row(each["_source"]) for each in answer["docs"] if each.get("found")]
            found |= {row[0]: row for row in rows}
        return self._rows(in_order(found, ids))

    def _delete(self, ids: list[str]) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            self._bulk([{"delete": {"_index": self._index, "_id": _key(name)}} for name in part])

    def _batches(self, size: int) -> Iterator[Rows]:
        asked: dict[str, Any] = {"size": min(size, _MOST), "_source": _SHOWN, "sort": [{"id": "asc"}]}
        while True:
            answer = self._server.ask("POST", f"/{self._index}/_search", asked)
            rows = self._hits(answer)
            if not rows:
                return
            yield self._rows(rows)
            asked["search_after"] = answer["hits"]["hits"][-1]["sort"]

    def _count(self) -> int:
        return int(self._server.ask("GET", f"/{self._index}/_count")["count"])


def _key(name: str) -> str:
    """A document's own id: engines keep 512 bytes of one, so a longer one is hashed."""
    if len(name.encode()) <= _LONGEST_KEY and not name.startswith(_HASHED):
        return name
    return _HASHED + hashlib.sha256(name.encode()).hexdigest()


def _keyword(name: str, value: Scalar) -> str:
    """What a filter looks for: field and value; True is not 1, 1.0 is, and a long value is a short one."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return f"{name}:{hashlib.sha256(json.dumps(value).encode()).hexdigest()[:32]}"
