"""`sfumato serve`: an OpenAI-compatible gateway that protects embeddings before they leave."""

from __future__ import annotations

import os
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sfumato.cli.options.serve import (
    CeilingOption,
    CollectionsOption,
    CountingOption,
    HostOption,
    KeysGraceOption,
    KeysOption,
    MaxBatchOption,
    MaxBytesOption,
    MaxCharactersOption,
    MaxConnectionsOption,
    MaxInflightOption,
    MaxWaitingOption,
    NewKeyOption,
    NewLedgerOption,
    PageOption,
    PortOption,
    ProtectorOption,
    ReadTimeoutOption,
    RevokeOption,
    SameEncoderOption,
    StateOption,
    ThreadsOption,
    TimeoutOption,
    TlsCertOption,
    TlsKeyOption,
    UpstreamKeyVariableOption,
    UpstreamModelOption,
    UpstreamOption,
    WorkersOption,
)
from sfumato.cli.options.shared import AllowRemoteOption, reference
from sfumato.cli.output import console
from sfumato.errors import InputError, MissingPackageError

NAME = "serve"
EXAMPLE = (
    "Examples: sfumato serve --protector places  |  sfumato serve --new-key acme --keys keys.json  |  "
    "sfumato serve --revoke acme --keys keys.json  |  "
    "sfumato serve --protector places --keys keys.json --host 0.0.0.0 --ceiling 100  |  "
    "sfumato serve --collections collections.json"
)
_NEEDED = ("fastapi", "uvicorn", "prometheus_client")


def command(
    protector: ProtectorOption = None,
    collections: CollectionsOption = None,
    host: HostOption = ("127.0.0.1"),
    port: PortOption = 8000,
    upstream: UpstreamOption = "",
    upstream_model: UpstreamModelOption = "",
    upstream_key_variable: UpstreamKeyVariableOption = "",
    allow_remote: AllowRemoteOption = None,
    same_encoder: SameEncoderOption = False,
    keys: KeysOption = None,
    new_key: NewKeyOption = None,
    revoke: RevokeOption = None,
    keys_grace: KeysGraceOption = 30.0,
    state: StateOption = None,
    new_ledger: NewLedgerOption = None,
    ceiling: CeilingOption = None,
    counting: CountingOption = "auto",
    tls_cert: TlsCertOption = None,
    tls_key: TlsKeyOption = None,
    workers: WorkersOption = 1,
    threads: ThreadsOption = 8,
    max_waiting: MaxWaitingOption = 256,
    max_connections: MaxConnectionsOption = 1024,
    max_batch: MaxBatchOption = 2048,
    max_bytes: MaxBytesOption = 16 * 1024 * 1024,
    max_inflight: MaxInflightOption = 64 * 1024 * 1024,
    max_characters: MaxCharactersOption = 100_000,
    timeout: TimeoutOption = 60.0,
    read_timeout: ReadTimeoutOption = 20.0,
    page: PageOption = True,
) -> None:
    """Serve protected embeddings at /v1/embeddings, and sealed collections at /v1/collections."""
    _require_packages()
    if new_key is not None:
        _make_key(new_key, keys, protector, ceiling, allow_remote)
        return
    if revoke is not None:
        _revoke(revoke, keys)
        return
    if new_ledger is not None:
        _start_anew(new_ledger, _state(state))
        return
    if protector is None and collections is None:
        raise InputError("Say what is served: --protector DIR, --collections FILE, or both.")
    from sfumato.server import GatewaySettings

    settings = GatewaySettings(
        protector=protector, collections=collections, host=host, port=port, upstream=upstream,
        upstream_model=upstream_model, upstream_key_variable=upstream_key_variable,
        allow_remote=",".join(allow_remote or []), same_encoder=same_encoder, keys=keys,
        keys_grace=keys_grace, state=_state(state), ceiling=ceiling, counting=counting, tls_cert=tls_cert,
        tls_key=tls_key, workers=workers, threads=threads, max_waiting=max_waiting,
        max_connections=max_connections, max_batch=max_batch, max_bytes=max_bytes,
        max_inflight=max_inflight, max_characters=max_characters, timeout=timeout,
        read_timeout=read_timeout, console=page,
    )  # fmt: skip
    _check(settings)
    _serve(settings)


def _require_packages() -> None:
    for package in _NEEDED:
        if find_spec(package) is None:
            raise MissingPackageError(package, "serve", "for the gateway")


def _make_key(
    tenant: str, keys: Path | None, protector: Path | None, ceiling: float | None,
    allow_remote: list[str] | None,
) -> None:  # fmt: skip
    from sfumato.server.tenancy.keys import new_key

    if keys is None:
        raise InputError("Say where the key goes: --keys FILE.")
    if protector is not None:
        reference(protector, allow_remote=allow_remote).open()
    made = new_key(keys, tenant, protector=protector, ceiling=ceiling)
    screen = console()
    screen.print(f"Key of {tenant}, shown this once; {keys} holds only its hash:", highlight=False)
    screen.print(made, highlight=False, markup=False)


def _revoke(tenant: str, keys: Path | None) -> None:
    from sfumato.server.tenancy.keys import revoke

    if keys is None:
        raise InputError("Say where the keys are: --keys FILE.")
    count = revoke(keys, tenant)
    named = "1 key" if count == 1 else f"{count} keys"
    console().print(f"Revoked {named} of {tenant}; a gateway that runs takes them no more.", highlight=False)


def _start_anew(tenant: str, state: Path) -> None:
    from sfumato.server.tenancy.state import start_anew

    aside = start_anew(state, tenant)
    kept = "" if aside is None else f" The old one is now {aside}."
    console().print(f"The next gateway starts {tenant} with an empty ledger.{kept}", highlight=False)


def _state(given: Path | None) -> Path:
    """The state folder: as given, else the user's; never a new one beside an old one."""
    from sfumato.server.settings import default_state
    from sfumato.server.tenancy.state import OLD_FOLDER

    if given is None and (OLD_FOLDER / "secret").exists():
        raise InputError(
            f"There is a state folder {OLD_FOLDER} here, and the default is now {default_state()}. "
            f"Say which one: --state {OLD_FOLDER} goes on with what is there."
        )
    return default_state() if given is None else given


def _check(settings: Any) -> None:
    """Refuse in one line what a worker could only refuse with a long one."""
    from sfumato.server.collections.serving import refuse_several
    from sfumato.server.tenancy.state import State

    ceilings = _ceilings(settings)
    for path in (settings.tls_cert, settings.tls_key):
        if path is not None and not path.is_file():
            raise InputError(f"There is no file {path} for TLS.")
    refuse_several(settings)
    state = State(settings.state)
    if settings.protector is not None:
        from sfumato.server.tenancy.tenants import open_protector

        guarantee = open_protector(settings, settings.protector).guarantee
        for tenant, ceiling in ceilings.items():
            state.check(tenant, guarantee, ceiling=ceiling, counting=settings.counting)


def _ceilings(settings: Any) -> dict[str, float | None]:
    """The ceilings of tenants that have the gateway's own protector."""
    from sfumato.server.tenancy.keys import read_keys
    from sfumato.server.tenancy.tenants import LOCAL

    if settings.keys is None:
        return {LOCAL: settings.ceiling}
    found = read_keys(settings.keys)
    if not found.digests:
        raise InputError(f"The keys file {settings.keys} holds no key. Make one with --new-key.")
    own = {name: each.ceiling for name, each in found.tenants.items() if each.protector is None}
    return {name: settings.ceiling if each is None else each for name, each in own.items()}


def _serve(settings: Any) -> None:
    import uvicorn

    from sfumato.server.http.logs import start_logging, tell

    scheme = "http" if settings.tls_cert is None else "https"
    os.environ.update(settings.to_environment())
    start_logging()
    tell("starting", url=f"{scheme}://{settings.host}:{settings.port}/v1", workers=settings.workers)
    with tempfile.TemporaryDirectory(prefix="sfumato-metrics-") as shared:
        if settings.workers > 1:
            os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        uvicorn.run(
            "sfumato.server:from_environment",
            factory=True,
            host=settings.host,
            port=settings.port,
            workers=settings.workers,
            http="sfumato.server.http.protocol:PatientProtocol",
            ws="none",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=round(settings.timeout) + 1,
            ssl_certfile=settings.tls_cert,
            ssl_keyfile=settings.tls_key,
        )
