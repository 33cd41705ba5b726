"""A stranger's folder of Qdrant's local mode: opening it runs none of its code and stays inside it."""

from __future__ import annotations

import json
import os
import pickle
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
import qdrant_client
from qdrant_client.models import PointStruct, SparseVector

from sfumato.errors import SfumatoError
from sfumato.stores import open_store
from sfumato.stores.kinds.points import local_client
from tests.security.journals import left_over
from tests.stores.servers import quick_folder

PLAIN = "CREATE TABLE points (id TEXT PRIMARY KEY, point BLOB)"


class Runs:
    def __reduce__(self):
        return os.mkdir, ("ran",)


PAYLOAD = pickle.dumps(Runs(), 4)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with quick_folder() as made:
        with open_store(f"qdrant:{made}#notes") as store:
            store.add(["a", "b"], np.eye(2, 8), [{"n": 1}, {"n": 2}])
        yield made


def described(folder: Path, name: str) -> None:
    """Have meta.json name a further collection like the one that is there."""
    meta = json.loads((folder / "meta.json").read_text())
    meta["collections"][name] = meta["collections"]["notes"]
    (folder / "meta.json").write_text(json.dumps(meta))


def planted(file: Path, *statements: str, points: tuple[bytes, ...] = ()) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as database, database:
        for statement in statements:
            database.execute(statement)
        for point in points:
            database.execute("INSERT INTO points VALUES ('x', ?)", (point,))


def refused(folder: Path, collection: str = "notes") -> None:
    with pytest.raises(SfumatoError) as caught, open_store(f"qdrant:{folder}#{collection}") as store:
        store.add(["c"], np.ones((1, 8)), [{}])
    assert "\n" not in str(caught.value)
    assert not Path("ran").exists()


@pytest.mark.parametrize("name", ["a/b", "a/b/c", "notes/../deep/er", "./x", "a\\b", "..", "", "."])
def test_a_collection_under_another_name_runs_nothing(folder, name):
    described(folder, name)
    place = folder / "collection" / name / "storage.sqlite"
    if not place.exists():
        planted(place, PLAIN, points=(PAYLOAD,))
    refused(folder)


def test_a_collection_that_meta_does_not_name_runs_nothing_when_it_is_made(folder):
    planted(folder / "collection" / "later" / "storage.sqlite", PLAIN, points=(PAYLOAD,))
    refused(folder, "later")


def test_a_view_that_answers_differently_each_time_runs_nothing(folder):
    """The view gives harmless points in eleven of twelve reads."""
    file = folder / "collection" / "notes" / "storage.sqlite"
    planted(
        file,
        "ALTER TABLE points RENAME TO kept",
        "CREATE TABLE other (id TEXT PRIMARY KEY, point BLOB)",
        "CREATE VIEW points (rowid, id, point) AS SELECT rowid, id, point FROM kept "
        "UNION ALL SELECT rowid + 9, id, point FROM other WHERE abs(random()) % 12 = 0",
    )
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("INSERT INTO other VALUES ('x', ?)", (PAYLOAD,))
    for _ in range(60):
        refused(folder)


def test_the_check_is_done_on_what_is_loaded(folder, monkeypatch):
    """Another process changes a point after the folder was looked through, just before Qdrant reads it."""
    kind = qdrant_client.QdrantClient

    def changing(*arguments, **options):
        planted(folder / "collection" / "notes" / "storage.sqlite", points=(PAYLOAD,))
        return kind(*arguments, **options)

    monkeypatch.setattr(qdrant_client, "QdrantClient", changing)
    refused(folder)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER kept AFTER DELETE ON points BEGIN INSERT INTO points VALUES (old.id, old.point); END",
        "CREATE TRIGGER deaf BEFORE INSERT ON points BEGIN SELECT RAISE(IGNORE); END",
        "CREATE TABLE more (id TEXT PRIMARY KEY, point BLOB)",
        "CREATE VIRTUAL TABLE found USING fts5(point)",
        "CREATE INDEX odd ON points (abs(point))",
    ],
    ids=["trigger that keeps", "trigger that drops", "table", "virtual table", "index"],
)
def test_a_database_with_more_than_the_points_is_refused(folder, statement):
    planted(folder / "collection" / "notes" / "storage.sqlite", statement)
    refused(folder)


@pytest.mark.parametrize("name", ["meta.json.tmp", ".lock", "collection/notes/storage.sqlite-journal"])
def test_a_link_does_not_lead_out_of_the_folder(folder, name, tmp_path):
    target = tmp_path / "mine"
    target.write_text("a file of the user's")
    (folder / name).unlink(missing_ok=True)
    (folder / name).symlink_to(target)
    refused(folder, "fresh")
    assert target.read_text() == "a file of the user's"


def test_a_collection_elsewhere_is_not_reached_by_a_link(folder, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    planted(elsewhere / "storage.sqlite", PLAIN, points=(PAYLOAD,))
    shutil.rmtree(folder / "collection" / "notes")
    (folder / "collection" / "notes").symlink_to(elsewhere)
    refused(folder)


@pytest.mark.parametrize("length", [10**9, -1, "8"])
def test_a_vector_of_an_impossible_length_is_refused_before_it_is_made(folder, length):
    meta = json.loads((folder / "meta.json").read_text())
    meta["collections"]["notes"]["vectors"] = {
        "": meta["collections"]["notes"]["vectors"],
        "wide": {"size": length, "distance": "Cosine"},
    }
    (folder / "meta.json").write_text(json.dumps(meta))
    refused(folder)


def test_a_pickle_that_grows_is_refused(folder):
    """Thirty lists, each holding the one before it ten times, are one point of a few hundred bytes."""
    grown: object = "x"
    for _ in range(30):
        grown = [grown] * 10
    point = PointStruct.model_construct(id=1, vector=[0.0] * 8, payload={"grown": grown})
    planted(folder / "collection" / "notes" / "storage.sqlite", points=(pickle.dumps(point),))
    refused(folder)


def test_every_kind_of_vector_that_qdrant_keeps_is_read(tmp_path):
    models = qdrant_client.models
    with quick_folder() as made:
        client = local_client(made)
        dense = models.VectorParams(size=3, distance=models.Distance.COSINE)
        many = models.VectorParams(
            size=2,
            distance=models.Distance.DOT,
            multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
        )
        client.create_collection(
            "all",
            vectors_config={"dense": dense, "many": many},
            sparse_vectors_config={"thin": models.SparseVectorParams()},
        )
        thin = SparseVector(indices=[3, 1], values=[0.5, 0.25])
        payload = {"when": "2026-01-01", "deep": {"a": [1, 2.5, None, True, "x"]}, "n": 2**62}
        vectors = {"dense": [1.0, 0.0, 0.0], "many": [[1.0, 2.0], [3.0, 4.0]], "thin": thin}
        client.upsert("all", [PointStruct(id=7, vector=vectors, payload=payload)])
        client.set_payload("all", {"more": 1}, points=[7])
        client.close()
        again = local_client(made)
        found = again.retrieve("all", [7], with_vectors=True)[0]
        again.close()
    assert found.payload == payload | {"more": 1}
    assert found.vector["many"] == [[1.0, 2.0], [3.0, 4.0]] and sorted(found.vector["thin"].indices) == [1, 3]


def test_a_folder_whose_writer_was_killed_is_rolled_back(folder):
    left_over(folder / "collection" / "notes" / "storage.sqlite")
    with open_store(f"qdrant:{folder}#notes") as store:
        assert len(store) == 2
