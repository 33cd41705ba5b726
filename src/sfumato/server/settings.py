"""How a gateway is set up: one frozen record, from the command line or from the environment."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from sfumato.errors import InputError, ParameterError
from sfumato.numbers import finite_number, whole_number

PREFIX = "SFUMATO_SERVE_"
"""Each setting may be given as this and its name in capitals, such as SFUMATO_SERVE_PROTECTOR."""

LOOPBACK_NAMES = frozenset({"localhost", "ip6-localhost"})
COUNTING = ("auto", "own", "l2")
ACCOUNTING = ("sum", "curve")
CLEAN_UNDER_CEILING = (
    "cost infinity, so none fits under a ceiling. Leave out the ceiling, or --clean-queries."
)


def default_state() -> Path:
    """The user's own folder for state, so that no secret lands in a project by accident."""
    home = os.environ.get("XDG_STATE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".local" / "state") / "sfumato"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    """Everything a gateway can be told."""

    protector: Path | None = None
    """The folder that `sfumato learn` made; tenants may have their own. It may be left out where there are
    collections."""
    collections: Path | None = None
    """The file that names the sealed collections of each tenant."""
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
    keys_grace: float = 30.0
    """Seconds for which the keys of a file that can no longer be used go on working."""
    state: Path = field(default_factory=default_state)
    """Holds the secret of sticky noise and one ledger a tenant."""
    ceiling: float | None = None
    """Most epsilon that one text may spend; a tenant's own ceiling goes first."""
    counting: str = "auto"
    """How new ledgers count: "own", in a protector's own metric, or "l2", in the worst case per unit of
    distance, so that protectors may change; "auto" is "l2" where the protector has such a bound."""
    accounting: str = "sum"
    """What ledgers count: "sum" adds epsilons up; "curve" says what all releases of a text tell together."""
    ceiling_advantage: float | None = None
    """With "curve", the most that all releases of one text may tell; a tenant's own goes first."""
    distance: float | None = None
    """Between the two inputs that this is about, where protectors keep no distances between terms."""
    clean_queries: bool = False
    """Whether clients may have searches by their own vectors, which promise nothing; tenants may differ."""
    tls_cert: Path | None = None
    tls_key: Path | None = None
    workers: int = 1
    threads: int = 8
    """Requests worked on at once in each worker."""
    max_waiting: int = 256
    """Requests that may wait for their turn in each worker; further ones are answered 503."""
    max_connections: int = 1024
    """Connections to each worker; beyond it, the one that has been silent longest makes room."""
    max_batch: int = 2048
    max_bytes: int = 16 * 1024 * 1024
    max_inflight: int = 64 * 1024 * 1024
    """Bytes of all requests that each worker holds at once; further ones wait to be read."""
    max_characters: int = 100_000
    """Longest text."""
    timeout: float = 60.0
    """Seconds for one request, waiting included."""
    read_timeout: float = 20.0
    """Seconds for a client to send a whole request, or to take a piece of an answer."""
    console: bool = True
    otel: bool = False
    """Whether traces and figures are sent by OpenTelemetry, to the address in its own variables."""

    def __post_init__(self) -> None:
        """Check every figure and what only makes sense together."""
        for name, low, high in (
            ("port", 0, 65535),
            ("workers", 1, 256),
            ("threads", 1, 256),
            ("max_waiting", 0, 1_000_000),
            ("max_connections", 1, 1_000_000),
            ("max_batch", 1, 1_000_000),
            ("max_bytes", 1024, 1 << 30),
            ("max_inflight", 1024, 1 << 40),
            ("max_characters", 1, 1 << 24),
        ):
            whole_number(getattr(self, name), name, low, high)
        for name in ("timeout", "read_timeout"):
            finite_number(getattr(self, name), name, 0.01, 3600.0)
        finite_number(self.keys_grace, "keys_grace", 0.0, 86_400.0)
        if self.max_inflight < self.max_bytes:
            raise InputError(
                f"`max_inflight` must leave room for one request of {self.max_bytes} bytes. "
                f"Found {self.max_inflight}."
            )
        if self.counting not in COUNTING:
            raise InputError(f"`counting` must be one of {', '.join(COUNTING)}. Found {self.counting!r:.40}.")
        if self.ceiling is not None:
            finite_number(self.ceiling, "ceiling", 1e-9, 1e12)
        self._check_accounting()
        if (self.tls_cert is None) != (self.tls_key is None):
            raise InputError("TLS needs both files: give --tls-cert and --tls-key.")
        self._check_served()
        if self.clean_queries and (self.ceiling is not None or self.ceiling_advantage is not None):
            raise InputError(f"Clean queries {CLEAN_UNDER_CEILING}")
        if bool(self.upstream) != bool(self.upstream_model):
            raise InputError("An upstream needs its model's name, and the other way round: give both.")
        if self.keys is None and not is_loopback(self.host):
            raise InputError(
                f"Without keys the gateway listens on this machine alone. Found --host {self.host!r:.60}. "
                "Make a key with: sfumato serve --new-key TENANT --keys FILE"
            )

    def _check_accounting(self) -> None:
        if self.accounting not in ACCOUNTING:
            raise InputError(f"`accounting` must be sum or curve. Found {self.accounting!r:.40}.")
        if self.ceiling_advantage is not None:
            finite_number(self.ceiling_advantage, "ceiling_advantage", 1e-6, 1 - 1e-9)
        if self.distance is not None:
            finite_number(self.distance, "distance", 1e-12, 1e6)
        if self.accounting == "sum" and (self.ceiling_advantage is not None or self.distance is not None):
            raise InputError("`ceiling_advantage` and `distance` are for accounting by curves. Say so.")
        if self.accounting == "curve" and (self.ceiling is not None or self.counting != "auto"):
            raise InputError(
                "`ceiling` and `counting` add epsilons up, and curves are counted here. Give "
                "`ceiling_advantage` in their place."
            )

    def _check_served(self) -> None:
        if self.protector is None and self.collections is None:
            raise InputError("A gateway needs a protector or sealed collections. Found neither.")
        if self.protector is None and self.upstream:
            raise InputError("An upstream needs a protector, which knows its dimensions. Found none.")

    def to_environment(self) -> dict[str, str]:
        """The variables from which `from_environment` makes the same settings."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {_variable(name): str(value) for name, value in values.items() if value is not None}

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> GatewaySettings:
        """Read the settings of a worker from variables such as SFUMATO_SERVE_PROTECTOR."""
        found = os.environ if environment is None else environment
        given: dict[str, Any] = {}
        for each in fields(cls):
            text = found.get(_variable(each.name), "")
            if text:
                given[each.name] = _read(each.name, _READERS[str(each.type)], text)
        if not {"protector", "collections"} & set(given):
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
