"""Where a protector, its secret and its ledger are: what may be written down anywhere, and nothing secret.

One grammar for all who take such a place. A secret is in `env:NAME`, an environment variable, or in
`file:PATH`, a file; a path alone is the same as file:PATH. A ledger is a file: `file:PATH`, or a path alone.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from sfumato.accounting import Ledger, Secret
from sfumato.accounting.keys import may_be_key
from sfumato.accounting.ledger_file import Counting
from sfumato.embedders.base import Embedder
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.files import PathLike
from sfumato.protector import Protector
from sfumato.saving import load_protector

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,127}")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")  # of two letters and more: one is a drive of Windows
_UNWRITTEN = ("allow_remote",)
"""What a stranger could write down as well; the variable SFUMATO_ALLOW_REMOTE stands in for it."""


@dataclass(frozen=True, slots=True)
class ProtectorReference:
    """A protector's folder, and where its secret and ledger are.

    Args:
        folder: what `sfumato learn` or `save_protector` made.
        secret: where the secret for sticky noise is, "env:NAME" or "file:PATH"; never the secret itself.
        ledger: the ledger's file; it needs a secret.
        ceiling: the most the ledger lets one text spend.
        tenant: whose noise it is, as in the protector.
        collection: which collection's noise it is, as in the protector.
        digest: which protector it has to be; filled in when it is opened, and checked from then on.
        allow_remote: hosts to which its encoder may send texts; never written down.
        counting: how the ledger counts, as in `Ledger`.
        ceiling_advantage: the most that all releases of one text may tell, where it counts curves.
        distance: between the inputs that this is about, where the protector keeps none.
    """

    folder: str
    secret: str = ""
    ledger: str = ""
    ceiling: float | None = None
    tenant: str = ""
    collection: str = ""
    digest: str = ""
    allow_remote: tuple[str, ...] = ()
    counting: Counting = "own"
    ceiling_advantage: float | None = None
    distance: float | None = None

    def __post_init__(self) -> None:
        """Take paths as strings, and refuse what is no name and no place."""
        for name in ("folder", "secret", "ledger", "tenant", "collection", "digest"):
            value = getattr(self, name)
            value = os.fspath(value) if isinstance(value, os.PathLike) else value
            if not isinstance(value, str):
                raise ParameterError(f"`{name}` must be a string. Found {type(value).__name__}.")
            object.__setattr__(self, name, value)
        if isinstance(self.allow_remote, str):
            raise ParameterError("`allow_remote` must be a list of hosts. Found a single string.")
        object.__setattr__(self, "allow_remote", tuple(self.allow_remote))

    @classmethod
    def from_dict(cls, written: Mapping[str, Any]) -> ProtectorReference:
        """Read what `to_dict` wrote; consent to a remote encoder is never taken from there."""
        known = {each.name for each in fields(cls)}
        if "folder" not in written or not known.issuperset(written):
            raise ParameterError(
                "`protector` must hold a folder, and only what a ProtectorReference has. Found other keys."
            )
        return cls(**{name: value for name, value in written.items() if name not in _UNWRITTEN})

    def to_dict(self) -> dict[str, Any]:
        """Everything needed to open it again, ready for JSON."""
        written = {name: value for name, value in asdict(self).items() if name not in _UNWRITTEN}
        # Some keep vectors under what is written here: it stays what earlier versions wrote.
        for name, usual in (("counting", "own"), ("ceiling_advantage", None), ("distance", None)):
            if written[name] == usual:
                del written[name]
        return written

    def open(self, *, embedder: Embedder | str | None = None, create: bool = False) -> Protector:
        """Load the protector; the encoder waits until a text comes.

        Args:
            embedder: to use in the place of the one it names.
            create: whether a secret's file that is not there is made.
        """
        protector = load_protector(self.folder, embedder=embedder, allow_remote=self.allow_remote)
        if self.digest not in ("", identity(protector)):
            raise ArtifactError(
                f"The protector in {self.folder} must be the one this was made with, {self.digest[:12]}. "
                f"Found {identity(protector)[:12]}. Restore it, or fill a new collection with the new one."
            )
        return self.equip(protector, create=create)

    def equip(self, protector: Protector, *, create: bool = False) -> Protector:
        """Give a protector the secret, the ledger and the names that stand here."""
        secret = read_secret(self.secret, create=create) if self.secret else None
        ledger = None
        if self.ledger:
            ledger = open_ledger(
                self.ledger,
                secret,
                ceiling=self.ceiling,
                counting=self.counting,
                ceiling_advantage=self.ceiling_advantage,
                distance=self.distance,
            )
        return replace(
            protector, secret=secret, ledger=ledger, tenant=self.tenant, collection=self.collection
        )


Protected = Protector | ProtectorReference | PathLike | Mapping[str, Any]
"""What adapters and stores take: a protector, where one is, its folder, or what an adapter wrote down."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A protector ready for use, with where it is if it is kept anywhere."""

    protector: Protector
    reference: ProtectorReference | None

    def config(self) -> dict[str, Any]:
        """Everything needed to open it again, ready for JSON."""
        if self.reference is None:
            raise InputError(
                "A protector in memory cannot be written down here. Save it with "
                "sfumato.saving.save_protector and give its folder instead."
            )
        return self.reference.to_dict()


def open_protector(protected: Protected) -> Opened:
    """Turn whatever an adapter or a store was given into a protector."""
    if isinstance(protected, Protector):
        return Opened(protected, None)
    if isinstance(protected, ProtectorReference):
        reference = protected
    elif isinstance(protected, Mapping):
        reference = ProtectorReference.from_dict(protected)
    elif isinstance(protected, str | os.PathLike):
        reference = ProtectorReference(os.fspath(protected))
    else:
        raise ParameterError(
            "`protector` must be a Protector, a ProtectorReference or a folder. "
            f"Found {type(protected).__name__}."
        )
    protector = reference.open()
    return Opened(protector, replace(reference, digest=identity(protector)))


def identity(protector: Protector) -> str:
    """A digest of the encoder and of everything that decides what is released."""
    return hashlib.sha256(f"{model_of(protector)} {protector.settings_digest()}".encode()).hexdigest()


def model_of(protector: Protector) -> str:
    """The name of the encoder: exact where the protector was learned for one, else as it was given."""
    encoder = protector.embedder
    given = encoder if isinstance(encoder, str) or encoder is None else encoder.name
    return protector.learned.model_id or given or "vectors"


def read_secret(place: str, *, create: bool = False) -> Secret:
    """Read a secret from "env:NAME", "file:PATH" or a path; `create` makes a file that is not there."""
    kind, where = _split(place)
    if kind == "env":
        named = _VARIABLE.fullmatch(where) and (where in os.environ or not may_be_key(where))
        if not named:
            raise _no_place()
        return Secret.from_env(where)
    if not os.path.exists(where):
        stray = kind == "" and not (create and _is_new_file(where))
        if not where or stray or may_be_key(where):
            raise _no_place()
    return Secret.from_file(where, create=create)


def open_ledger(
    place: str,
    secret: Secret | None,
    *,
    ceiling: float | None = None,
    counting: Counting | None = "own",
    ceiling_advantage: float | None = None,
    distance: float | None = None,
) -> Ledger:
    """Open the ledger at "file:PATH" or a path, or make it.

    Args:
        place: where it is.
        secret: the one it was made with.
        ceiling: the most it lets one text spend.
        counting: how it counts; None for one that is there, adds up epsilons, and is to go on as it does.
        ceiling_advantage: the same for a ledger that counts curves, as in `Ledger`.
        distance: between the inputs that this is about.
    """
    if secret is None:
        raise InputError("A ledger needs a secret, so that it holds no texts. Name its place as well.")
    kind, where = _split(place)
    if kind == "env" or not where or (kind == "" and _SCHEME.match(where)):
        raise ParameterError(
            "`ledger` must say where the ledger is: file:PATH, or PATH alone. Found neither."
        )
    if counting is not None:
        return Ledger(
            where,
            secret=secret,
            ceiling=ceiling,
            metric=counting,
            ceiling_advantage=ceiling_advantage,
            distance=distance,
        )
    try:
        return Ledger(where, secret=secret, ceiling=ceiling, metric="own")
    except ArtifactError:
        return Ledger(where, secret=secret, ceiling=ceiling, metric="l2")


def place_given(place: str | None, name: str) -> str:
    """A place as a reference holds it, "" for None; what is empty by accident is refused."""
    if place == "":
        raise ParameterError(f"{name} must say where it is. Found nothing: leave it out for none.")
    return place or ""


def absolute_place(place: str) -> str:
    """The same place for a process that works in another folder."""
    kind, where = _split(place)
    return place if kind == "env" or not place else f"file:{Path(where).absolute()}"


def place_name(place: str) -> str:
    """The place without the folders it lies in."""
    kind, where = _split(place)
    return place if kind == "env" else Path(where).name


def _split(place: str) -> tuple[str, str]:
    """The kind of a place, "" for a path alone, and what it names."""
    kind, mark, where = place.partition(":")
    return (kind, where) if mark and kind in ("env", "file") else ("", place)


def _is_new_file(path: str) -> bool:
    """Whether a path alone may be that of a file to be made."""
    return not _SCHEME.match(path) and os.path.isdir(os.path.dirname(path) or ".")


def _no_place() -> ParameterError:
    # Not quoted: somebody may have put the secret itself here.
    return ParameterError(
        "`secret` must say where the secret is: env:NAME or file:PATH, or PATH alone. "
        "Found nothing to read there."
    )
