"""The options of `sfumato learn`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import checked_output

OutOption = Annotated[
    Path,
    typer.Option("-o", "--out", metavar="DIR", help="Folder for the protector.", callback=checked_output),
]
ConceptOption = Annotated[list[str] | None, typer.Option(help="A concept of the catalog; may be repeated.")]
WideOption = Annotated[
    bool,
    typer.Option("--wide", help="Hide every capitalised word that is not common: few names are missed."),
]
TermsOption = Annotated[list[Path] | None, typer.Option(metavar="FILE", help="A file of terms, one a line.")]
SpansOption = Annotated[list[str] | None, typer.Option(metavar="LABEL", help="A label of the spans in IN.")]
RecallOption = Annotated[
    float | None,
    typer.Option(metavar="SHARE", help="Find this share of the labelled terms of --sample, such as 0.98."),
]
SampleOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="For --recall: labelled texts like those to protect.")
]
TruthSpansOption = Annotated[
    str | None,
    typer.Option(metavar="LABEL[,LABEL]", help="For --recall: which labels of --sample are the concept."),
]
ShapeOption = Annotated[str, typer.Option(help="ellipsoid (any direction) or mask (SPARSE, along axes).")]
EmbedderOption = Annotated[str, typer.Option(help="An encoder: a name of `sfumato embedders`, or a path.")]
KindOption = Annotated[str, typer.Option(help="How an ellipsoid follows the concept: sharp, water or blend.")]
StrengthOption = Annotated[
    float | None, typer.Option(help="How strongly it follows; sharp: 10, or 5 beside neutral texts.")
]
EpsilonOption = Annotated[float | None, typer.Option(help="Set the noise by epsilon.")]
NoiseRatioOption = Annotated[float | None, typer.Option(help="Set the noise by its length over a vector's.")]
NeutralOption = Annotated[
    int, typer.Option(help="Public terms that stand in for one that is found; 0 embeds texts as they are.")
]
NeutralByOption = Annotated[
    str,
    typer.Option(
        metavar="WAY",
        help="What stands in: removal (nothing), placeholder (a word), soft (one token: their mean), copies.",
    ),
]
OnlyMatchingOption = Annotated[
    bool, typer.Option(help="No noise for texts without the concept (which then shows).")
]
HidePresenceOption = Annotated[
    bool,
    typer.Option(help="Beside neutral texts: take out of every release what shows that they are neutral."),
]
HideContextOption = Annotated[
    int,
    typer.Option(
        help="Beside neutral texts: directions that foretell a term to take out, such as 32; costs use."
    ),
]
HideMissedOption = Annotated[
    int,
    typer.Option(help="Likewise for names that may be missed, of kinds that --concept names; such as 32."),
]
BackgroundOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Ordinary texts, or a saved background; default: those of IN without it."
    ),
]
OriginOption = Annotated[
    str, typer.Option(help="What IN is: public, synthetic, private or unknown; kept on record.")
]
LimitOption = Annotated[
    int, typer.Option(help="Most texts with a concept to learn from; fewer are, where they are enough.")
]
CacheOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep vectors of IN here for later runs. Default: beside DIR, until the protector is saved.",
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the protector that DIR already holds.")]
