"""API keys: made once, kept as hashes, compared in constant time, and re-read when their file changes.

A key is 256 random bits, so a plain SHA-256 of it cannot be guessed back: a slow password hash would add
nothing but load.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from sfumato.accounting.keys import require_private
from sfumato.errors import InputError
from sfumato.files import write_atomic
from sfumato.server.http.logs import tell
from sfumato.server.settings import CLEAN_UNDER_CEILING

TENANT = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_LARGEST = 1 << 24
_VERSION = 1


@dataclass(frozen=True, slots=True)
class TenantSettings:
    """What one tenant has of its own; None means what the gateway has."""

    protector: Path | None = None
    ceiling: float | None = None
    ceiling_advantage: float | None = None
    clean_queries: bool | None = None


@dataclass(frozen=True, slots=True, repr=False)
class KeyFile:
    """What a keys file holds."""

    digests: tuple[tuple[bytes, str], ...]
    """SHA-256 of each key, and whose it is."""
    tenants: Mapping[str, TenantSettings]


_NONE = KeyFile((), {})


class KeyRing:
    """The keys of a file, followed while the gateway runs: a key that is taken out stops working.

    A file that is gone, open to others or damaged is told of at once. The keys it last held go on working for
    `grace` seconds, but for those that it no longer names; then none does until there is a good file again.
    """

    def __init__(
        self, path: Path, *, grace: float = 30.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.path, self._grace, self._clock = path, grace, clock
        self._lock = threading.Lock()
        self._seen = self._mark()
        self._file = read_keys(path)
        self._bad_since: float | None = None
        self._tried = 0.0

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
        """What the file holds now; while it cannot be used, what it held last, and in the end nothing."""
        with self._lock:
            mark, now = self._mark(), self._clock()
            # A bad file is tried again now and then: it may have been read in the middle of a write.
            if mark != self._seen or (self._bad_since is not None and now - self._tried >= 1.0):
                self._tried = now
                self._read_again(changed=mark != self._seen)
                self._seen = mark
            if self._bad_since is not None and now - self._bad_since >= self._grace:
                return _NONE
            return self._file

    @property
    def closed(self) -> bool:
        """Whether no key is accepted, because the file could not be used for too long."""
        return self.file is _NONE

    def _read_again(self, *, changed: bool) -> None:
        try:
            self._file = read_keys(self.path)
        except InputError as error:
            if self._bad_since is None:
                self._bad_since = self._clock()
            left = max(0.0, self._bad_since + self._grace - self._clock())
            if changed:
                tell("keys file unusable", logging.ERROR, reason=str(error), closed_in=round(left, 1))
            named = _named(self.path)
            if named is not None:
                kept = tuple((digest, tenant) for digest, tenant in self._file.digests if digest in named)
                self._file = KeyFile(kept, self._file.tenants)
        else:
            if self._bad_since is not None:
                tell("keys file usable again", keys=len(self._file.digests))
            self._bad_since = None

    def _mark(self) -> tuple[int, ...]:
        try:
            found = os.stat(self.path)
        except OSError:
            return ()
        return (
            found.st_mtime_ns,
            found.st_ctime_ns,
            found.st_size,
            found.st_ino,
            found.st_mode,
            found.st_uid,
        )


def new_key(
    path: Path,
    tenant: str,
    *,
    protector: Path | None = None,
    ceiling: float | None = None,
    ceiling_advantage: float | None = None,
    clean_queries: bool | None = None,
) -> str:
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
    given = {"ceiling": ceiling, "ceiling_advantage": ceiling_advantage, "clean_queries": clean_queries}
    own |= {name: value for name, value in given.items() if value is not None}
    key = "sfm-" + secrets.token_urlsafe(32)
    digest = hashlib.sha256(key.encode()).hexdigest()
    made = datetime.now(timezone.utc).isoformat(timespec="seconds")
    entry = {"tenant": tenant, "id": digest[:8], "sha256": digest, "made": made}
    changed = {**held, "tenants": {**held["tenants"], tenant: own}, "keys": [*held["keys"], entry]}
    _checked(changed, path)
    write_atomic(path, (json.dumps(changed, indent=2) + "\n").encode(), permissions=0o600)
    return key


def revoke(path: Path, tenant: str) -> int:
    """Take all keys of a tenant out and return how many those were; its ceiling and protector stay."""
    held = _load(path)
    _checked(held, path)
    kept = [entry for entry in held["keys"] if entry["tenant"] != tenant]
    if len(kept) == len(held["keys"]):
        raise InputError(f"The keys file {path} holds no key of {tenant!r:.70}. Check the tenant's name.")
    changed = {**held, "keys": kept}
    write_atomic(path, (json.dumps(changed, indent=2) + "\n").encode(), permissions=0o600)
    return len(held["keys"]) - len(kept)


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


def _named(path: Path) -> frozenset[bytes] | None:
    """The digests that a file names which must not be trusted: good enough to take keys away by."""
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_LARGEST))
        return frozenset(bytes.fromhex(entry["sha256"]) for entry in found["keys"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _checked(held: dict[str, Any], path: Path) -> KeyFile:
    try:
        digests = tuple((bytes.fromhex(each["sha256"]), str(each["tenant"])) for each in held["keys"])
        tenants = {str(name): _settings(own) for name, own in held["tenants"].items()}
    except (KeyError, TypeError, ValueError, AttributeError):
        raise InputError(
            f"The keys file {path} holds something it should not. Make it with --new-key."
        ) from None
    wrong = any(len(digest) != 32 or not TENANT.fullmatch(name) for digest, name in digests)
    if wrong or not all(TENANT.fullmatch(name) for name in tenants):
        raise InputError(f"The keys file {path} has a bad digest or tenant's name. Make it with --new-key.")
    if not all(own.ceiling is None or 0 < own.ceiling < 1e12 for own in tenants.values()):
        raise InputError(f"The keys file {path} has a ceiling that is not over 0.")
    if not all(own.ceiling_advantage is None or 0 < own.ceiling_advantage < 1 for own in tenants.values()):
        raise InputError(f"The keys file {path} has a ceiling of advantage that is not between 0 and 1.")
    for own in tenants.values():
        if own.clean_queries and (own.ceiling is not None or own.ceiling_advantage is not None):
            raise InputError(f"A tenant in {path} has clean queries, which {CLEAN_UNDER_CEILING}")
    return KeyFile(digests, tenants)


def _settings(own: dict[str, Any]) -> TenantSettings:
    clean = own.get("clean_queries")
    if not isinstance(clean, bool | None):
        raise TypeError("neither true nor false")
    return TenantSettings(
        Path(own["protector"]) if own.get("protector") else None,
        None if own.get("ceiling") is None else float(own["ceiling"]),
        None if own.get("ceiling_advantage") is None else float(own["ceiling_advantage"]),
        clean,
    )
