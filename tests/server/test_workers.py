"""Several processes share one ledger, and a killed gateway has never released what it did not write down."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sfumato.saving import load_protector
from sfumato.server import GatewaySettings
from sfumato.server.tenancy.keys import new_key
from tests.server.running import Running, free_port, gateway, save_fake, stop, wait_until_up

CLIENTS = 8


def children(process) -> list[int]:
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(each) for each in found]


def under_load(running, stop_after, released):
    """Clients that note what they were given until the gateway dies."""

    def client(number):
        with contextlib.suppress(OSError, Exception):
            for turn in range(10_000):
                texts = [f"client-{number} turn-{turn} text-{row}" for row in range(4)]
                status, _, answer = running.embed(texts, encoding_format="base64")
                if status == 200:
                    released.update(
                        (text, each["embedding"]) for text, each in zip(texts, answer["data"], strict=True)
                    )

    threads = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
    for each in threads:
        each.start()
    while len(released) < stop_after and any(each.is_alive() for each in threads):
        time.sleep(0.01)
    doomed = [running.process.pid, *children(running.process)]
    for pid in doomed:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    for each in threads:
        each.join()
    running.process.wait()


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the workers under /proc")
def test_killed_under_load_with_two_workers_the_ledger_has_at_least_what_was_released(tmp_path):
    protector = save_fake(tmp_path / "plain")
    released: dict[str, str] = {}
    with gateway(tmp_path / "run", protector, "--workers", "2", "--no-console") as running:
        assert len(children(running.process)) >= 2
        under_load(running, 200, released)
        assert len(released) >= 100
        assert not [text for text in released if running.releases(protector, text) != 1]
        counted = running.ledger().summary()["accounts"][0]["accounts"]
        assert counted >= len(released)
    with gateway(tmp_path / "run", protector, "--workers", "2", "--no-console") as again:
        texts = sorted(released)[:50]
        status, _, answer = again.embed(texts, encoding_format="base64")
        assert status == 200
        assert [each["embedding"] for each in answer["data"]] == [released[text] for text in texts]
        assert again.releases(protector, texts[0]) == 1
        metrics = [again.ask("GET", "/metrics")[2] for _ in range(8)]
        assert all('route="/v1/embeddings",status="200"} 1.0' in each for each in metrics)


def test_two_workers_hold_one_ceiling_together(tmp_path):
    protector = save_fake(tmp_path / "plain")
    epsilon = load_protector(protector).guarantee.epsilon
    options = ("--workers", "2", "--no-console", "--ceiling", str(10.5 * epsilon))
    with gateway(tmp_path / "run", protector, *options) as running:
        found = []

        def client():
            for _ in range(5):
                found.append(running.embed(["the same question"], input_type="query")[0])

        threads = [threading.Thread(target=client) for _ in range(CLIENTS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sorted(found) == [200] * 10 + [429] * 30
        assert running.releases(protector, "the same question") == 10


def test_gunicorn_runs_it_from_the_environment(tmp_path):
    pytest.importorskip("gunicorn")
    protector, keys = save_fake(tmp_path / "plain"), tmp_path / "keys.json"
    key = new_key(keys, "acme")
    settings = GatewaySettings(protector=protector, keys=keys, state=tmp_path / "state", console=False)
    port = free_port()
    command = [
        sys.executable, "-m", "gunicorn", "-k", "sfumato.server.worker.GatewayWorker", "--workers", "2",
        "--bind", f"127.0.0.1:{port}", "sfumato.server:from_environment()",
    ]  # fmt: skip
    with open(tmp_path / "log", "w") as log:
        environment = {**os.environ, **settings.to_environment()}
        process = subprocess.Popen(command, stderr=log, stdout=log, env=environment)
    try:
        wait_until_up(process, port, tmp_path)
        running = Running(process, port, tmp_path)
        assert running.embed(["x"])[0] == 401
        answers = [running.embed(["a note"], key, encoding_format="base64") for _ in range(6)]
        assert [status for status, _, _ in answers] == [200] * 6
        assert len({answer["data"][0]["embedding"] for _, _, answer in answers}) == 1
        assert running.releases(protector, "a note", "acme") == 1
    finally:
        assert stop(process) == 0
    assert key not in (tmp_path / "log").read_text()
