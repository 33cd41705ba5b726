"""Ray: two raylets on this machine, one worker killed in flight; complete, once, and as without Ray."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import InputError, SfumatoError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.scale.ray import protect_dataset, session
from sfumato.scale.release import release_folder
from tests.scale.folders import contents, key_file, make_folder, manifest, plain, released_ids

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* is deprecated:DeprecationWarning:ray.data.context"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # Ray leaves its sockets and processes to the end
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module")
def address():
    """A cluster of two nodes on the loopback address, with one core each."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # or Ray leaves the loopback address
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "node_ip_address": "127.0.0.1", "object_store_memory": 100 << 20}
    cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
    try:
        cluster.add_node(**node)
        yield cluster.address
    finally:
        cluster.shutdown()


def workers():
    """The processes of Ray's pool of protectors."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if place.joinpath("cmdline").read_bytes().startswith(b"ray::MapWorker"):
                found.append(int(place.name))
        except OSError:
            continue
    return found


class Killer(threading.Thread):
    """Kills one worker as soon as something is published."""

    def __init__(self, out):
        super().__init__(daemon=True)
        self.out, self.killed = out, 0

    def run(self):
        before = set(workers())  # somebody else's
        until = time.monotonic() + 120
        while time.monotonic() < until:
            found = sorted(set(workers()) - before)
            if len(found) == 2 and any(self.out.glob("*.parquet")):
                os.kill(found[0], signal.SIGKILL)
                self.killed = found[0]
                return
            time.sleep(0.01)


def test_two_nodes_one_worker_killed_in_flight(address, tmp_path):
    inputs = make_folder(tmp_path / "in", files=2, rows=2500, group=100)
    key = key_file(tmp_path / "key")
    options = {"secret": key, "part_rows": 100, "keep_columns": ["id"]}
    killer = Killer(tmp_path / "ray")
    killer.start()
    done = release_folder(
        str(inputs), str(tmp_path / "ray"), plain(), engine="ray", address=address, **options
    )
    killer.join()
    assert killer.killed
    assert (done.rows, done.parts) == (5000, 50)
    ids = released_ids(tmp_path / "ray")
    assert len(ids) == 5000 == len(set(ids))
    release_folder(str(inputs), str(tmp_path / "here"), plain(), workers=1, **options)
    assert contents(tmp_path / "ray") == contents(tmp_path / "here")
    assert manifest(tmp_path / "ray") == manifest(tmp_path / "here")


def test_texts_to_protected_vectors_in_one_pipeline(address, tmp_path):
    texts = [f"note {row} on the weather" for row in range(60)]
    protector = Protector(Laplace(epsilon=64.0), "fake:64", normalise=False)
    key = key_file(tmp_path / "key")
    found = []
    with session(address) as ray:
        for batch_rows in (7, 60):
            dataset = ray.data.from_arrow(pa.table({"text": texts, "id": range(60)}))
            released = protect_dataset(
                dataset, protector, secret=key, keep_columns=["id"], batch_rows=batch_rows, workers=1
            )
            rows = sorted(released.take_all(), key=lambda row: row["id"])
            assert set(rows[0]) == {"id", "embedding"}
            found.append(np.array([row["embedding"] for row in rows], np.float32))
    assert found[0].shape == (60, 64)
    assert np.array_equal(found[0], found[1])


def test_errors_are_one_line(address, tmp_path):
    inputs = make_folder(tmp_path / "in", files=1)
    with pytest.raises(SfumatoError, match="no column 'nothing'"):
        release_folder(
            str(inputs),
            str(tmp_path / "out"),
            plain(),
            engine="ray",
            address=address,
            keep_columns=["nothing"],
        )
    with pytest.raises(InputError, match="memory://"):
        release_folder("memory://in", str(tmp_path / "out"), plain(), engine="ray", address=address)
