"""Addresses: taken apart, refused in one line, and never shown with what is secret in them."""

from __future__ import annotations

import pytest

from sfumato.errors import ParameterError, SfumatoError
from sfumato.stores import StoreError, open_store, parse_address
from tests.stores.servers import free_port

SECRET = "hunter2%zz"

GOOD = {
    "memory:": ("memory", "", "sfumato", "memory:"),
    "memory:data/rows": ("memory", "data/rows", "sfumato", "memory:data/rows"),
    "faiss:/a/b?index=hnsw": ("faiss", "/a/b", "sfumato", "faiss:/a/b"),
    "chroma:db#notes": ("chroma", "db", "notes", "chroma:db#notes"),
    "chroma+http://localhost:8000#notes": ("chroma", "http://localhost:8000", "notes", "chroma+http://localhost:8000#notes"),
    "qdrant:a%23b#c": ("qdrant", "a#b", "c", "qdrant:a#b#c"),
    "QDRANT+HTTPS://cloud.example:6333#c": ("qdrant", "https://cloud.example:6333", "c", "qdrant+https://cloud.example:6333#c"),
    "postgresql://ann:pw@db.example:5433/app?sslmode=require&metric=l2#public.notes": (
        "pgvector", "postgresql://ann:pw@db.example:5433/app?sslmode=require", "public.notes",
        "postgresql://db.example:5433/app#public.notes",
    ),
    "postgres:///app?host=/run/pg#t": ("pgvector", "postgresql:///app?host=%2Frun%2Fpg", "t", "postgres:///app#t"),
    "lancedb:lake#t": ("lancedb", "lake", "t", "lancedb:lake#t"),
    "sqlite:a/notes.db#t": ("sqlite", "a/notes.db", "t", "sqlite:a/notes.db#t"),
    "milvus:lake#t": ("milvus", "lake", "t", "milvus:lake#t"),
    "milvus+https://h:19530/base#t": ("milvus", "https://h:19530/base", "t", "milvus+https://h:19530/base#t"),
    "redis://[::1]:6379/2#t": ("redis", "redis://[::1]:6379/2", "t", "redis://[::1]:6379/2#t"),
    "rediss://h#t": ("redis", "rediss://h", "t", "rediss://h#t"),
    "elasticsearch+http://h:9200#t": ("elasticsearch", "http://h:9200", "t", "elasticsearch+http://h:9200#t"),
    "opensearch+https://h/base#t": ("opensearch", "https://h/base", "t", "opensearch+https://h/base#t"),
}  # fmt: skip


@pytest.mark.parametrize("url", GOOD)
def test_parts(url):
    found = parse_address(url)
    assert (found.store, found.place, found.collection, found.label) == GOOD[url]


def test_options_are_taken_out():
    assert parse_address("faiss:x?index=hnsw&metric=l2").options == {"index": "hnsw", "metric": "l2"}
    found = parse_address("postgresql://h/d?vector=v&id=key&application_name=x#t")
    assert found.options == {"vector": "v", "id": "key"} and found.place.endswith("?application_name=x")


BAD = [
    "notes.db",
    "sqlite:",
    "sqlite://notes.db",
    "sqlit:notes.db",
    "sqlite:notes.db#a b",
    'sqlite:notes.db#a"; DROP TABLE x; --',
    "sqlite:notes.db#sqlite_schema",
    "milvus:lake#../../etc",
    "milvus:lake#a-b",
    "milvus:lake?vector=a b#t",
    "milvus:lake?index=ivf#t",
    f"milvus+http://root:{SECRET}@h#c",
    f"redis://:{SECRET}@h#c",
    f"rediss://u:{SECRET}@h#c",
    "redis:#c",
    "redis://127.0.0.1/x#c",
    "redis://127.0.0.1?metric=l2#c",
    "redis://127.0.0.1?index=flat#c",
    f"elasticsearch+https://u:{SECRET}@h#c",
    f"opensearch+https://u:{SECRET}@h#c",
    "elasticsearch+http://127.0.0.1:1#_all",
    "elasticsearch+http://127.0.0.1:1#a*",
    "elasticsearch+http://127.0.0.1:1#a/_search",
    "opensearch+http://127.0.0.1:1#a,b",
    "opensearch+http://127.0.0.1:1#..",
    "opensearch+http://127.0.0.1:1?index=ivf#a",
    f"postgresq://u:{SECRET}@h/d",
    "chroma:",
    "chroma://localhost",
    "lancedb:",
    "chroma+http:#c",
    "chroma+http://h:port#c",
    f"qdrant+https://{SECRET}@h#c",
    f"chroma+https://u:{SECRET}@h#c",
    f"faiss:x?password={SECRET}",
    "faiss:x?index=tree",
    "faiss:x?vector=v",
    "faiss:x?metric=manhattan",
    "qdrant:x?index=flat",
    "postgresql://h/d?index=ivf#t",
]


@pytest.mark.parametrize("url", BAD)
def test_a_bad_address_is_refused_in_one_line_without_its_secrets(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError) as caught:
        open_store(url)
    assert SECRET not in str(caught.value) and "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_metric_is_given_once():
    with pytest.raises(ParameterError, match="given once"):
        open_store("memory:?metric=l2", metric="ip")


def whole_story(error):
    """Everything an unhandled error would print."""
    import traceback

    return "".join(traceback.format_exception(error))


SERVERS = [
    *("postgresql", "chroma+http", "qdrant+http", "milvus+http", "redis"),
    *("elasticsearch+http", "opensearch+http"),
]


@pytest.mark.parametrize("scheme", SERVERS)
def test_a_server_that_is_not_there(scheme, monkeypatch):
    for variable in ("QDRANT_API_KEY", "CHROMA_API_KEY", "MILVUS_TOKEN", "REDIS_PASSWORD"):
        monkeypatch.setenv(variable, SECRET)
    for variable in ("ELASTICSEARCH_API_KEY", "OPENSEARCH_PASSWORD"):
        monkeypatch.setenv(variable, SECRET)
    user = f"ann:{SECRET.replace('%', '%25')}@" if scheme == "postgresql" else ""
    with pytest.warns(UserWarning) if scheme == "qdrant+http" else nothing():
        with pytest.raises(StoreError) as caught:
            path = "" if scheme == "redis" else "/x"
            open_store(f"{scheme}://{user}127.0.0.1:{free_port()}{path}#notes")
    assert "\n" not in str(caught.value) and "127.0.0.1" in str(caught.value)
    assert SECRET not in str(caught.value) and SECRET not in whole_story(caught.value).replace("%25", "%")


def test_what_libpq_says_about_a_bad_address_is_not_passed_on():
    with pytest.raises(StoreError) as caught:
        open_store(f"postgresql://ann:{SECRET}@127.0.0.1:1/x?connect_timeout=1#notes")
    assert SECRET not in str(caught.value) and "hunter2" not in str(caught.value)


def nothing():
    import contextlib

    return contextlib.nullcontext()


def test_reprs_show_no_secret():
    address = parse_address(f"postgresql://ann:{SECRET}@h/d#t")
    assert SECRET not in repr(address)
    assert SfumatoError.__name__ in str(StoreError.__mro__)
