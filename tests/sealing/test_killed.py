"""Killed at any step, a change is there whole or not at all, and no record is left over."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.stores import open_store
from tests.sealing.collections import contents, metadata, names, notes, sealed
from tests.sealing.crash import AFTER, BEFORE, change
from tests.stores.servers import postgres, quick_folder, redis_server

ROOT = Path(__file__).parents[2]


def expected(action, done):
    """The text of every row before an action, or after it."""
    rows = dict(zip(names(BEFORE), notes(BEFORE), strict=True))
    if done and action == "add":
        texts = notes(AFTER, seed=1)
        rows |= {names(AFTER)[row]: texts[row] for row in (*range(30), *range(BEFORE, AFTER))}
    if done and action in ("delete", "erase"):
        rows = {name: text for name, text in rows.items() if name not in names(40)}
    return rows


def crash(*arguments):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "tests.sealing.crash", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=ROOT)
    assert done.returncode == -signal.SIGKILL, done.stderr


def whole(store, rows):
    """The collection holds exactly these rows and finds them; the store holds their records alone."""
    assert len(store) == len(rows) and store.waiting == 0
    assert {row.id: row.text for part in store.iterate(50) for row in part} == rows
    for name, text in [*rows.items()][::17]:
        found = store.search(text, 1)
        assert found.complete and found.hits[0].id == name, found.faults
    members = [each for part in store._client.state.walk(100) for each in part]
    own = sum(len(store._client.handle.records(each)) for each in members)
    assert len(contents(store.store)) == own + len(rows) + 1


def begin(url, folder, **options):
    with sealed(folder, open_store(url), **options) as store:
        store.add(names(BEFORE), notes(BEFORE), metadata(BEFORE))


STEPS = [
    *(("add", when) for when in ("writing", "committed", "inside", "deleting", "sent")),
    *(("delete", when) for when in ("writing", "committed", "deleting")),
    *(("erase", when) for when in ("writing", "shredding", "shredded", "deleting", "sent")),
    *(("relearn", when) for when in ("writing", "committed", "inside", "deleting", "sent")),
]


@pytest.mark.parametrize(("action", "when"), STEPS)
def test_a_killed_change_is_there_whole_or_not_at_all(action, when, tmp_path):
    url = f"memory:{tmp_path}/store"
    begin(url, tmp_path)
    crash(url, tmp_path, action, when)
    done = when != "writing"
    with sealed(tmp_path, open_store(url)) as store:
        whole(store, expected(action, done))
        change(store, action)
        whole(store, expected(action, True))
        assert store._client.state.to_shred() == []


@pytest.mark.parametrize("handle", ["tags", "codes", "noise"])
@pytest.mark.parametrize(
    ("action", "when"), [("add", "inside"), ("erase", "shredded"), ("relearn", "inside")]
)
def test_so_it_is_under_every_handle(handle, action, when, tmp_path):
    url = f"memory:{tmp_path}/store"
    begin(url, tmp_path, handle=handle, names="number", tables=2)
    crash(url, tmp_path, action, when)
    with sealed(tmp_path, open_store(url)) as store:
        whole(store, expected(action, True))
        assert store.search_name("77", 1).hits[0].id == names(BEFORE)[77]


@contextlib.contextmanager
def address(product, folder):
    if product == "pgvector":
        with postgres() as base:
            yield f"{base}#notes"
    elif product == "redis":
        with redis_server() as base:
            yield f"{base}#notes"
    elif product == "qdrant":
        with quick_folder() as quick:
            yield f"qdrant:{quick}/store#notes"
    else:
        yield f"{product}:{folder}/store#notes"


@pytest.mark.parametrize(
    "product", ["chroma", "lancedb", "faiss", "qdrant", "pgvector", "sqlite", "milvus", "redis"]
)
def test_killed_in_the_middle_of_an_add_to_a_product(product, tmp_path):
    with address(product, tmp_path) as url:
        begin(url, tmp_path)
        crash(url, tmp_path, "add", "inside")
        with sealed(tmp_path, open_store(url)) as store:
            whole(store, expected("add", True))
