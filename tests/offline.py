"""No request beyond this machine: sockets refuse every other address, and telemetry is switched off."""

from __future__ import annotations

import contextlib
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

QUIET = {
    "ANONYMIZED_TELEMETRY": "False",
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
}
_HERE = ("127.", "::1", "localhost")


class Attempts(list[str]):
    """The addresses that something tried to reach."""


@contextlib.contextmanager
def loopback_only(*, quiet: bool = True, record: Path | None = None) -> Iterator[Attempts]:
    """Refuse and record every connection and look-up that leaves this machine.

    Args:
        quiet: switch the frameworks' telemetry off as well.
        record: a file to which each attempt is added, for a process that is watched from outside.
    """
    tried = Attempts()
    connect, connect_ex, look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def allowed(family: int, address: object) -> None:
        host = str(address[0]) if isinstance(address, tuple) else ""
        if family in (socket.AF_INET, socket.AF_INET6) and not host.startswith(_HERE):
            tried.append(host)
            if record is not None:
                with record.open("a") as file:
                    file.write(host + "\n")
            raise OSError(f"a test must not reach {host}")

    def guarded(self: socket.socket, address: object) -> None:
        allowed(self.family, address)
        connect(self, address)

    def guarded_ex(self: socket.socket, address: object) -> int:
        allowed(self.family, address)
        return connect_ex(self, address)

    def guarded_look_up(host: object, *rest: object, **more: object) -> object:
        name = host.decode() if isinstance(host, bytes) else str(host or "localhost")
        allowed(socket.AF_INET, (name,))
        return look_up(host, *rest, **more)

    with pytest.MonkeyPatch.context() as patch:
        for name, value in QUIET.items() if quiet else ():
            patch.setenv(name, value)
        if quiet and "huggingface_hub" in sys.modules:  # which has read the environment already
            patch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
        patch.setattr(socket.socket, "connect", guarded)
        patch.setattr(socket.socket, "connect_ex", guarded_ex)
        patch.setattr(socket, "getaddrinfo", guarded_look_up)
        yield tried
