"""A protector in a form that may travel to another process or machine: public parameters, and no key.

The secret never travels: each worker reads it again, from a file or a variable of its own machine.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from sfumato.accounting.ledger_file import Counting
from sfumato.embedders.loader import remote_address
from sfumato.errors import InputError
from sfumato.protector import Protector
from sfumato.reference import ProtectorReference, place_given
from sfumato.saving import save_protector


@dataclass(frozen=True, slots=True)
class PortableProtector:
    """What a worker needs to make a protector of its own."""

    files: tuple[tuple[str, bytes], ...]
    """The saved protector: names and contents."""
    digest: str
    reference: ProtectorReference
    """Where the rest is, and consent to the encoder; the folder is made anew from the files."""
    embeds: bool
    """Whether it has an encoder for texts."""

    @classmethod
    def of(
        cls,
        protector: Protector,
        *,
        secret: str | None = None,
        ledger: str | None = None,
        ceiling: float | None = None,
        counting: Counting = "own",
        ceiling_advantage: float | None = None,
        distance: float | None = None,
    ) -> PortableProtector:
        """Pack a protector; the secret and the ledger are named by where they are (`sfumato.reference`)."""
        if (protector.secret is not None and secret is None) or protector.ledger is not None:
            raise InputError("A secret and a ledger do not travel. Name their files in secret= and ledger=.")
        with tempfile.TemporaryDirectory(prefix="sfumato-") as place:
            folder = Path(place, "protector")
            save_protector(protector, folder)
            files = tuple((path.name, path.read_bytes()) for path in sorted(folder.iterdir()))
        reference = ProtectorReference(
            folder="",
            secret=place_given(secret, "`secret`"),
            ledger=place_given(ledger, "`ledger`"),
            ceiling=ceiling,
            counting=counting,
            ceiling_advantage=ceiling_advantage,
            distance=distance,
            tenant=protector.tenant,
            collection=protector.collection,
            allow_remote=_remote(protector),
        )
        made = cls(files, protector.settings_digest(), reference, protector.embedder is not None)
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
            return replace(self.reference, folder=str(folder)).open()


def _remote(protector: Protector) -> tuple[str, ...]:
    """The host that its encoder sends texts to, which whoever packs it allowed."""
    named = protector.embedder
    address = None if named is None else remote_address(named if isinstance(named, str) else named.name)
    return () if address is None else (urlsplit(address).hostname or "",)
