"""API keys: made once, kept as hashes, compared in constant time, and re-read when their file changes.

A key is 256 random bits, so a plain SHA-256 of it cannot be guessed back: a slow password hash would add
nothing but load.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sfumato.accounting.keys import require_private
from sfumato.errors import InputError
from sfumato.files import write_atomic

TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LARGEST = 1 << 24
_VERSION = 1


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """What one tenant has of its own; None means what the gateway has."""

    protector: Path | None = None
    ceiling: float | None = None


@dataclass(frozen=True, slots=True, repr=False)
class KeyFile:
    """What a keys file holds."""

    digests: tuple[tuple[bytes, str], ...]
    """SHA-256 of each key, and whose it is."""
    tenants: Mapping[str, TenantSettings]


class KeyRing:
    """The keys of a file, followed while the gateway runs: a key that is taken out stops working."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = self._mark()
        self._file = read_keys(path)

    def tenant_of(self, key: str) -> str | None:
        """Whose key it is; every stored key is compared, whichever one fits."""
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
        found: str | None = None
        for stored, tenant in self.file.digests:
            if hmac.compare_digest(stored, digest):
                found = tenant
        return found

    @property
    def file(self) -> KeyFile:
        """What the file holds now; while it cannot be read, what it held last."""
        mark = self._mark()
        if mark != self._seen:
            try:
                self._file = read_keys(self.path)
            except InputError:
                return self._file
            self._seen = mark
        return self._file

    def _mark(self) -> tuple[int, int, int]:
        try:
            found = os.stat(self.path)
        except OSError:
            return (0, 0, 0)
        return (found.st_mtime_ns, found.st_size, found.st_ino)


def new_key(path: Path, tenant: str, *, protector: Path | None = None, ceiling: float | None = None) -> str:
    """Add a key for a tenant and return it: this is the only time that it can be seen."""
    if not TENANT.fullmatch(tenant):
        raise InputError(
            "A tenant's name must be up to 64 small letters, digits, dashes and underscores. "
            f"Found {tenant!r:.70}."
        )
    empty: dict[str, Any] = {"version": _VERSION, "tenants": {}, "keys": []}
    held = _load(path) if path.exists() else empty
    own = dict(held["tenants"].get(tenant, {}))
    if protector is not None:
        own["protector"] = str(protector.resolve())
    if ceiling is not None:
        own["ceiling"] = ceiling
    key = "sfm-" + secrets.token_urlsafe(32)
    digest = hashlib.sha256(key.encode()).hexdigest()
    made = datetime.now(timezone.utc).isoformat(timespec="seconds")
    entry = {"tenant": tenant, "id": digest[:8], "sha256": digest, "made": made}
    changed = {**held, "tenants": {**held["tenants"], tenant: own}, "keys": [*held["keys"], entry]}
    _checked(changed, path)
    write_atomic(path, (json.dumps(changed, indent=2) + "\n").encode(), permissions=0o600)
    return key


def read_keys(path: Path) -> KeyFile:
    """Read a keys file that its owner alone may read."""
    return _checked(_load(path), path)


def _load(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            require_private(os.fstat(file.fileno()), path)
            found = json.loads(file.read(_LARGEST))
    except OSError as error:
        raise InputError(f"The keys file {path} cannot be read: {error.strerror}.") from None
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"The keys file {path} is not JSON. Make it with --new-key.") from None
    if not isinstance(found, dict) or found.get("version") != _VERSION:
        raise InputError(f"The keys file {path} is not one of this version. Make it with --new-key.")
    return found


def _checked(held: dict[str, Any], path: Path) -> KeyFile:
    try:
        digests = tuple((bytes.fromhex(each["sha256"]), str(each["tenant"])) for each in held["keys"])
        tenants = {
            str(name): TenantSettings(
                Path(own["protector"]) if own.get("protector") else None,
                float(own["ceiling"]) if own.get("ceiling") is not None else None,
            )
            for name, own in held["tenants"].items()
        }
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(
            f"The keys file {path} holds something it should not. Make it with --new-key."
        ) from None
    wrong = any(len(digest) != 32 or not TENANT.fullmatch(name) for digest, name in digests)
    if wrong or not all(TENANT.fullmatch(name) for name in tenants):
        raise InputError(f"The keys file {path} has a bad digest or tenant's name. Make it with --new-key.")
    if not all(own.ceiling is None or 0 < own.ceiling < 1e12 for own in tenants.values()):
        raise InputError(f"The keys file {path} has a ceiling that is not over 0.")
    return KeyFile(digests, tenants)
