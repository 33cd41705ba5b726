"""The options of `sfumato card`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options.shared import AllowRemoteOption
from sfumato.cli.output import checked_output

__all__ = ["AllowRemoteOption"]

TargetArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[TARGET]",
        help="A protector's folder, or the address of a sealed collection.",
        show_default=False,
    ),
]
AuditOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="What `sfumato audit --json` wrote of it.")
]
SigningKeyOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The private key to sign with; see --new-key.")
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", metavar="FILE", help="The card; its page is FILE.html.", callback=checked_output
    ),
]
CandidatesOption = Annotated[
    int | None, typer.Option(help="How many terms the attacker holds for possible; default: the audit's.")
]
VerifyOption = Annotated[Path | None, typer.Option(metavar="CARD", help="Check this card.")]
PublicKeyOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="With --verify: the key of the one who should have signed."),
]
PageOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="With --verify: is this page made of the card?")
]
ProtectorOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="With --verify: is it of this protector, and certified so?")
]
StoreOption = Annotated[
    str | None, typer.Option(metavar="URL", help="With --verify: the same of a sealed collection.")
]
TextsOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The audited texts: their digest, or with --verify audit them again."),
]
OpeningOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="With --texts: what opens the digest of the texts.")
]
SearchesOption = Annotated[Path | None, typer.Option(metavar="FILE", help="With --texts: as in the audit.")]
UtilityOption = Annotated[Path | None, typer.Option(metavar="FILE", help="With --texts: as in the audit.")]
ToleranceOption = Annotated[
    float, typer.Option(help="With --texts: how far a share may be off on another machine.")
]
NewKeyOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Make a key pair: FILE to sign with, FILE.pub to check with.",
        callback=checked_output,
    ),
]
