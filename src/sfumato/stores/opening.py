"""Choosing a store by its address."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any

from sfumato.errors import ParameterError
from sfumato.files import require_place
from sfumato.registry import Entry, Registry
from sfumato.stores.address import FILES, GROUP, Address, parse_address
from sfumato.stores.base import Store, StoreError
from sfumato.stores.rows import Metric, checked_metric

_HERE = "sfumato.stores.kinds"

STORES: Registry[Store] = Registry(
    "store",
    [
        Entry("memory", f"{_HERE}.memory:Memory", "everything in memory, exact; may be saved to a folder"),
        Entry(
            "faiss", f"{_HERE}.faiss:Faiss", "a FAISS index in a folder, flat or HNSW", ("faiss",), "faiss"
        ),
        Entry("chroma", f"{_HERE}.chroma:Chroma", "Chroma, in a folder or a server", ("chromadb",), "chroma"),
        Entry(
            "qdrant",
            f"{_HERE}.qdrant:Qdrant",
            "Qdrant, in a folder or a server",
            ("qdrant_client",),
            "qdrant",
        ),
        Entry(
            "pgvector",
            f"{_HERE}.pgvector:PgVector",
            "a table in Postgres with pgvector, exact or HNSW",
            ("psycopg", "pgvector"),
            "pgvector",
        ),
        Entry(
            "lancedb", f"{_HERE}.lancedb:LanceDB", "a table of LanceDB in a folder", ("lancedb",), "lancedb"
        ),
        Entry(
            "milvus",
            f"{_HERE}.milvus:Milvus",
            "Milvus, in a folder (Milvus Lite) or a server",
            ("pymilvus", "milvus_lite"),
            "milvus",
        ),
        Entry(
            "sqlite",
            f"{_HERE}.sqlite:Sqlite",
            "a table in an SQLite file with sqlite-vec, exact",
            ("apsw", "sqlite_vec"),
            "sqlite",
        ),
        Entry("redis", f"{_HERE}.redis:Redis", "a vector set in Redis 8, exact or HNSW", ("redis",), "redis"),
        Entry(
            "elasticsearch",
            f"{_HERE}.elasticsearch:Elasticsearch",
            "an index of Elasticsearch, exact or HNSW; recorded contract, not tried with a server",
        ),
        Entry(
            "opensearch",
            f"{_HERE}.opensearch:OpenSearch",
            "an index of OpenSearch, exact or HNSW; recorded contract, not tried with a server",
        ),
    ],
    group=GROUP,
)


def open_store(url: str, *, metric: Metric | None = None, create: bool = True) -> Store:
    """Open the collection at an address; it is made when the first row is added.

    Args:
        url: Where it is, as `sfumato stores` lists it, such as "lancedb:FOLDER#TABLE".
        metric: How a new collection measures: cosine (the default), l2 or ip.
        create: Whether it may be absent; otherwise an address without a collection is refused.
    """
    address = parse_address(url)
    if not create and address.place and not address.is_server and not _is_there(address):
        # A client would make the folder first and find it empty then.
        what = "file" if address.store in FILES else "folder"
        raise StoreError(f"There is no collection at {address.label}: no such {what}. Check the name.")
    kind: Any = STORES.get(address.store)
    asked = address.options.get("metric")
    if asked is not None and metric is not None and asked != metric:
        raise ParameterError(f"The metric must be given once. Found {asked} in the address, and {metric}.")
    options: dict[str, Any] = {k: v for k, v in address.options.items() if k != "metric"}
    options |= {"metric": metric or (None if asked is None else checked_metric(asked)), "create": create}
    arguments = _ARGUMENTS.get(address.store, _in_a_table)(address, options)
    taken = set(signature(kind).parameters)
    extra = sorted(set(options) - taken)
    if extra:
        raise ParameterError(f"The store `{address.store}` has no option {extra[0]!r}. Leave it out.")
    if create and address.place and not address.is_server:
        require_place(address.place)
    made: Store = kind(*arguments, **options)
    return made


def _is_there(address: Address) -> bool:
    place = Path(address.place)
    return place.is_file() if address.store in FILES else place.is_dir()


def _in_memory(address: Address, options: dict[str, Any]) -> tuple[Any, ...]:
    return (address.place or None,)


def _in_a_folder(address: Address, options: dict[str, Any]) -> tuple[Any, ...]:
    return (address.place,)


def _in_a_table(address: Address, options: dict[str, Any]) -> tuple[Any, ...]:
    options["label"] = address.label
    return (address.place, address.collection)


def _in_postgres(address: Address, options: dict[str, Any]) -> tuple[Any, ...]:
    from sfumato.stores.kinds.postgres import Columns

    names = {name: options.pop(name) for name in ("id", "vector", "metadata") if name in options}
    options["columns"] = Columns(**names)
    return _in_a_table(address, options)


def _by_name(address: Address, options: dict[str, Any]) -> tuple[Any, ...]:
    options["label"] = address.label
    options["address" if address.is_server else "path"] = address.place
    return (address.collection,)


_ARGUMENTS = {
    "memory": _in_memory,
    "faiss": _in_a_folder,
    "chroma": _by_name,
    "qdrant": _by_name,
    "pgvector": _in_postgres,
    "lancedb": _in_a_table,
    "milvus": _by_name,
    "sqlite": _in_a_table,
    "redis": _in_a_table,
    "elasticsearch": _in_a_table,
    "opensearch": _in_a_table,
}
