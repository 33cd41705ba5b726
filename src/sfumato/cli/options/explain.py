"""The options of `sfumato explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import checked_output

TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar="TARGET",
        help="A folder that `sfumato learn` made, or the address of a store (see: sfumato stores).",
        show_default=False,
    ),
]
CandidatesOption = Annotated[
    int, typer.Option(help="How many terms the attacker holds for possible, all alike likely.")
]
GuessOption = Annotated[
    float,
    typer.Option(
        help="Chance of a guess at anything else (whose text, an attribute, the words) without the vector."
    ),
]
DistanceOption = Annotated[
    float | None,
    typer.Option(help="Between two inputs, in the mechanism's metric, instead of those kept at learning."),
]
SampleOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Labelled texts, to see how often a term is missed.")
]
TruthSpansOption = Annotated[
    str | None,
    typer.Option(metavar="LABEL[,LABEL]", help="Which labels of --sample say what is sensitive."),
]
TrialsOption = Annotated[
    int, typer.Option(help="Releases that the informed attacker is tried on beside it; 0 for none.")
]
ProtectorOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="For a store: the protector that released its rows.")
]
SecretOption = Annotated[
    str | None,
    typer.Option(metavar="FILE|env:NAME", help="For a store: the key of sticky noise its rows have."),
]
TenantOption = Annotated[str, typer.Option(help="For a store: whose rows these are.")]
CollectionOption = Annotated[str, typer.Option(help="For a store: the collection of its sticky noise.")]
KeyOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="For a sealed store: its key, for other handles than multimap."),
]
StateOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="For a sealed store: the client's state, with --key.")
]
SvgOption = Annotated[
    Path | None,
    typer.Option("--svg", metavar="FILE", help="Draw the curve into FILE.", callback=checked_output),
]
