"""Qdrant: a folder on this machine (exact, slow to fill), or a server by its address.

Qdrant's own ids are numbers and UUIDs. An id that reads as one of those is used as it is; any other gets a
UUID derived from it and is kept in the payload.
"""

from __future__ import annotations

import importlib
import os
import re
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from sfumato.errors import ParameterError
from sfumato.files import PathLike
from sfumato.stores.base import Store, in_order
from sfumato.stores.kinds.points import local_client
from sfumato.stores.names import NameRule
from sfumato.stores.rows import Hit, Metadata, Metric, Rows, Scalar
from sfumato.types import Vectors

KEY_VARIABLE = "QDRANT_API_KEY"
ID_FIELD = "sfumato_id"
_AT_ONCE = 500
_SPACE = uuid.UUID("6f0e0a5e-2c1b-5d0f-9a53-7d6a5f3f3a10")
_NUMBER = re.compile(r"0|[1-9][0-9]{0,18}")
_TIMEOUT = 60
_NAMES = NameRule(
    "A Qdrant collection",
    r"""(?!\.\.?$)[^<>:"/\\|?*\x00-\x1f]{1,255}""",
    'up to 255 characters without < > : " / \\ | ? * and control characters, and not by . or ..',
)


class Qdrant(Store):
    """A collection in Qdrant. With `cosine` vectors are kept at unit length."""

    name = "qdrant"
    residue = (
        "Qdrant may keep replaced vectors in its log, in segments that are not yet optimised and in free "
        "pages of its database"
    )

    def __init__(
        self,
        collection: str,
        *,
        path: PathLike | None = None,
        address: str | None = None,
        metric: Metric | None = None,
        index: str | None = None,
        vector: str | None = None,
        create: bool = True,
        label: str = "",
    ) -> None:
        super().__init__(label or f"qdrant:{path or 'server'}#{collection}", metric)
        if (path is None) == (address is None):
            raise ParameterError("A Qdrant store needs a `path` or an `address`, and not both.")
        if index not in (None, "exact", "hnsw"):
            raise ParameterError(f"`index` of a Qdrant store must be exact or hnsw. Found {index!r:.40}.")
        self.collection, self._vector = _NAMES.check(collection), vector or ""
        self._remote = address is not None
        self.exact = path is not None or index == "exact"
        self._client: Any = None
        with self._opening():
            self._client = _client(path, address)
            self._look()
            if self.dim is None and not create:
                raise self._absent()

    def _look(self) -> None:
        if self._client.collection_exists(self.collection):
            self._take_over(self._asked)

    @property
    def _models(self) -> Any:
        return importlib.import_module("qdrant_client.models")

    def _take_over(self, metric: Metric | None) -> None:
        found = self._client.get_collection(self.collection).config.params.vectors
        if isinstance(found, dict):
            if self._vector not in found:
                names = ", ".join(sorted(found))
                raise ParameterError(f"{self.label} has named vectors. Add ?vector= and one of: {names}.")
            found = found[self._vector]
        names_of = {"Cosine": "cosine", "Euclid": "l2", "Dot": "ip"}
        space = str(getattr(found.distance, "value", found.distance))
        if space not in names_of:
            raise ParameterError(f"{self.label} measures by {space}, which is not supported here.")
        self._agree(names_of[space], int(found.size), metric)  # type: ignore[arg-type]

    def _make(self, dim: int) -> None:
        models = self._models
        spaces = models.Distance
        space = {"cosine": spaces.COSINE, "l2": spaces.EUCLID, "ip": spaces.DOT}[self.metric]
        one = models.VectorParams(size=dim, distance=space)
        self._client.create_collection(
            self.collection, vectors_config={self._vector: one} if self._vector else one
        )
        self.dim = dim

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        if self.dim is None:
            self._make(vectors.shape[1])
        points = [point_id(name) for name in ids]
        payloads = [_payload(*each) for each in zip(ids, points, metadata, strict=True)]
        lists: list[Any] = vectors.tolist()
        if self._vector:
            lists = [{self._vector: each} for each in lists]
        self._put(points, lists, payloads)

    def _put(self, points: list[int | str], vectors: list[Any], payloads: list[Metadata]) -> None:
        models = self._models
        for start in range(0, len(points), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            made = [
                models.PointStruct(id=point, vector=vector, payload=payload)
                for point, vector, payload in zip(points[part], vectors[part], payloads[part], strict=True)
            ]
            self._client.upsert(self.collection, points=made, wait=True)

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        # A point is written whole, so that its vector and its mark never part.
        by_point = {point_id(name): row for row, name in enumerate(ids)}
        for start in range(0, len(ids), _AT_ONCE):
            wanted = list(by_point)[start : start + _AT_ONCE]
            found = self._client.retrieve(self.collection, wanted, with_payload=True, with_vectors=True)
            whole = [(each, vectors[by_point[each.id]].tolist()) for each in found]
            lists = [{**each.vector, self._vector: new} if self._vector else new for each, new in whole]
            payloads = [(each.payload or {}) | fields for each, _ in whole]
            self._put([each.id for each, _ in whole], lists, payloads)

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        models = self._models
        # In a folder every search is exact.
        how = models.SearchParams(exact=self.exact) if self._remote else None
        asked = [
            models.QueryRequest(
                query=each,
                using=self._vector or None,
                limit=k,
                with_payload=True,
                filter=_filter(models, allowed),
                params=how,
            )
            for each in vectors.tolist()
        ]
        found: list[list[Hit]] = []
        for start in range(0, len(asked), _AT_ONCE):
            part = asked[start : start + _AT_ONCE]
            for answer in self._client.query_batch_points(self.collection, requests=part):
                found.append([Hit(_name(p), self._distance(p.score), _fields(p)) for p in answer.points])
        return found

    def _distance(self, score: float) -> float:
        if self.metric == "l2":
            return float(score)
        return float(1.0 - score if self.metric == "cosine" else -score)

    def _get(self, ids: list[str]) -> Rows:
        points = [point_id(name) for name in ids]
        found = self._client.retrieve(self.collection, points, with_payload=True, with_vectors=True)
        return self._rows(in_order({_name(point): self._row(point) for point in found}, ids))

    def _row(self, point: Any) -> tuple[str, Any, Metadata]:
        vector = point.vector[self._vector] if self._vector else point.vector
        return _name(point), vector, _fields(point)

    def _delete(self, ids: list[str]) -> None:
        chosen = self._models.PointIdsList(points=[point_id(name) for name in ids])
        self._client.delete(self.collection, points_selector=chosen, wait=True)

    def _batches(self, size: int) -> Iterator[Rows]:
        following: Any = None
        while True:
            points, following = self._client.scroll(
                self.collection, limit=size, offset=following, with_payload=True, with_vectors=True
            )
            if points:
                yield self._rows([self._row(point) for point in points])
            if following is None:
                return

    def _count(self) -> int:
        return int(self._client.count(self.collection, exact=True).count)

    def close(self) -> None:
        """Let go of the folder or the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None


def _client(path: PathLike | None, address: str | None) -> Any:
    if path is not None:
        return local_client(path)
    parts = urlsplit(address or "")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ParameterError("The address of a Qdrant server must read http(s)://HOST:PORT.")
    port = parts.port or (443 if parts.scheme == "https" else 6333)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    plain = urlunsplit((parts.scheme, f"{host}:{port}", parts.path, "", ""))
    kind: Any = importlib.import_module("qdrant_client").QdrantClient
    key = os.environ.get(KEY_VARIABLE)
    return kind(url=plain, api_key=key, timeout=_TIMEOUT, check_compatibility=False)


def point_id(name: str) -> int | str:
    """The id of a row as Qdrant has it."""
    if _NUMBER.fullmatch(name):
        return int(name)
    try:
        if str(uuid.UUID(name)) == name:
            return name
    except ValueError:
        pass
    return str(uuid.uuid5(_SPACE, name))


def _payload(name: str, point: int | str, fields: Metadata) -> Metadata:
    return dict(fields) if str(point) == name else {**fields, ID_FIELD: name}


def _name(point: Any) -> str:
    return str((point.payload or {}).get(ID_FIELD, point.id))


def _fields(point: Any) -> Metadata:
    return {name: value for name, value in (point.payload or {}).items() if name != ID_FIELD}


def _filter(models: Any, allowed: dict[str, list[Scalar]]) -> Any:
    def one(name: str, value: Scalar) -> Any:
        if isinstance(value, float):
            return models.FieldCondition(key=name, range=models.Range(gte=value, lte=value))
        return models.FieldCondition(key=name, match=models.MatchValue(value=value))

    if not allowed:
        return None

    def some(name: str, values: list[Scalar]) -> Any:
        if all(isinstance(value, str) for value in values):
            return models.FieldCondition(key=name, match=models.MatchAny(any=values))
        return models.Filter(should=[one(name, value) for value in values])

    return models.Filter(must=[some(name, values) for name, values in allowed.items()])
