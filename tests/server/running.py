"""A real gateway in a process of its own, on a free loopback port."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

from sfumato.accounting import Ledger, Secret
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import load_protector, save_protector

DIM = 64
COMMAND = [sys.executable, "-c", "from sfumato.cli.main import run; run()", "serve"]
PRIVATE = "Zanzibar-Ottoline has psoriasis"


def save_fake(folder: Path, *, ratio: float = 0.5) -> Path:
    """A protector around the encoder for tests."""
    made = Protector(Laplace.from_noise_ratio(ratio, dim=DIM), f"fake:{DIM}", learned={"dim": DIM})
    save_protector(made, folder)
    return folder


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


class Running:
    """One gateway: where it is, what it logs, and how to stop it."""

    def __init__(self, process: subprocess.Popen, port: int, folder: Path, scheme: str = "http") -> None:
        self.process, self.port, self.folder = process, port, folder
        self.url = f"{scheme}://127.0.0.1:{port}"
        self.state = folder / "state"

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def lines(self) -> list[dict]:
        return [json.loads(line) for line in self.log.splitlines()]

    def python_path(self, protector: Path, tenant: str = "local") -> Protector:
        """The same release without the gateway."""
        made = load_protector(protector, secret=Secret.from_file(self.state / "secret"))
        made.tenant = tenant
        return made

    def ledger(self, tenant: str = "local") -> Ledger:
        """What the gateway has written down for a tenant."""
        path, secret = self.state / "ledgers" / f"{tenant}.sqlite", Secret.from_file(self.state / "secret")
        return Ledger(path, secret=secret, ceiling=None, metric="l2")

    def releases(self, protector: Path, text: str, tenant: str = "local") -> int:
        """How many releases of a text are on the ledger."""
        made = self.python_path(protector, tenant)
        return replace(made, ledger=self.ledger(tenant)).spent(text).releases

    def ask(self, method, path, body=None, key=None, headers=None):
        """Status, headers and parsed body of one request."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            sent = {"Content-Type": "application/json", **(headers or {})}
            if key is not None:
                sent["Authorization"] = f"Bearer {key}"
            raw = json.dumps(body) if isinstance(body, dict | list) else body
            connection.request(method, path, raw, sent)
            answer = connection.getresponse()
            content = answer.read()
        finally:
            connection.close()
        plain = "json" not in answer.headers.get("content-type", "")
        named = {name.lower(): value for name, value in answer.headers.items()}
        return answer.status, named, content.decode() if plain else json.loads(content)

    def embed(self, texts, key=None, **fields):
        return self.ask("POST", "/v1/embeddings", {"input": texts, "model": "any", **fields}, key)


def is_up(port: int, path: str = "/health") -> bool:
    with contextlib.suppress(OSError, http.client.HTTPException):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=5)) as connection:
            connection.request("GET", path)
            with connection.getresponse() as answer:
                return answer.status == 200
    return False


def wait_until_up(process: subprocess.Popen, port: int, folder: Path, up=is_up, tries: int = 600) -> None:
    for _ in range(tries):
        if up(port):
            return
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise AssertionError(f"the gateway did not start: {(folder / 'log').read_text()}")


@contextlib.contextmanager
def gateway(
    folder: Path, protector: Path | None, *options: str, scheme: str = "http", up=is_up, **variables: str
):
    """Run `sfumato serve` until the block ends."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    arguments = [
        *([] if protector is None else ["--protector", str(protector)]),
        "--port",
        str(port),
        "--state",
        str(folder / "state"),
        *options,
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "no_proxy": "*", **variables}
    with open(folder / "log", "w") as log:
        process = subprocess.Popen([*COMMAND, *arguments], stderr=log, stdout=log, env=environment)
    try:
        wait_until_up(process, port, folder, up)
        yield Running(process, port, folder, scheme)
    finally:
        stop(process)


def stop(process: subprocess.Popen) -> int:
    """End a gateway politely, or at last not politely."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        return process.wait(30)
    except subprocess.TimeoutExpired:
        process.kill()
        return process.wait()
