"""A protector in a form that may travel to another process or machine: public parameters, and no key.

The secret never travels: each worker reads it again, from a file or a variable of its own machine.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from sfumato.accounting import Ledger, Secret
from sfumato.embedders.loader import remote_address
from sfumato.errors import InputError
from sfumato.protector import Protector
from sfumato.saving import load_protector, save_protector

ENVIRONMENT = "env:"


def read_secret(place: str) -> Secret:
    """Read a secret from a file, or from the variable NAME when `place` is `env:NAME`."""
    if place.startswith(ENVIRONMENT):
        return Secret.from_env(place.removeprefix(ENVIRONMENT))
    return Secret.from_file(place)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a worker needs to make a protector of its own."""

    files: tuple[tuple[str, bytes], ...]
    """The saved protector: names and contents."""
    digest: str
    secret: str | None = None
    """Where the secret is: a path, or `env:NAME`."""
    ledger: str | None = None
    ceiling: float | None = None
    tenant: str = ""
    collection: str = ""
    remote: tuple[str, ...] = ()
    """The host that its encoder sends texts to, which whoever packed it allowed."""

    @classmethod
    def of(
        cls,
        protector: Protector,
        *,
        secret: str | None = None,
        ledger: str | None = None,
        ceiling: float | None = None,
    ) -> Recipe:
        """Pack a protector; the secret and the ledger are named by where they are."""
        if (protector.secret is not None and secret is None) or protector.ledger is not None:
            raise InputError("A secret and a ledger do not travel. Name their files in secret= and ledger=.")
        if ledger is not None and secret is None:
            raise InputError("A ledger needs a secret, so that it holds no texts. Name both.")
        with tempfile.TemporaryDirectory(prefix="sfumato-") as place:
            folder = Path(place, "protector")
            save_protector(protector, folder)
            files = tuple((path.name, path.read_bytes()) for path in sorted(folder.iterdir()))
        names = {"tenant": protector.tenant, "collection": protector.collection}
        remote = _remote(protector)
        made = cls(files, protector.settings_digest(), secret, ledger, ceiling, remote=remote, **names)
        if made.open().settings_digest() != made.digest:
            raise InputError("The protector does not come back the same after saving. It cannot travel.")
        return made

    def open(self) -> Protector:
        """Make the protector."""
        with tempfile.TemporaryDirectory(prefix="sfumato-") as place:
            folder = Path(place, "protector")
            folder.mkdir()
            for name, content in self.files:
                (folder / name).write_bytes(content)
            made = load_protector(folder, allow_remote=self.remote)
        secret = None if self.secret is None else read_secret(self.secret)
        ledger = None
        if self.ledger is not None and secret is not None:
            ledger = Ledger(self.ledger, secret=secret, ceiling=self.ceiling)
        return replace(made, secret=secret, ledger=ledger, tenant=self.tenant, collection=self.collection)


def _remote(protector: Protector) -> tuple[str, ...]:
    named = protector.embedder
    address = None if named is None else remote_address(named if isinstance(named, str) else named.name)
    return () if address is None else (urlsplit(address).hostname or "",)
