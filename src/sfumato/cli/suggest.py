"""`sfumato concepts suggest`: spans that are like a few examples, for a person to confirm."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import typer
from rich.table import Table
from rich.text import Text

from sfumato.cli.options.shared import InputFile
from sfumato.cli.options.suggest import (
    AcceptOption,
    DescribeOption,
    ForceOption,
    LikeOption,
    MostOption,
    PageOption,
    TermsOutOption,
)
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress
from sfumato.errors import InputError
from sfumato.files import write_atomic
from sfumato.inputs import read_texts
from sfumato.suggesting.search import Suggestion, suggest
from sfumato.suggesting.spans import as_terms

EXAMPLE = (
    'Example: sfumato concepts suggest notes.jsonl --like "Project Nightjar" --like "the merger" '
    "--page suggest.html -o merger.txt"
)
_RANGES = re.compile(r"\d{1,4}(?:-\d{1,4})?(?:,\d{1,4}(?:-\d{1,4})?)*")
_NOTE = (
    "These are words of your own notes, shown here so that you can confirm them; nothing is logged or kept "
    "but the files you name."
)


def command(
    source: InputFile,
    like: LikeOption,
    describe: DescribeOption = "",
    most: MostOption = 40,
    out: TermsOutOption = None,
    accept: AcceptOption = None,
    page: PageOption = None,
    force: ForceOption = False,
    json: JsonOption = None,
) -> None:
    """Show spans of the notes that are like some examples, and write those you confirm as a list of terms."""
    for place in (out, page):
        if place is not None and place.exists() and not force:
            raise InputError(f"`{place}` is there already. Choose another name, or replace it with --force.")
    if accept is not None:
        if out is None:
            raise InputError("--accept confirms terms for a file. Name it with -o FILE.")
        chosen_rows(accept, [], checked=False)
    elif out is not None and not sys.stdin.isatty():
        raise InputError("Nobody is there to ask. Say which spans to keep with --accept, such as 1-5,8.")
    texts = read_texts(source)
    from sfumato.suggesting.tokens import MiniLMTokens

    with progress("reading", len(texts)) as bar:
        found = suggest(
            texts, like, tokens=MiniLMTokens(), describe=describe, most=most,
            on_batch=lambda count: bar.advance(bar.task_ids[0], count),
        )  # fmt: skip
    _show(found)
    if page is not None:
        from sfumato.report.suggesting import suggestion_page

        write_atomic(
            page, suggestion_page(texts, found, like, describe, name=f"{source.stem}-terms.txt").encode()
        )
        console().print(
            f"Page: {page} (it holds parts of the notes: keep it where they may be)", highlight=False
        )
    kept = _confirmed(found, accept) if out is not None else None
    if out is not None and kept is not None:
        _write(out, as_terms([*like, *(each.term for each in kept)]))
    write_json(json, _facts(found, kept, out))


def _show(found: list[Suggestion]) -> None:
    screen = console()
    if not found:
        screen.print("Nothing in the notes is like the examples.")
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column, side in (
        ("#", "right"),
        ("span", "left"),
        ("score", "right"),
        ("times", "right"),
        ("texts", "right"),
    ):
        table.add_column(column, justify=side, overflow="fold")  # type: ignore[arg-type]
    for number, each in enumerate(found, 1):
        mark = "" if each.likely else " (less likely)"
        # What a note holds is no markup.
        row = (str(number), Text(each.term + mark), f"{each.score:.1f}", str(each.count), str(each.texts))
        table.add_row(*row)
    screen.print(table)
    screen.print(f"\n{_NOTE}", highlight=False)


def _confirmed(found: list[Suggestion], accept: str | None) -> list[Suggestion]:
    if accept is None and found:
        accept = typer.prompt("Which to keep (such as 1-5,8; likely, all, none)", default="likely")
    return [found[row] for row in chosen_rows(accept or "none", found)]


def chosen_rows(accept: str, found: list[Suggestion], *, checked: bool = True) -> list[int]:
    """The rows that `1-5,8`, `likely`, `all` or `none` names, each once and in order."""
    wanted = accept.replace(" ", "").lower()
    if wanted in ("all", "none", "likely"):
        return [
            row for row, each in enumerate(found) if wanted == "all" or (wanted == "likely" and each.likely)
        ]
    if not _RANGES.fullmatch(wanted):
        raise InputError(
            f"--accept has to be numbers such as 1-5,8, or likely, all or none. Found {accept!r:.40}."
        )
    rows: set[int] = set()
    for part in wanted.split(","):
        first, _, last = part.partition("-")
        rows |= set(range(int(first) - 1, int(last or first)))
    if checked and (not rows or min(rows) < 0 or max(rows) >= len(found)):
        raise InputError(f"--accept must name spans from 1 to {len(found)}. Found {accept!r:.40}.")
    return sorted(rows)


def _write(out: Path, terms: list[str]) -> None:
    write_atomic(out, ("\n".join(terms) + "\n").encode())
    console().print(
        f"{len(terms)} terms: {out}. Use them with: sfumato learn IN --terms {out}", highlight=False
    )


def _facts(found: list[Suggestion], kept: list[Suggestion] | None, out: Path | None) -> dict[str, Any]:
    names = ("term", "score", "likely", "count", "texts", "row", "start", "end")
    return {
        "suggestions": [{name: getattr(each, name) for name in names} for each in found],
        "confirmed": None if kept is None else [each.term for each in kept],
        "terms_file": None if out is None else str(out),
    }
