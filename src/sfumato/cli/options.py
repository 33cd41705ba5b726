"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.accounting import Ledger, Secret
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.inputs import read_terms
from sfumato.mechanisms import MECHANISMS, Mechanism

InputFile = Annotated[
    Path,
    typer.Argument(
        metavar="IN",
        help="Texts or vectors: .txt, .jsonl, .csv, .tsv, .parquet or .npy, also with .gz.",
        show_default=False,
    ),
]
SecretOption = Annotated[
    Path | None,
    typer.Option(
        "--secret", metavar="FILE", help="Key file for sticky noise (mode 0600; made if it is not there)."
    ),
]
LedgerOption = Annotated[
    Path | None,
    typer.Option("--ledger", metavar="FILE", help="Count what is spent on each text; needs --secret."),
]
AllowRemoteOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-remote", metavar="HOST", help="A server to which the protector's own encoder may send texts."
    ),
]


def named_concepts(
    concept: list[str] | None, terms: list[Path] | None, spans: list[str] | None
) -> list[Concept]:
    """What --concept, --terms and --spans ask for, in that order."""
    found = [Concept.named(name) for name in concept or []]
    found += [Concept.from_terms(path.name.partition(".")[0], read_terms(path)) for path in terms or []]
    found += [Concept.from_spans(label) for label in spans or []]
    if not found:
        raise InputError(
            "Say what to hide: --concept NAME, --terms FILE or --spans LABEL. See: sfumato concepts"
        )
    return found


def plain_kind(name: str) -> type[Mechanism]:
    """The class of a mechanism that needs nothing but a strength."""
    kind = MECHANISMS.get(name)
    if kind.needs_shape:
        raise InputError(f"{name} needs a learned shape. Make a protector with: sfumato learn")
    return kind


def open_secret(path: Path | None) -> Secret | None:
    """The secret in a file, made there on first use."""
    return None if path is None else Secret.from_file(path, create=True)


def open_ledger(path: Path | None, secret: Secret | None, ceiling: float | None) -> Ledger | None:
    """The ledger in a file."""
    if path is None:
        return None
    if secret is None:
        raise InputError("A ledger needs a secret, so that it holds no texts. Add --secret FILE.")
    return Ledger(path, secret=secret, ceiling=ceiling)
