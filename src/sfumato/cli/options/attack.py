"""The options of `sfumato attack`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import checked_output

AttackOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="An attack of `sfumato attacks`; or --all.")
]
AllOption = Annotated[
    bool, typer.Option("--all", help="Every attack that fits, the cheap and strong ones first.")
]
MinutesOption = Annotated[float, typer.Option(metavar="M", help="With --all: the time there is.")]
TextsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The texts behind the vectors in IN, a row each.")
]
LabelsOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="A label of each text, for the attack `attributes`.")
]
TrainOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="The attacker's own texts; default: half of those in IN."),
]
EmbeddingsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Somebody else's released vectors of the texts in IN.")
]
ProtectorOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="What the vectors are released through.")
]
MechanismOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="The same, a mechanism of `sfumato mechanisms`.")
]
EpsilonOption = Annotated[float | None, typer.Option(help="Its noise, by epsilon.")]
NoiseRatioOption = Annotated[float | None, typer.Option(help="Its noise, by length over a vector's.")]
EmbedderOption = Annotated[str | None, typer.Option(help="The victim's encoder.")]
ConceptOption = Annotated[str | None, typer.Option(help="A concept of the catalog to look for.")]
TermsOption = Annotated[Path | None, typer.Option(metavar="FILE", help="Terms to look for, one a line.")]
SpansOption = Annotated[
    str | None, typer.Option(metavar="LABEL", help="The same: a label of the spans in the files of texts.")
]
IdColumnOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The ids that join texts and vectors of two files; else row by row."),
]
StepsOption = Annotated[int | None, typer.Option(help="Correction steps, for attacks that have them.")]
BeamOption = Annotated[int | None, typer.Option(help="Beam width, for attacks that have one.")]
SettingOption = Annotated[
    list[str] | None, typer.Option("--set", metavar="NAME=VALUE", help="Any setting of the attack.")
]
LimitOption = Annotated[int, typer.Option(help="Most rows read from a file.")]
SeedOption = Annotated[int, typer.Option(help="Makes the split and the training repeatable.")]
ControlOption = Annotated[
    bool, typer.Option(help="Fit the attack to clean vectors as well, to prove that it works.")
]
SaveOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Keep the fitted attack.", callback=checked_output)
]
ForceOption = Annotated[bool, typer.Option("--force", help="With --save: replace what DIR already holds.")]
LoadOption = Annotated[Path | None, typer.Option(metavar="DIR", help="Use a fitted attack.")]
ShowOption = Annotated[
    int, typer.Option(metavar="N", help="Print N rows, of those the file marks as showable.")
]
ShowTextsOption = Annotated[
    bool, typer.Option(help="With --show: every row may be printed. With --all: ten rows are.")
]
