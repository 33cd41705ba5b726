"""One case for each registered store and each kind of index it has, on real products."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tests.stores.recorded import recorded_server
from tests.stores.servers import chroma_server, postgres, quick_folder, redis_server

APPROXIMATE = ("faiss-hnsw", "chroma", "chroma-server", "pgvector-hnsw", "redis-hnsw")
CASES = (
    "memory",
    "faiss",
    "faiss-hnsw",
    "chroma",
    "chroma-server",
    "qdrant",
    "pgvector",
    "pgvector-hnsw",
    "lancedb",
    "sqlite",
    "milvus",
    "redis",
    "redis-hnsw",
    "elasticsearch",
    "opensearch",
)
RECORDED = ("elasticsearch", "opensearch")
"""Held to the documents of a product, not tried with it."""
SMALLER = ("sqlite", "milvus", "redis", *RECORDED)
"""Those that sealed collections fill with fewer rows, once for each handle: others get 10,000."""
SEALED = tuple(case for case in CASES if case != "redis-hnsw")
"""Those that are sealed over: what a graph loses is seen in the other three graphs."""


@contextlib.contextmanager
def addresses(case: str, folder: Path) -> Iterator[str]:
    """An address with {name} for a collection and {options} for what follows a question mark."""
    if case == "chroma-server":
        with chroma_server(folder) as base:
            yield f"chroma+{base}?{{options}}#{{name}}"
    elif case.startswith("pgvector"):
        index = "&index=hnsw" if case.endswith("hnsw") else ""
        with postgres() as base:
            yield f"{base}&{{options}}{index}#{{name}}"
    elif case in RECORDED:
        with recorded_server(case, folder / "received") as (base, _):
            yield f"{case}+{base}?{{options}}#{{name}}"
    elif case.startswith("redis"):
        index = "&index=hnsw" if case.endswith("hnsw") else ""
        with redis_server() as base:
            yield f"{base}?{{options}}{index}#{{name}}"
    else:
        index = "&index=hnsw" if case.endswith("hnsw") else ""
        if case == "qdrant":
            with quick_folder() as quick:
                yield f"qdrant:{quick}/{{name}}?{{options}}#{{name}}"  # one client a folder
            return
        if case == "sqlite":
            yield f"sqlite:{folder}/rows.db?{{options}}#{{name}}"
            return
        own = f"/{{name}}?{{options}}{index}" if case.startswith(("memory", "faiss")) else "?{options}#{name}"
        yield f"{case.partition('-')[0]}:{folder}{own}"
