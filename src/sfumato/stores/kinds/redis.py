"""Redis 8: a vector set and the attributes of its elements, which are the metadata. Exact, or by its graph.

Vector sets measure by cosine alone. Neither Valkey nor Redis before 8 has them, and the indexes of Redis's
search module (FT.CREATE) are something else.
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Iterator
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from sfumato.errors import ParameterError
from sfumato.stores.base import Store, StoreError, in_order
from sfumato.stores.narrowing import narrowed
from sfumato.stores.rows import Hit, Metadata, Metric, Rows, Scalar
from sfumato.types import Vectors

USER_VARIABLE, PASSWORD_VARIABLE = "REDIS_USERNAME", "REDIS_PASSWORD"
_AT_ONCE = 500
_TIMEOUT, _CONNECT_SECONDS = 60.0, 15.0
_SETTLE_MS = 10_000
_BUILD_WIDTH, _SEARCH_WIDTH = 100, 200
_LONGEST_NAME = 512
_QUANTIZED = {"f32": "NOQUANT", "int8": "Q8", "bin": "BIN"}
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PLAIN = re.compile(r"[ !#-&(-\[\]-~]*")
"""Text that needs no quoting in a filter: printable ASCII without quotes and backslashes."""
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


class Redis(Store):
    """A vector set in Redis."""

    name = "redis"
    metrics = ("cosine",)
    durable = False
    residue = (
        "Redis keeps replaced vectors in its append-only file until it rewrites it, and in snapshots, "
        "backups and replicas"
    )

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
        super().__init__(label or f"redis:#{collection}", metric)
        if index not in (None, "exact", "hnsw"):
            raise ParameterError(f"`index` of a Redis store must be exact or hnsw. Found {index!r:.40}.")
        if not 0 < len(collection.encode()) <= _LONGEST_NAME:
            raise ParameterError(f"A vector set's name must have 1 to {_LONGEST_NAME} bytes.")
        self.exact = index != "hnsw"
        self._set, self._kept = collection, "f32"
        self._client: Any = None
        with self._opening():
            self._client = _client(address)
            self._look()
            if self.dim is None and not create:
                raise self._absent()

    def _run(self, *command: Any) -> Any:
        return self._client.execute_command(*command)

    def _look(self) -> None:
        errors: Any = importlib.import_module("redis.exceptions")
        refusal = ""
        try:
            found = self._run("VINFO", self._set)
        except errors.ResponseError as error:
            refusal = str(error)
        if refusal.startswith("unknown command"):
            raise StoreError(f"{self.label} has no vector sets: use Redis 8 or later. Valkey has none.")
        if refusal.startswith("WRONGTYPE"):
            raise ParameterError(
                f"{self.label} is no vector set but another kind of value. Name another one."
            )
        if refusal:
            raise StoreError(f"{self.label} refused to be read. Check user, password and rights.")
        if found is None:
            return
        info = {_text(name): value for name, value in found.items()}
        if info.get("projection-input-dim"):
            raise ParameterError(
                f"{self.label} keeps its vectors at a smaller dimension, which is not supported."
            )
        self._kept = _text(info["quant-type"])
        self._agree("cosine", int(info["vector-dim"]), self._asked)

    def _add(self, ids: list[str], vectors: Vectors, metadata: list[Metadata]) -> None:
        effort = ("EF", 64 if self.exact else _BUILD_WIDTH)
        for start in range(0, len(ids), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            with self._client.pipeline(transaction=True) as together:
                for name, vector, fields in zip(ids[part], vectors[part], metadata[part], strict=True):
                    together.execute_command(
                        "VADD", self._set, "FP32", vector.astype("<f4").tobytes(), name,
                        _QUANTIZED[self._kept], "SETATTR", json.dumps(fields, ensure_ascii=False), *effort,
                    )  # fmt: skip
                together.execute()
        self.dim = vectors.shape[1]

    def _update(self, ids: list[str], vectors: Vectors, fields: Metadata) -> None:
        kept = self._attributes(ids)
        place = {name: row for row, name in enumerate(ids)}
        names = list(kept)
        self._add(names, vectors[[place[name] for name in names]], [kept[name] | fields for name in names])

    def _attributes(self, ids: list[str]) -> dict[str, Metadata]:
        """The metadata of the elements that are there."""
        return {name: fields for name, _, fields in self._read(ids)}

    def _search(self, vectors: Vectors, k: int, allowed: dict[str, list[Scalar]]) -> list[list[Hit]]:
        if not allowed:
            if self.exact:
                return self._search_every(vectors, k)
            how: list[Any] = ["EF", max(_SEARCH_WIDTH, 2 * k)]
            return [self._nearest(each, how, k) for each in vectors]
        # With a filter every element is looked at: the graph would give up before it has found enough.
        condition, most = _condition(allowed), max(k, self._count())
        how = ["TRUTH", *(["FILTER", condition] if condition else [])]
        return [narrowed(partial(self._nearest, each, how), k, allowed, most) for each in vectors]

    def _search_every(self, vectors: Vectors, k: int) -> list[list[Hit]]:
        return [self._nearest(each, ["TRUTH"], k) for each in vectors]

    def _nearest(self, vector: Vectors, how: list[Any], k: int) -> list[Hit]:
        asked = ("FP32", vector.astype("<f4").tobytes(), "WITHSCORES", "WITHATTRIBS", "COUNT", k)
        found = self._run("VSIM", self._set, *asked, *how)
        # Redis maps the cosine to 0..1.
        return [
            Hit(_text(name), 2.0 * (1.0 - float(score)), _fields(attributes))
            for name, (score, attributes) in (found or {}).items()
        ]

    def _read(self, ids: list[str]) -> list[tuple[str, Any, Metadata]]:
        rows: list[tuple[str, Any, Metadata]] = []
        raw = ("RAW",) if self._kept == "f32" else ()
        for start in range(0, len(ids), _AT_ONCE):
            part = ids[start : start + _AT_ONCE]
            with self._client.pipeline(transaction=False) as together:
                for name in part:
                    together.execute_command("VEMB", self._set, name, *raw)
                    together.execute_command("VGETATTR", self._set, name)
                answers = together.execute()
            for name, vector, attributes in zip(part, answers[::2], answers[1::2], strict=True):
                if vector is not None:
                    rows.append((name, _vector(vector) if raw else vector, _fields(attributes)))
        return rows

    def _get(self, ids: list[str]) -> Rows:
        return self._rows(in_order({row[0]: row for row in self._read(ids)}, ids))

    def _delete(self, ids: list[str]) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            with self._client.pipeline(transaction=True) as together:
                for name in ids[start : start + _AT_ONCE]:
                    together.execute_command("VREM", self._set, name)
                together.execute()

    def _batches(self, size: int) -> Iterator[Rows]:
        # There is no cursor before Redis 8.4: all names, by their nearness to anything.
        anything = np.ones(self.dim or 1, "<f4").tobytes()
        found = self._run("VSIM", self._set, "FP32", anything, "COUNT", max(1, self._count()), "TRUTH")
        names = sorted(_text(name) for name in found or ())
        for start in range(0, len(names), size):
            rows = self._get(names[start : start + size])
            if len(rows):
                yield rows

    def _count(self) -> int:
        return int(self._run("VCARD", self._set))

    def flush(self) -> None:
        """Wait until the append-only file is on disk, where the server keeps one."""
        with self._speaking():
            if self._client.info("persistence").get("aof_enabled"):
                self._run("WAITAOF", 1, 0, _SETTLE_MS)

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.close()
            self._client = None


def _client(address: str) -> Any:
    parts = urlsplit(address)
    number = parts.path.strip("/") or "0"
    if parts.scheme not in ("redis", "rediss") or not parts.hostname or not number.isdecimal():
        raise ParameterError("The address of a Redis server must read redis://HOST:PORT/NUMBER.")
    module: Any = importlib.import_module("redis")
    backoff = importlib.import_module("redis.backoff").ExponentialBackoff(cap=1.0, base=0.1)
    return module.Redis(
        host=parts.hostname,
        port=parts.port or 6379,
        db=int(number),
        username=os.environ.get(USER_VARIABLE) or None,
        password=os.environ.get(PASSWORD_VARIABLE) or None,
        ssl=parts.scheme == "rediss",
        socket_timeout=_TIMEOUT,
        socket_connect_timeout=_CONNECT_SECONDS,
        retry=importlib.import_module("redis.retry").Retry(backoff, 2),
        protocol=3,
        decode_responses=False,
    )


def _condition(allowed: dict[str, list[Scalar]]) -> str:
    """What can be said in Redis's language without quoting; it passes more than ours, never less."""
    parts = []
    for name, values in allowed.items():
        written = [_written(value) for value in values]
        if _WORD.fullmatch(name) and None not in written:
            parts.append(f".{name} in [{', '.join(map(str, written))}]")
    return " and ".join(parts)


def _written(value: Scalar) -> str | None:
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, str):
        return f'"{value}"' if _PLAIN.fullmatch(value) else None
    return repr(value) if _NUMBER.fullmatch(repr(value)) else None


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _vector(raw: Any) -> Any:
    """A vector out of its unit vector and its length."""
    return np.frombuffer(raw[1], "<f4").astype(np.float64) * float(raw[2])


def _fields(attributes: bytes | None) -> Metadata:
    found = json.loads(attributes) if attributes else {}
    if not isinstance(found, dict):
        raise StoreError("An element has attributes that are no JSON object. Give it some, or none.")
    return found
