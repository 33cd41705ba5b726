"""`sfumato stores`: where protected vectors can be kept, what is installed, and how to install the rest."""

from __future__ import annotations

from sfumato.cli.listing import records, show
from sfumato.cli.output import JsonOption, write_json
from sfumato.stores.opening import STORES

NAME = "stores"
EXAMPLE = "Example: sfumato stores --json stores.json"

_WRITTEN = {
    "memory": "memory:FOLDER",
    "faiss": "faiss:FOLDER, faiss:FOLDER?index=hnsw",
    "chroma": "chroma:FOLDER#COLLECTION, chroma+http://HOST:PORT#COLLECTION",
    "qdrant": "qdrant:FOLDER#COLLECTION, qdrant+https://HOST:PORT#COLLECTION",
    "pgvector": "postgresql://USER@HOST/DATABASE#TABLE, with ?index=hnsw before the #",
    "lancedb": "lancedb:FOLDER#TABLE",
    "milvus": "milvus:FOLDER#COLLECTION, milvus+https://HOST:PORT#COLLECTION",
    "sqlite": "sqlite:FILE#TABLE",
    "redis": "redis://HOST:PORT#SET, rediss://HOST:PORT#SET, with ?index=hnsw before the #",
    "elasticsearch": "elasticsearch+https://HOST:PORT#INDEX, with ?index=hnsw before the #",
    "opensearch": "opensearch+https://HOST:PORT#INDEX, with ?index=hnsw before the #",
}


def command(json: JsonOption = None) -> None:
    """List the stores, how each is addressed, and whether it is installed."""
    found = records(STORES, _WRITTEN)
    show(found, "store", "is")
    write_json(json, {"stores": found})
