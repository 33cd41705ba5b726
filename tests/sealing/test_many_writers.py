"""Many processes change one collection at once, one is killed: nobody's rows are lost or there twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.stores import open_store
from tests.contracts.store_cases import addresses
from tests.sealing.collections import contents, sealed
from tests.sealing.writer import KILLED_AT, OWN, left, own, shared
from tests.stores.servers import postgres

ROOT = Path(__file__).parents[2]
WRITERS = 3


def start(url, folder, number, *more):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    command = [sys.executable, "-m", "tests.sealing.writer", url, str(folder), str(number), *more]
    return subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True)


def ended(process):
    """What a writer said, once it has ended; one that hangs is killed."""
    try:
        return process.communicate(timeout=60)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        return process.communicate()[1] + "killed after a minute"


@pytest.fixture(params=["pgvector", "chroma-server"])
def place(tmp_path, request):
    """Stores that several processes may open at once."""
    with addresses(request.param, tmp_path / "store") as address:
        yield address.format(name="notes", options=""), tmp_path


def whole(store, rows):
    """Exactly these rows are there, each is found, and the store holds their records alone."""
    assert {row.id: row.text for part in store.iterate() for row in part} == rows and len(store) == len(rows)
    for text in list(rows.values())[::5]:
        found = store.search(text, 1)
        assert found.complete and found.hits[0].text == text, found.faults
    members = [each for part in store._client.state.walk(100) for each in part]
    assert len(contents(store.store)) == sum(len(each.places) for each in members) + len(rows) + 1
    assert store.waiting == 0


def test_processes_that_begin_a_collection_and_write_at_once(place):
    """None of them finds a key, a state or a table when it starts."""
    url, folder = place
    running = [start(url, folder, number) for number in range(WRITERS)]
    (folder / "go").touch()
    said = [ended(process) for process in running]
    assert [process.returncode for process in running] == [0] * WRITERS, "".join(said)
    with sealed(folder, open_store(url)) as store:
        whole(store, shared() | {k: v for number in range(WRITERS) for k, v in left(number).items()})
        # Every change of every writer was counted, and the same rows added again were none.
        assert store.settings.generation == WRITERS * (OWN + 2) + 1


def test_what_a_killed_writer_left_is_sent_by_the_others(tmp_path):
    with postgres() as base:
        url = f"{base}#notes"
        with sealed(tmp_path, open_store(url)) as store:
            store.add(["first"], ["a row before all others"])
        running = [start(url, tmp_path, 0, "dies"), start(url, tmp_path, 1), start(url, tmp_path, 2)]
        (tmp_path / "go").touch()
        said = [ended(process) for process in running]
        assert [process.returncode for process in running] == [-signal.SIGKILL, 0, 0], "".join(said)
        written = dict(list(own(0)[0].items())[: KILLED_AT + 1])
        with sealed(tmp_path, open_store(url)) as store:
            whole(store, {"first": "a row before all others"} | written | shared() | left(1) | left(2))
