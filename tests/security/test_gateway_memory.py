"""Nobody fills the gateway's memory: not without a key, not with one, and not by saying nothing."""

from __future__ import annotations

import resource
import subprocess
import time

import pytest

from sfumato.server.tenancy.keys import new_key
from tests.security.clients import MIB, connect, crowd, everything, head, memory, pushed, settled
from tests.server.running import gateway, save_fake

MANY = 1000
ALLOWED = 50.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("memory")


@pytest.fixture(scope="module")
def keys(folder):
    path = folder / "keys.json"
    return path, {name: new_key(path, name) for name in ("good", "hostile")}


@pytest.fixture(scope="module")
def running(folder, keys):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 4 * MANY:
        pytest.skip("too few files may be open here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 4 * MANY), hard))
    with gateway(folder / "run", save_fake(folder / "plain"), "--keys", str(keys[0])) as found:
        for _ in range(5):
            assert found.embed(["warm"], keys[1]["good"])[0] == 200
        yield found


@pytest.mark.parametrize(
    "first",
    [b"", b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: " + b"x" * 15_000],
    ids=["silent", "headers that never end"],
)
def test_a_thousand_connections_without_a_key_cost_less_than_50_mib(running, keys, first, record_property):
    before = memory(running.process.pid)
    with crowd(running, MANY, first):
        grown = settled(running.process.pid) - before
        record_property("mib", round(grown, 1))
        assert running.embed(["good"], keys[1]["good"])[0] == 200
    assert grown < ALLOWED


@pytest.mark.parametrize(
    "path", ["/", "/health", "/openapi.json", "/v1/embeddings", "/console/try", "/nowhere"]
)
def test_no_body_is_read_without_a_key(running, path, record_property):
    before = memory(running.process.pid)
    body = b"x" * (4 * MIB)
    with crowd(running, 20, head(path, length=16 * MIB)) as opened:
        for each in opened:
            pushed(each, body, 0.2)
        grown = settled(running.process.pid, 0.3) - before
        record_property("mib", round(grown, 1))
        said = everything(opened[0])
        assert said.startswith("HTTP/1.1 ") and " 408 " not in said
    assert grown < 20.0


def test_the_answer_comes_before_a_body_that_never_does(running):
    for path, status in (("/health", " 405 "), ("/v1/embeddings", " 401 ")):
        with connect(running, 5.0) as connection:
            connection.sendall(head(path, length=16 * MIB))
            assert status in everything(connection).splitlines()[0]


def test_unfinished_bodies_with_a_key_share_one_budget(running, keys, record_property):
    before = memory(running.process.pid)
    body = b"x" * (16 * MIB - 4096)
    with crowd(running, 30, head("/v1/embeddings", length=16 * MIB, key=keys[1]["hostile"])) as opened:
        for each in opened:
            pushed(each, body, 0.2)
        grown = settled(running.process.pid, 0.3) - before
        record_property("mib", round(grown, 1))
        assert running.embed(["good"], keys[1]["good"])[0] == 200
    assert grown < 100.0


def test_silent_connections_shut_nobody_out(tmp_path, keys):
    def few():
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    original = subprocess.Popen

    class Limited(original):
        def __init__(self, *arguments, **more):
            super().__init__(*arguments, preexec_fn=few, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(subprocess, "Popen", Limited)
        context = gateway(tmp_path / "run", save_fake(tmp_path / "plain"), "--keys", str(keys[0]))
        running = context.__enter__()
    try:
        with crowd(running, 300):
            time.sleep(0.5)
            for _ in range(5):
                with connect(running, 5.0) as connection:
                    connection.sendall(head("/health", length=0, method="GET"))
                    assert connection.recv(100).startswith(b"HTTP/1.1 200")
            assert running.embed(["good"], keys[1]["good"])[0] == 200
        told = [line for line in running.lines() if "connection" in line["event"]]
        assert told and told[0]["level"] == "warning"
    finally:
        context.__exit__(None, None, None)
