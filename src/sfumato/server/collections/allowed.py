"""Which sealed collections a gateway serves: a file of the operator's, tenant by tenant.

A name in a request is looked up here and nowhere else: it never becomes an address or a path.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.accounting.keys import read_private
from sfumato.embedders.loader import refuse_remote
from sfumato.errors import InputError
from sfumato.numbers import whole_number
from sfumato.server.settings import GatewaySettings
from sfumato.server.tenancy.keys import TENANT
from sfumato.server.tenancy.tenants import UPSTREAM
from sfumato.stores.address import parse_address
from sfumato.stores.opening import STORES

_LARGEST = 1 << 20
_VERSION = 1
_KNOWN = {"store", "key", "state", "embedder", "buffer"}
_WHAT = "collections file"


@dataclass(frozen=True, slots=True)
class AllowedCollection:
    """One collection of one tenant, as the operator wrote it down."""

    tenant: str
    name: str
    store: str = field(repr=False)
    """The store's address, which may hold a password."""
    key: Path
    state: Path
    own_key: bool
    """Whether the key is in the gateway's own folder, where it is made if there is none."""
    embedder: str
    """Empty for the gateway's own encoder."""
    buffer: int = 0

    @property
    def on_this_machine(self) -> bool:
        """Whether the store is files, which one process opens at a time."""
        return not parse_address(self.store).is_server


Allowed = Mapping[tuple[str, str], AllowedCollection]
"""Collections by tenant and name."""


def read_allowed(settings: GatewaySettings) -> Allowed:
    """Read the collections file, which its owner alone may read, and check all of it."""
    if settings.collections is None:
        return {}
    path = settings.collections
    tenants = _tenants(path)
    found = {}
    for tenant, own in tenants.items():
        if not TENANT.fullmatch(tenant) or not isinstance(own, dict):
            raise InputError(
                f"The {_WHAT} {path} must hold tenants' names and their collections. Found something else."
            )
        for name, entry in own.items():
            if not TENANT.fullmatch(name):
                raise InputError(
                    f"A collection's name in {path} must be up to 64 small letters, digits, dashes and "
                    f"underscores. Found {name!r:.70}."
                )
            found[tenant, name] = _entry(tenant, name, entry, settings)
    _refuse_shared(found.values(), path)
    return found


def _tenants(path: Path) -> dict[str, Any]:
    content, _ = read_private(path, _LARGEST, _WHAT)
    try:
        held = json.loads(content)
    except (ValueError, RecursionError):  # from None: a decode error carries the file, and so passwords
        held = None
    if not isinstance(held, dict) or held.get("version") != _VERSION or set(held) != {"version", "tenants"}:
        raise InputError(
            f'The {_WHAT} {path} must be JSON: {{"version": {_VERSION}, "tenants": {{…}}}}. Found something '
            "else."
        )
    if not isinstance(held["tenants"], dict):
        raise InputError(f"`tenants` in the {_WHAT} {path} must be an object. Found something else.")
    return dict(held["tenants"])


def _entry(tenant: str, name: str, entry: Any, settings: GatewaySettings) -> AllowedCollection:
    where = f"The collection {name!r} of {tenant!r} in {settings.collections}"
    if not isinstance(entry, dict) or not set(entry) <= _KNOWN or not isinstance(entry.get("store"), str):
        raise InputError(f"{where} must have a `store`, and of others only {', '.join(sorted(_KNOWN))}.")
    for given in ("key", "state", "embedder"):
        if not isinstance(entry.get(given, ""), str):
            raise InputError(f"`{given}` must be text. {where} has something else.")
    if ("key" in entry) != ("state" in entry):
        raise InputError(f"{where} must name both `key` and `state`, or neither for the gateway's own.")
    address = parse_address(entry["store"])
    if not address.place:
        raise InputError(f"{where} must be kept somewhere. Found memory: without a folder.")
    STORES.get(address.store)  # says what to install before anybody asks
    embedder = entry.get("embedder", "")
    if settings.upstream and not embedder:
        raise InputError(
            f"{where} must say what embeds its texts, since an upstream would see them: "
            f'"embedder": "{UPSTREAM}", or one on this machine.'
        )
    if embedder == UPSTREAM and not settings.upstream:
        raise InputError(f"{where} asks for an upstream. Name one with --upstream.")
    refuse_remote(embedder, settings.allow_remote.split(","))
    own = settings.state / "sealed" / tenant
    return AllowedCollection(
        tenant,
        name,
        entry["store"],
        Path(entry.get("key") or own / "key"),
        Path(entry.get("state") or own / "collections" / name),
        "key" not in entry,
        embedder,
        whole_number(entry.get("buffer", 0), "buffer", 0, 10**6),
    )


def _refuse_shared(found: Any, path: Path) -> None:
    """Refuse what two would share: a store's collection or a state, and a key that is two tenants'."""
    places: dict[Any, AllowedCollection] = {}
    for each in found:
        address = parse_address(each.store)
        place = address.place if address.is_server else str(Path(address.place).resolve())
        whole = None if address.store in ("memory", "faiss") else address.collection
        for what, taken in (
            ("a store's collection", ("store", address.store, place, whole)),
            ("a state", ("state", each.state.resolve())),
        ):
            if taken in places:
                raise InputError(
                    f"Two collections in {path} must not share {what}. Found {places[taken].name!r} of "
                    f"{places[taken].tenant!r} and {each.name!r} of {each.tenant!r}."
                )
            places[taken] = each
        key = ("key", each.key.resolve())
        if places.setdefault(key, each).tenant != each.tenant:
            raise InputError(
                f"Every tenant in {path} must have a key of its own. Found one key for "
                f"{places[key].tenant!r} and {each.tenant!r}."
            )


def names_of(allowed: Allowed, tenant: str) -> Iterator[str]:
    """The names of a tenant's collections."""
    return (name for owner, name in allowed if owner == tenant)
