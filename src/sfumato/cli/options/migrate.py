"""The options of `sfumato migrate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SourceArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE", help="The collection to migrate; the same as --from.", show_default=False
    ),
]
SourceOption = Annotated[
    str | None, typer.Option("--from", metavar="URL", help="The collection with clean vectors.")
]
ProtectorOption = Annotated[
    Path | None, typer.Option(metavar="DIR", help="A protector made by `sfumato learn`.")
]
SealedOption = Annotated[
    bool, typer.Option("--sealed", help="Seal the rows in place of protecting them; takes --key and --to.")
]
KeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="With --sealed: the key, made if there is none."),
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        help="With --sealed: the encoder; minilm for a new collection. Vectors of it are taken over."
    ),
]
ToOption = Annotated[str | None, typer.Option("--to", metavar="URL", help="A new collection.")]
InPlaceOption = Annotated[
    bool,
    typer.Option(
        "--in-place",
        help="Replace the vectors in the collection itself; with --sealed, delete its rows once all are "
        "sealed and compared.",
    ),
]
TextsOption = Annotated[
    bool, typer.Option("--texts", help="Embed the texts in the collection anew, without their concepts.")
]
TextFieldOption = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where the text is; it is not taken along in the clear.")
]
KeepFieldOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Metadata to take along though it is long or holds a concept."),
]
DropFieldOption = Annotated[
    list[str] | None, typer.Option(metavar="NAME", help="Metadata not to take along.")
]
CeilingOption = Annotated[float | None, typer.Option(help="Most epsilon a row may spend in the ledger.")]
TenantOption = Annotated[str, typer.Option(help="Sticky noise differs between tenants.")]
CollectionOption = Annotated[str, typer.Option(help="Sticky noise differs between collections.")]
BatchOption = Annotated[int, typer.Option(help="Rows released and written at a time.")]
