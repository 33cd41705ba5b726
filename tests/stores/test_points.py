"""A folder of Qdrant's local mode is looked through before Qdrant reads the pickles in it."""

from __future__ import annotations

import os
import pickle
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from sfumato.errors import ArtifactError
from sfumato.stores import open_store
from tests.stores.servers import quick_folder


class Runs:
    def __reduce__(self):
        return os.mkdir, ("ran",)


def smuggled():
    """Names that come out of the pickle's memory, behind two that are harmless."""
    harmless = pickle.dumps("qdrant_client.http.models.models", 4)[2:-1], pickle.dumps("PointStruct", 4)[2:-1]
    parts = [pickle.dumps(word, 4)[2:].split(b"\x94")[0][9:] for word in ("os", "mkdir")]
    assert all(harmless)
    code = b"\x80\x04"
    for word in (b"os", b"mkdir", b"qdrant_client.http.models.models", b"PointStruct"):
        code += b"\x8c" + bytes([len(word)]) + word + b"\x94"
    assert len(parts) == 2
    return code + b"h\x00h\x01\x93\x8c\x03ran\x85R."


@pytest.mark.parametrize(
    "point",
    [
        pickle.dumps(Runs(), 4),
        pickle.dumps(Runs(), 2),
        pickle.dumps(Runs(), 0),
        smuggled(),
        b"\x80",
        b"",
        "text",
    ],
    ids=["stack global", "global", "oldest", "from memory", "cut off", "empty", "text"],
)
def test_a_pickle_that_could_run_code_is_refused_unread(point, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with quick_folder() as folder:
        with open_store(f"qdrant:{folder}#notes") as store:
            store.add(["a", "b"], np.eye(2, 8), [{"x": "y", "n": 1, "f": 0.5, "t": True}, {}])
        with open_store(f"qdrant:{folder}#notes", create=False) as store:
            assert store.get(["a"]).metadata == [{"x": "y", "n": 1, "f": 0.5, "t": True}]
        with sqlite3.connect(next(folder.glob("collection/*/storage.sqlite"))) as database:
            database.execute("INSERT INTO points VALUES ('x', ?)", (point,))
        database.close()
        with pytest.raises(ArtifactError, match="could run code"):
            open_store(f"qdrant:{folder}#notes")
    assert not Path("ran").exists()


def test_a_number_of_every_size_passes(tmp_path):
    with quick_folder() as folder:
        values = [0, 255, 256, 70_000, 2**31, 2**62, -1, -(2**40)]
        with open_store(f"qdrant:{folder}#notes") as store:
            rows = len(values)
            store.add(
                [f"n{row}" for row in range(rows)], np.eye(rows, 300), [{"n": value} for value in values]
            )
            store.add(["long"], np.ones((1, 300)), [{"text": "x" * 70_000}])
        with open_store(f"qdrant:{folder}#notes") as store:
            assert [each["n"] for each in store.get([f"n{row}" for row in range(rows)]).metadata] == values
