"""The options of `sfumato audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import checked_output

SourceArgument = Annotated[
    Path | None,
    typer.Argument(
        metavar="[IN]",
        help="Texts: .txt, .jsonl, .csv, .tsv or .parquet; --store may hold its own.",
        show_default=False,
    ),
]
ProtectorOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Audit what this protector releases.")
]
EmbeddingsOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Audit these vectors of the texts in IN, one a row.")
]
StoreOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Audit the vectors in this collection; see `sfumato stores`."),
]
TextFieldOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where the collection keeps its texts.")
]
IdColumnOption = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The ids in IN and in files of vectors, or of --store; default: `id`, if both.",
    ),
]
GroupColumnOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What a row belongs to, a person or a note: kept on one side."),
]
LabelColumnOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="A label of each text, a topic or a sex: the attack `attributes`."),
]
TagsColumnOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Tags that the store shows of each row: the attack `structure`."),
]
ConceptOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME", help="What is sensitive, a concept of the catalog; default: the protector's."
    ),
]
TermsOption = Annotated[
    list[Path] | None, typer.Option(metavar="FILE", help="The same: a file of terms, one a line.")
]
SpansOption = Annotated[
    list[str] | None, typer.Option(metavar="LABEL", help="The same: a label of the spans in IN.")
]
TruthSpansOption = Annotated[
    str | None,
    typer.Option(
        metavar="LABEL[,LABEL]",
        help="Labels of the spans in IN that are the truth; the protector finds by itself.",
    ),
]
SecretOption = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|env:NAME",
        help="The key of the protector's sticky noise, to ask it as others may.",
    ),
]
SuiteOption = Annotated[str, typer.Option(help="quick (minutes) or full (more of everything).")]
FailAboveOption = Annotated[
    float | None, typer.Option(help="Highest excess leakage that passes, such as 0.10.")
]
FailAbsoluteAboveOption = Annotated[
    float | None, typer.Option(help="Highest absolute leakage that passes, counted from a guess.")
]
WorstCaseOption = Annotated[
    bool, typer.Option("--worst-case", help="The attacker who knows all but the term counts, too.")
]
BaselinesOption = Annotated[bool, typer.Option("--baselines", help="Compare with other defences.")]
AttackOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Another attack of `sfumato attacks`, too.")
]
UtilityOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Pairs to keep alike: columns text, text2, score.")
]
SearchesOption = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Searches to keep: columns text, relevant (rows of IN)."),
]
CleanOption = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Clean vectors of the texts in IN; default: embedded.")
]
EmbedderOption = Annotated[str | None, typer.Option(help="The encoder; a protector knows its own.")]
RowsOption = Annotated[int | None, typer.Option(help="Most texts with the concept.")]
LimitOption = Annotated[int, typer.Option(help="Most texts read from IN.")]
SeedOption = Annotated[int, typer.Option(help="The same seed gives the same figures.")]
ShowTextsOption = Annotated[
    bool, typer.Option("--show-texts", help="Any text of IN may stand in the report and the JSON.")
]
SarifOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Write what code hosts show beside a change (SARIF 2.1.0).",
        dir_okay=False,
        callback=checked_output,
    ),
]
CompareOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="An earlier --json: fails if leakage grew by more than chance explains.",
        exists=True,
        dir_okay=False,
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--out",
        metavar="FILE",
        help="Write the report as one HTML page.",
        dir_okay=False,
        callback=checked_output,
    ),
]
