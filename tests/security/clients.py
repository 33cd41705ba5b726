"""Clients that mean no good, over plain sockets to this machine alone."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from tests.server.running import Running

MIB = 1024 * 1024
ROME = "Rome " * 20_000


def memory(pid: int) -> float:
    """Resident MiB of a process."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no such process")


def connect(running: Running, timeout: float = 30.0) -> socket.socket:
    """A connection to the gateway."""
    return socket.create_connection(("127.0.0.1", running.port), timeout=timeout)


def head(path: str, *, length: int, key: str | None = None, method: str = "POST") -> bytes:
    """The headers of a request that announces so many bytes."""
    given = "" if key is None else f"Authorization: Bearer {key}\r\n"
    return (
        f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{given}Content-Type: application/json\r\n"
        f"Content-Length: {length}\r\n\r\n"
    ).encode()


@contextlib.contextmanager
def crowd(running: Running, count: int, first: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many open connections, each of which has said `first` and then says nothing."""
    with contextlib.ExitStack() as stack:
        opened = []
        for _ in range(count):
            each = stack.enter_context(connect(running))
            with contextlib.suppress(OSError):
                if first:
                    each.sendall(first)
            opened.append(each)
        yield opened


def pushed(connection: socket.socket, data: bytes, seconds: float = 0.5) -> int:
    """How many bytes of `data` the gateway takes within so many seconds."""
    view, sent = memoryview(data), 0
    connection.settimeout(seconds)
    try:
        while sent < len(data):
            sent += connection.send(view[sent : sent + 256 * 1024])
    except OSError:
        pass
    return sent


def everything(connection: socket.socket) -> str:
    """All that the gateway says until it hangs up."""
    parts = []
    connection.settimeout(30.0)
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts).decode()


def request(texts: object, key: str | None = None, **fields: object) -> bytes:
    """A whole request for embeddings."""
    body = json.dumps({"input": texts, **fields}).encode()
    return head("/v1/embeddings", length=len(body), key=key) + body


def settled(pid: int, seconds: float = 1.0) -> float:
    """Resident MiB once the gateway had time to read what was sent."""
    time.sleep(seconds)
    return memory(pid)
