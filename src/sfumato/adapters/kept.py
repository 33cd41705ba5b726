"""Where a protector is kept: what may be written into another system's configuration, and nothing secret."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import Any

from sfumato.accounting import Ledger, Secret
from sfumato.errors import ArtifactError, InputError, MissingPackageError, ParameterError
from sfumato.files import PathLike
from sfumato.protector import Protector
from sfumato.saving import load_protector


@dataclass(frozen=True, slots=True)
class Kept:
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
    """

    folder: str
    secret: str = ""
    ledger: str = ""
    ceiling: float | None = None
    tenant: str = ""
    collection: str = ""
    digest: str = ""
    allow_remote: tuple[str, ...] = ()

    def open(self) -> Protector:
        """Load the protector; the encoder waits until a text comes."""
        secret = read_secret(self.secret) if self.secret else None
        ledger = None
        if self.ledger:
            if secret is None:
                raise InputError("A ledger needs a secret, so that it holds no texts. Say where one is.")
            ledger = Ledger(self.ledger, secret=secret, ceiling=self.ceiling)
        protector = load_protector(self.folder, secret=secret, ledger=ledger, allow_remote=self.allow_remote)
        protector.tenant, protector.collection = self.tenant, self.collection
        if self.digest not in ("", identity(protector)):
            raise ArtifactError(
                f"The protector in {self.folder} must be the one this was made with, {self.digest[:12]}. "
                f"Found {identity(protector)[:12]}. Restore it, or fill a new collection with the new one."
            )
        return protector


_UNWRITTEN = ("allow_remote",)
"""What a stranger could write down as well; the variable SFUMATO_ALLOW_REMOTE stands in for it."""

Protected = Protector | Kept | PathLike | Mapping[str, Any]
"""What every adapter takes: a protector, where one is kept, its folder, or what an adapter wrote down."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A protector ready for use, with where it is kept if it is kept anywhere."""

    protector: Protector
    kept: Kept | None

    def config(self) -> dict[str, Any]:
        """Everything needed to open it again, ready for JSON."""
        if self.kept is None:
            raise InputError(
                "A protector in memory cannot be written down here. Save it with "
                "sfumato.saving.save_protector and give its folder instead."
            )
        return {name: value for name, value in asdict(self.kept).items() if name not in _UNWRITTEN}


def open_protector(protected: Protected) -> Opened:
    """Turn whatever an adapter was given into a protector."""
    if isinstance(protected, Protector):
        return Opened(protected, None)
    if isinstance(protected, Kept):
        kept = protected
    elif isinstance(protected, Mapping):
        try:
            kept = Kept(**{name: value for name, value in protected.items() if name not in _UNWRITTEN})
        except TypeError:
            raise ParameterError(
                "`protector` must hold a folder, and only what Kept has. Found other keys."
            ) from None
    elif isinstance(protected, str | os.PathLike):
        kept = Kept(os.fspath(protected))
    else:
        raise ParameterError(
            f"`protector` must be a Protector, a Kept or a folder. Found {type(protected).__name__}."
        )
    protector = kept.open()
    return Opened(protector, replace(kept, digest=identity(protector)))


def identity(protector: Protector) -> str:
    """A digest of the encoder and of everything that decides what is released."""
    return hashlib.sha256(f"{model_of(protector)} {protector.settings_digest()}".encode()).hexdigest()


def model_of(protector: Protector) -> str:
    """The name of the encoder: exact where the protector was learned for one, else as it was given."""
    encoder = protector.embedder
    given = encoder if isinstance(encoder, str) or encoder is None else encoder.name
    return str(protector.learned.get("model_id", given or "vectors"))


def read_secret(reference: str) -> Secret:
    """Read a secret from where "env:NAME" or "file:PATH" says it is."""
    kind, _, where = reference.partition(":")
    if kind not in _READERS or not where:
        # Not quoted: somebody may have put the secret itself here.
        raise ParameterError("`secret` must say where the secret is: env:NAME or file:PATH. Found neither.")
    return _READERS[kind](where)


_READERS: dict[str, Callable[[str], Secret]] = {"env": Secret.from_env, "file": Secret.from_file}


@contextmanager
def needs(package: str, extra: str) -> Iterator[None]:
    """Around the imports of a framework: say how to install it where it is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingPackageError(package, extra, "for this adapter") from error
