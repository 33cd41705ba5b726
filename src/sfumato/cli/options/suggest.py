"""The options of `sfumato concepts suggest`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.output import checked_output

LikeOption = Annotated[
    list[str], typer.Option("--like", metavar="TERM", help="An example of the concept; may be repeated.")
]
DescribeOption = Annotated[str, typer.Option(metavar="TEXT", help="The concept in a few words.")]
MostOption = Annotated[int, typer.Option("-n", "--most", help="Most spans to show.")]
TermsOutOption = Annotated[
    Path | None,
    typer.Option(
        "-o", "--out", metavar="FILE", help="Write the confirmed terms, for learn --terms FILE.",
        callback=checked_output,
    ),
]  # fmt: skip
AcceptOption = Annotated[
    str | None,
    typer.Option(
        metavar="WHICH", help="Confirm without asking: numbers such as 1-5,8, or likely, all or none."
    ),
]
PageOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Write a page on which spans are ticked and saved; it holds parts of the notes.",
        callback=checked_output,
    ),
]  # fmt: skip
ForceOption = Annotated[bool, typer.Option("--force", help="Replace the files that are there already.")]
