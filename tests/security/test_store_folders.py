"""Folders of other stores that a stranger made: no code of theirs is run, no encoder of theirs is loaded."""

from __future__ import annotations

import json
import os
import pickle
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.errors import SfumatoError
from sfumato.stores import open_store
from tests.security.journals import trap

CODE = """
import os
import torch
os.mkdir({place!r})
class Evil(torch.nn.Module):
    pass
"""


class Runs:
    def __reduce__(self):
        return os.mkdir, ("ran",)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def model(place):
    """A folder that sentence-transformers takes for a model, and whose code it runs."""
    folder = place / "store" / "model"
    folder.mkdir(parents=True)
    modules = [{"idx": 0, "name": "0", "path": "", "type": "evil.Evil"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "config_sentence_transformers.json").write_text("{}")
    (folder / "evil.py").write_text(CODE.format(place=str(place / "ran")))
    return folder


def used(address: str) -> None:
    """Read and write a collection as `migrate` and `ProtectedStore` do."""
    with open_store(address, create=False) as store:
        rows = next(store.batches())
        store.search(rows.vectors[:1], 1)
        store.update(["a"], np.eye(1, 8), {"n": 2})
        store.add(["b"], np.ones((1, 8)), [{"n": 3, "document": "a text"}])


def test_the_model_of_these_tests_runs_code_where_it_is_loaded(model, place):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    with pytest.raises(Exception):  # noqa: B017 - what it raises after its code ran is its own affair
        sentence_transformers.SentenceTransformer(str(model), trust_remote_code=True, device="cpu").encode(
            "x"
        )
    assert (place / "ran").exists()


def test_chroma_loads_no_encoder_that_a_collection_names(model, place):
    with open_store("chroma:store#notes") as store:
        store.add(["a"], np.eye(1, 8), [{"n": 1, "document": "a text"}])
    database = place / "store" / "chroma.sqlite3"
    named = {
        "type": "known",
        "name": "sentence_transformer",
        "config": {
            "model_name": str(model),
            "device": "cpu",
            "normalize_embeddings": False,
            "kwargs": {"trust_remote_code": True},
        },
    }
    with closing(sqlite3.connect(database)) as opened, opened:
        schema = json.loads(opened.execute("SELECT schema_str FROM collections").fetchone()[0])
        vectors = schema["keys"]["#embedding"]["float_list"]["vector_index"]
        vectors["config"]["embedding_function"] = named
        opened.execute("UPDATE collections SET schema_str = ?", (json.dumps(schema),))
    used("chroma:store#notes")
    assert not Path("ran").exists()


def test_chroma_unpickles_nothing(place):
    with open_store("chroma:store#notes") as store:
        store.add(["a"], np.eye(1, 8), [{"n": 1}])
    segments = [each for each in (place / "store").iterdir() if each.is_dir()]
    assert segments
    for segment in segments:
        (segment / "index_metadata.pickle").write_bytes(pickle.dumps(Runs()))
    try:
        used("chroma:store#notes")
    except SfumatoError as error:
        assert "\n" not in str(error)
    assert not Path("ran").exists()


def test_chroma_reads_no_settings_from_the_folder_it_stands_in(place):
    """Chroma's settings name the classes that it imports, and are also looked for in a file .env."""
    (place / ".env").write_text("CHROMA_API_IMPL=evil.Evil\n")
    (place / "evil.py").write_text(CODE.format(place=str(place / "ran")))
    script = "from sfumato.stores import open_store\nopen_store('chroma:store#notes').close()"
    done = subprocess.run([sys.executable, "-c", script], cwd=place, capture_output=True, text=True)
    assert not Path("ran").exists() and done.returncode == 0, done.stderr


@pytest.mark.parametrize("kind", ["chroma", "qdrant"])
def test_a_journal_deletes_no_file_of_the_user(kind, place):
    with open_store(f"{kind}:store#notes") as store:
        store.add(["a"], np.eye(1, 8), [{"n": 1}])
    mine = place / "mine"
    mine.write_text("a file of the user's")
    trap(next((place / "store").rglob("*.sqlite*")), mine)
    with pytest.raises(SfumatoError, match="journal"):
        used(f"{kind}:store#notes")
    assert mine.exists()


def test_lancedb_loads_no_encoder_that_a_table_names(model, place):
    lancedb, arrow = pytest.importorskip("lancedb"), pytest.importorskip("pyarrow")
    named = [
        {
            "name": "sentence-transformers",
            "model": {"name": str(model), "trust_remote_code": True},
            "source_column": "document",
            "vector_column": "other",
        }
    ]
    wide = arrow.list_(arrow.float32(), 8)
    fields = [("id", arrow.string()), ("vector", wide), ("other", wide), ("n", arrow.int64())]
    schema = arrow.schema(
        [*fields, ("document", arrow.string())], metadata={"embedding_functions": json.dumps(named)}
    )
    row = {"id": "a", "vector": [1.0] * 8, "other": [1.0] * 8, "n": 1, "document": "a text"}
    table = lancedb.connect("store").create_table("named", data=arrow.Table.from_pylist([row], schema=schema))
    with pytest.raises(SfumatoError, match="encoder"):
        used("lancedb:store#named")
    assert not Path("ran").exists()
    lancedb.connect("store").create_table("copy", table.to_arrow().replace_schema_metadata())
    used("lancedb:store#copy")
    assert not Path("ran").exists()


@pytest.mark.parametrize("kind", ["memory", "faiss"])
def test_saved_stores_unpickle_nothing(kind, place):
    with open_store(f"{kind}:store") as store:
        store.add(["a"], np.eye(1, 8), [{"n": 1}])
    for name in ("tensors.safetensors", "config.json", "index.pkl", "index_metadata.pickle"):
        (place / "store" / name).write_bytes(pickle.dumps(Runs()))
        with pytest.raises(SfumatoError):
            used(f"{kind}:store")
    assert not Path("ran").exists()


def test_an_index_of_faiss_that_opens_files_is_refused(place):
    """An index may keep its lists in a file that it names, which FAISS opens for writing when it is read."""
    faiss = pytest.importorskip("faiss")
    for kind in ("flat", "hnsw"):
        with open_store(f"faiss:{kind}?index={kind}") as store:
            store.add([f"r{n}" for n in range(4)], np.eye(4, 8), [{}] * 4)
        with open_store(f"faiss:{kind}", create=False) as store:
            assert len(store) == 4
        quantizer = faiss.IndexFlatL2(8)
        index = faiss.IndexIVFFlat(quantizer, 8, 1)
        index.train(np.eye(4, 8, dtype=np.float32))
        lists = faiss.OnDiskInvertedLists(1, index.code_size, str(place / "lists"))
        index.replace_invlists(lists)
        index.add(np.eye(4, 8, dtype=np.float32))
        graph = faiss.IndexHNSW(index, 32)
        graph.hnsw.reset()
        kept = artifacts.load(kind, "faiss-store")
        for made in (index, graph):
            tensors = {"index": faiss.serialize_index(made), "rows": np.array(kept.tensors["rows"])}
            artifacts.save(kind, "faiss-store", kept.config, tensors)
            with pytest.raises(SfumatoError, match="of another kind"):
                open_store(f"faiss:{kind}")
