"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.concepts.concept import Concept
from sfumato.errors import InputError
from sfumato.inputs import ColumnNames, read_terms
from sfumato.mechanisms import MECHANISMS, Mechanism
from sfumato.reference import ProtectorReference, place_given

InputFile = Annotated[
    Path,
    typer.Argument(
        metavar="IN",
        help="Texts or vectors: .txt, .jsonl, .csv, .tsv, .parquet or .npy, also with .gz.",
        show_default=False,
    ),
]
TextColumnOption = Annotated[
    str | None,
    typer.Option("--text-column", metavar="NAME", help="The column of texts in files; `text` if not said."),
]
VectorColumnOption = Annotated[
    str | None,
    typer.Option(
        "--vector-column", metavar="NAME", help="The column of vectors in files; `embedding` if not said."
    ),
]
MaxNormOption = Annotated[
    float | None,
    typer.Option(
        "--max-norm", metavar="R", help="With --mechanism: the longest vector there is; 1 if not said."
    ),
]
SecretOption = Annotated[
    str | None,
    typer.Option(
        "--secret",
        metavar="FILE|env:NAME",
        help="Where the key of sticky noise is; a file (mode 0600) that is not there is made.",
    ),
]
LedgerOption = Annotated[
    str | None,
    typer.Option("--ledger", metavar="FILE", help="Count what is spent on each text; needs --secret."),
]
AccountingOption = Annotated[
    str | None,
    typer.Option(
        metavar="sum|curve",
        help="How the ledger counts: sum adds epsilons up; curve says what all releases tell together.",
    ),
]
CeilingAdvantageOption = Annotated[
    float | None,
    typer.Option(
        help="Most that all releases of a text may tell of two terms: 0.3 is 30 % better than a coin; curve."
    ),
]
LedgerDistanceOption = Annotated[
    float | None,
    typer.Option(
        "--distance",
        help="Between these two, in the mechanism's metric; that of the worst pair learned if left out.",
    ),
]
AllowRemoteOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-remote", metavar="HOST", help="A server to which the protector's own encoder may send texts."
    ),
]


def named_concepts(
    concept: list[str] | None, terms: list[Path] | None, spans: list[str] | None, *, wide: bool = False
) -> list[Concept]:
    """What --concept, --terms and --spans ask for, in that order; `wide` is about the first."""
    if wide and not concept:
        raise InputError("--wide is about names of the catalog. Name one with --concept, or leave it out.")
    found = [Concept.named(name, wide=wide) for name in concept or []]
    found += [Concept.from_terms(path.name.partition(".")[0], read_terms(path)) for path in terms or []]
    found += [Concept.from_spans(label) for label in spans or []]
    if not found:
        raise InputError(
            "Say what to hide: --concept NAME, --terms FILE or --spans LABEL. See: sfumato concepts"
        )
    return found


def column_names(text: str | None = None, vector: str | None = None) -> ColumnNames:
    """What --text-column and --vector-column say."""
    usual = ColumnNames()
    return ColumnNames(usual.text if text is None else text, usual.vector if vector is None else vector)


def bound_given(max_norm: float | None, mechanism: str | None) -> float | None:
    """What --max-norm says, which only a plain mechanism can be told."""
    if max_norm is not None and mechanism is None:
        raise InputError(
            "--max-norm is for --mechanism: a protector is made for vectors of length 1. Scale the vectors."
        )
    return max_norm


def plain_kind(name: str) -> type[Mechanism]:
    """The class of a mechanism that needs nothing but a strength."""
    kind = MECHANISMS.get(name)
    if kind.needs_shape:
        raise InputError(f"{name} needs a learned shape. Make a protector with: sfumato learn")
    return kind


def reference(
    folder: Path | None,
    *,
    secret: str | None = None,
    ledger: str | None = None,
    ceiling: float | None = None,
    tenant: str = "",
    collection: str = "",
    allow_remote: list[str] | None = None,
    accounting: str | None = None,
    ceiling_advantage: float | None = None,
    distance: float | None = None,
) -> ProtectorReference:
    """What --protector, --secret, --ledger and the like name together."""
    curve = counts_curves(accounting, ceiling, ceiling_advantage, distance)
    if ledger is None and (curve or accounting is not None):
        raise InputError("--accounting and its ceiling are about a ledger. Name its file with --ledger.")
    return ProtectorReference(
        folder="" if folder is None else str(folder),
        secret=place_given(secret, "--secret"),
        ledger=place_given(ledger, "--ledger"),
        ceiling=ceiling,
        tenant=tenant,
        collection=collection,
        allow_remote=tuple(allow_remote or ()),
        counting="curve" if curve else "own",
        ceiling_advantage=ceiling_advantage,
        distance=distance,
    )


def counts_curves(
    accounting: str | None, ceiling: float | None, ceiling_advantage: float | None, distance: float | None
) -> bool:
    """Whether --accounting, or a ceiling that only makes sense with it, asks for curves."""
    if accounting not in (None, "sum", "curve"):
        raise InputError(f"--accounting must be sum or curve. Found {accounting!r:.40}.")
    curve = accounting == "curve" or (accounting is None and ceiling_advantage is not None)
    if curve and ceiling is not None:
        raise InputError(
            "--ceiling adds epsilons up, and curves are counted here. Give --ceiling-advantage in its place."
        )
    if not curve and (ceiling_advantage is not None or distance is not None):
        raise InputError(
            "--ceiling-advantage and --distance are for --accounting curve. Say so, or drop them."
        )
    return curve
