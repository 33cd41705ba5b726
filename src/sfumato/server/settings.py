"""How a gateway is set up: one frozen record, from the command line or from the environment."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sfumato.arrays import finite_number, whole_number
from sfumato.errors import InputError, ParameterError

PREFIX = "SFUMATO_SERVE_"
"""Each setting may be given as this and its name in capitals, such as SFUMATO_SERVE_PROTECTOR."""

LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Everything a gateway can be told."""

    protector: Path
    """The folder that `sfumato learn` made; tenants may have their own."""
    host: str = "127.0.0.1"
    port: int = 8000
    upstream: str = ""
    """Address of an OpenAI-compatible server that embeds, instead of the protector's own encoder."""
    upstream_model: str = ""
    upstream_key_variable: str = ""
    """The environment variable with the upstream's key; the one of its host if empty."""
    allow_remote: str = ""
    """Hosts, with commas between them, to which the encoders that protectors name may send texts."""
    same_encoder: bool = False
    """Whether the operator vouches that the upstream serves the encoder the protector was learned for."""
    keys: Path | None = None
    state: Path = Path("sfumato-state")
    """Holds the secret of sticky noise and one ledger a tenant."""
    ceiling: float | None = None
    """Most epsilon that one text may spend; a tenant's own ceiling goes first."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    workers: int = 1
    threads: int = 8
    """Requests worked on at once in each worker."""
    max_waiting: int = 256
    """Requests that may wait for their turn in each worker; further ones are answered 503."""
    max_batch: int = 2048
    max_bytes: int = 16 * 1024 * 1024
    max_characters: int = 100_000
    """Longest text."""
    timeout: float = 60.0
    """Seconds for one request, waiting included."""
    read_timeout: float = 20.0
    """Seconds for a client to send a whole request, or to take a piece of an answer."""
    console: bool = True

    def __post_init__(self) -> None:
        """Check every figure and what only makes sense together."""
        for name, low, high in (
            ("port", 0, 65535),
            ("workers", 1, 256),
            ("threads", 1, 256),
            ("max_waiting", 0, 1_000_000),
            ("max_batch", 1, 1_000_000),
            ("max_bytes", 1024, 1 << 30),
            ("max_characters", 1, 1 << 24),
        ):
            whole_number(getattr(self, name), name, low, high)
        for name in ("timeout", "read_timeout"):
            finite_number(getattr(self, name), name, 0.01, 3600.0)
        if self.ceiling is not None:
            finite_number(self.ceiling, "ceiling", 1e-9, 1e12)
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InputError("TLS needs both files: give --tls-cert and --tls-key.")
        if bool(self.upstream) != bool(self.upstream_model):
            raise InputError("An upstream needs its model's name, and the other way round: give both.")
        if self.keys is None and not is_loopback(self.host):
            raise InputError(
                f"Without keys the gateway listens on this machine alone. Found --host {self.host!r:.60}. "
                "Make a key with: sfumato serve --new-key TENANT --keys FILE"
            )

    def to_environment(self) -> dict[str, str]:
        """The variables from which `from_environment` makes the same settings."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {_variable(name): str(value) for name, value in values.items() if value is not None}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> GatewaySettings:
        """Read the settings of a worker from variables such as SFUMATO_SERVE_PROTECTOR."""
        found = os.environ if environment is None else environment
        given: dict[str, Any] = {}
        for field in fields(cls):
            text = found.get(_variable(field.name), "")
            if text:
                given[field.name] = _read(field.name, _READERS[str(field.type)], text)
        if "protector" not in given:
            raise InputError(f"The environment variable {_variable('protector')} must name a protector.")
        return cls(**given)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        address = ipaddress.ip_address(host.strip("[]").partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _variable(name: str) -> str:
    return PREFIX + name.upper()


def _truth(text: str) -> bool:
    known = {"1": True, "true": True, "yes": True, "0": False, "false": False, "no": False}
    return known[text.lower()]


_READERS: dict[str, Callable[[str], Any]] = {
    "Path": Path,
    "Path | None": Path,
    "str": str,
    "int": int,
    "float": float,
    "float | None": float,
    "bool": _truth,
}


def _read(name: str, reader: Callable[[str], Any], text: str) -> Any:
    try:
        return reader(text)
    except (ValueError, KeyError):
        raise ParameterError(
            f"The environment variable {_variable(name)} cannot be read. Check it."
        ) from None
