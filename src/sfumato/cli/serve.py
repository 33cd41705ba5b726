"""`sfumato serve`: an OpenAI-compatible gateway that protects embeddings before they leave."""

from __future__ import annotations

import os
import tempfile
from dataclasses import fields
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sfumato.cli.options.serve import (
    CeilingOption,
    CleanQueriesOption,
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
    OtelOption,
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
from sfumato.cli.options.shared import (
    AccountingOption,
    AllowRemoteOption,
    CeilingAdvantageOption,
    LedgerDistanceOption,
    counts_curves,
    reference,
)
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
    accounting: AccountingOption = None,
    ceiling_advantage: CeilingAdvantageOption = None,
    distance: LedgerDistanceOption = None,
    clean_queries: CleanQueriesOption = None,
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
    otel: OtelOption = False,
) -> None:
    """Serve protected embeddings at /v1/embeddings, and sealed collections at /v1/collections."""
    given = dict(locals())
    _require_packages()
    if new_key is not None:
        own = {"ceiling": ceiling, "ceiling_advantage": ceiling_advantage, "clean_queries": clean_queries}
        _make_key(new_key, keys, protector, own, allow_remote)
        return
    if revoke is not None:
        _revoke(revoke, keys)
        return
    if new_ledger is not None:
        _start_anew(new_ledger, _state(state))
        return
    if protector is None and collections is None:
        raise InputError("Say what is served: --protector DIR, --collections FILE, or both.")
    given["curve"] = counts_curves(accounting, ceiling, ceiling_advantage, distance)
    settings = _settings(given)
    _check(settings)
    _serve(settings)


def _settings(given: dict[str, Any]) -> Any:
    """The settings of a gateway, out of all that the command was told."""
    from sfumato.server import GatewaySettings

    given |= {
        "allow_remote": ",".join(given["allow_remote"] or []),
        "state": _state(given["state"]),
        "accounting": "curve" if given["curve"] else "sum",
        "console": given["page"],
        "clean_queries": bool(given["clean_queries"]),
    }
    known = {each.name for each in fields(GatewaySettings)}
    return GatewaySettings(**{name: value for name, value in given.items() if name in known})


def _require_packages() -> None:
    for package in _NEEDED:
        if find_spec(package) is None:
            raise MissingPackageError(package, "serve", "for the gateway")


def _make_key(
    tenant: str,
    keys: Path | None,
    protector: Path | None,
    own: dict[str, Any],
    allow_remote: list[str] | None,
) -> None:
    from sfumato.server.tenancy.keys import new_key

    if keys is None:
        raise InputError("Say where the key goes: --keys FILE.")
    if protector is not None:
        reference(protector, allow_remote=allow_remote).open()
    made = new_key(keys, tenant, protector=protector, **own)
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

    tenants = _tenants(settings)
    if settings.otel:
        from sfumato.server.telemetry.exporting import check_telemetry

        check_telemetry()
    for path in (settings.tls_cert, settings.tls_key):
        if path is not None and not path.is_file():
            raise InputError(f"There is no file {path} for TLS.")
    refuse_several(settings)
    state = State(settings.state)
    if settings.protector is not None:
        from sfumato.server.tenancy.tenants import limits_of, open_protector

        protector = open_protector(settings, settings.protector)
        for tenant, own in tenants.items():
            state.check(tenant, protector, limits_of(settings, own))


def _tenants(settings: Any) -> dict[str, Any]:
    """The tenants that have the gateway's own protector, and what they have of their own."""
    from sfumato.server.tenancy.keys import TenantSettings, read_keys
    from sfumato.server.tenancy.tenants import LOCAL

    if settings.keys is None:
        return {LOCAL: TenantSettings()}
    found = read_keys(settings.keys)
    if not found.digests:
        raise InputError(f"The keys file {settings.keys} holds no key. Make one with --new-key.")
    return {name: each for name, each in found.tenants.items() if each.protector is None}


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
