"""Where a sealed collection, its key and its state are: what may be written down, and nothing secret."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from sfumato.embedders.loader import load_embedder
from sfumato.errors import InputError, ParameterError
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.store import SealedStore
from sfumato.stores.address import parse_address
from sfumato.stores.opening import open_store

_UNWRITTEN = ("allow_remote",)
"""What a stranger could write down as well; the variable SFUMATO_ALLOW_REMOTE stands in for it."""


@dataclass(frozen=True, slots=True, repr=False)
class SealedReference:
    """A sealed collection's address, and where its key and state are.

    Args:
        url: the store, as `sfumato stores` lists them.
        key: the file of the key; never the key itself.
        folder: the client's state.
        tenant: whose rows these are.
        embedder: what embeds texts, by name; empty for the one that the collection was sealed with.
        allow_remote: hosts to which that may send texts; never written down.
    """

    url: str
    key: str
    folder: str
    tenant: str = ""
    embedder: str = ""
    allow_remote: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Take paths as strings, and refuse what is no string."""
        for name in ("url", "key", "folder", "tenant", "embedder"):
            value = getattr(self, name)
            value = os.fspath(value) if isinstance(value, os.PathLike) else value
            if not isinstance(value, str):
                raise ParameterError(f"`{name}` must be a string. Found {type(value).__name__}.")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "allow_remote", tuple(self.allow_remote))
        parse_address(self.url)

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> SealedReference:
        """Read what `to_dict` wrote; consent to a remote encoder is never taken from there."""
        known = {each.name for each in fields(cls)}
        if not {"url", "key", "folder"} <= set(written) <= known:
            raise ParameterError(
                "A sealed collection is written down as url, key and folder, and what else a "
                "SealedReference has. Found other keys."
            )
        return cls(**{name: value for name, value in written.items() if name not in _UNWRITTEN})

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to open it again, ready for JSON; an address with a password is refused."""
        if holds_password(self.url):
            raise InputError(
                f"The address of {parse_address(self.url).label} holds a password, which is not written "
                "down. Put it where Postgres looks for it: PGPASSWORD or ~/.pgpass."
            )
        SealingKey.load(self.key)  # a key in the place of its file is refused before it is written
        return {name: value for name, value in asdict(self).items() if name not in _UNWRITTEN}

    def open(self) -> SealedStore:
        """Open the collection; its state is made where there is none, its key never."""
        key = SealingKey.load(self.key)
        encoder = load_embedder(self.embedder, allow_remote=self.allow_remote) if self.embedder else None
        store = open_store(self.url)
        try:
            return SealedStore(store, key=key, folder=self.folder, embedder=encoder, tenant=self.tenant)
        except BaseException:
            store.close()
            raise

    def __repr__(self) -> str:
        """Where it is, without a password."""
        return f"SealedReference({parse_address(self.url).label})"


def holds_password(url: str) -> bool:
    """Whether an address has a password in it."""
    place = parse_address(url).place
    parts = urlsplit(place) if "://" in place else None
    if parts is None:
        return False
    return parts.password is not None or any("password" in name for name, _ in parse_qsl(parts.query))
