"""The options of `sfumato protect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import checked_output

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="IN",
        help="Texts or vectors: .txt, .jsonl, .csv, .tsv, .parquet or .npy, or a folder of Parquet "
        "files, also by address (s3://...).",
        show_default=False,
    ),
]
OutOption = Annotated[
    str,
    typer.Option(
        "-o",
        "--out",
        metavar="OUT",
        help="Where to: .parquet, .npy, or a folder for a folder.",
        callback=checked_output,
    ),
]
ProtectorOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="A protector made by `sfumato learn`.")
]
MechanismOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="A mechanism of `sfumato mechanisms`.")
]
EmbedderOption = Annotated[str | None, typer.Option(help="The encoder for texts; a protector knows its own.")]
EpsilonOption = Annotated[float | None, typer.Option(help="Set the noise by epsilon.")]
NoiseRatioOption = Annotated[float | None, typer.Option(help="Set the noise by its length over a vector's.")]
KeepOption = Annotated[
    str | None, typer.Option(help="The strongest noise that keeps, say, recall@10=0.9 or ndcg=0.95.")
]
KeepColumnsOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="A column to carry over; never `text` unless named."),
]
OnlyMatchingOption = Annotated[
    bool, typer.Option(help="No noise for texts without the concept (which then shows).")
]
CeilingOption = Annotated[float | None, typer.Option(help="Most epsilon a text may spend in the ledger.")]
TenantOption = Annotated[str, typer.Option(help="Sticky noise differs between tenants.")]
CollectionOption = Annotated[str, typer.Option(help="Sticky noise differs between collections.")]
BatchOption = Annotated[
    int, typer.Option(help="Rows of a file released at a time; a killed run loses at most so many.")
]
IdColumnOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The column of ids: the ledger's accounts of rows that are vectors."),
]
WorkersOption = Annotated[
    int | None, typer.Option(help="Folders: how many processes or Ray workers; every core if not said.")
]
EngineOption = Annotated[str, typer.Option(help="Folders: `processes` or `ray`.")]
AddressOption = Annotated[str | None, typer.Option(help="The Ray cluster; one is started here if not said.")]
RestartOption = Annotated[
    bool, typer.Option(help="Release again what an earlier run finished or left unfinished at OUT.")
]
