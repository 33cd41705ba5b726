"""`sfumato migrate`: protect a collection that is there, into a new one or in place."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from sfumato.cli.options import AllowRemoteOption, LedgerOption, SecretOption, reference
from sfumato.cli.output import JsonOption, console, progress, write_json
from sfumato.errors import InputError
from sfumato.stores.address import parse_address
from sfumato.stores.migrate import BATCH, Migrated, migrate
from sfumato.stores.opening import open_store

NAME = "migrate"
EXAMPLE = (
    "Examples: sfumato migrate --from chroma:db#notes --to chroma:safe#notes --protector places  |  "
    "sfumato migrate --from postgresql://host/db#notes --in-place --protector places"
)


def show(done: Migrated) -> None:
    """Say what was done, and what is left to do; never a text."""
    screen = console()
    earlier = f", {done.before} by an earlier run" if done.before else ""
    gone = f"; {done.vanished} were deleted meanwhile" if done.vanished else ""
    screen.print(
        f"{done.target}: {done.rows} rows protected, {done.released} by this run{earlier}{gone}; "
        f"ids, count and {done.sampled} vectors verified",
        highlight=False,
        markup=False,
    )
    how = "embedded anew from their texts" if done.from_texts else "released from the stored vectors"
    screen.print(f"Vectors were {how}.", highlight=False)
    if done.fields:
        screen.print(f"Metadata taken along: {', '.join(done.fields)}", highlight=False, markup=False)
    if done.texts_left:
        screen.print(
            f"Note: {done.texts_left} rows still hold their text beside the vector. Whoever reads the "
            "collection reads it.",
            highlight=False,
        )
    if done.residue:
        screen.print(f"Note: {done.residue}.", highlight=False)


def command(
    source: Annotated[str, typer.Option("--from", metavar="URL", help="The collection with clean vectors.")],
    protector: Annotated[Path, typer.Option(metavar="DIR", help="A protector made by `sfumato learn`.")],
    to: Annotated[str | None, typer.Option("--to", metavar="URL", help="A new collection.")] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="Replace the vectors in the collection itself.")
    ] = False,
    texts: Annotated[
        bool, typer.Option("--texts", help="Embed the texts in the collection anew, without their concepts.")
    ] = False,
    text_field: Annotated[
        str | None, typer.Option(metavar="NAME", help="Where the text is; it is not taken along.")
    ] = None,
    keep_field: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Metadata to take along though it is long or holds a concept."),
    ] = None,
    drop_field: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Metadata not to take along.")
    ] = None,
    allow_remote: AllowRemoteOption = None,
    secret: SecretOption = None,
    ledger: LedgerOption = None,
    ceiling: Annotated[float | None, typer.Option(help="Most epsilon a row may spend in the ledger.")] = None,
    tenant: Annotated[str, typer.Option(help="Sticky noise differs between tenants.")] = "",
    collection: Annotated[str, typer.Option(help="Sticky noise differs between collections.")] = "",
    batch: Annotated[int, typer.Option(help="Rows released and written at a time.")] = BATCH,
    json: JsonOption = None,
) -> None:
    """Protect a collection; a killed run goes on where it stopped when it is run again."""
    if (to is None) != in_place:
        raise InputError("Give either --to URL for a new collection, or --in-place.")
    if to is not None and parse_address(to).label == parse_address(source).label:
        raise InputError("--from and --to name the same collection. Use --in-place, or name a new one.")
    made = reference(
        protector,
        secret=secret,
        ledger=ledger,
        ceiling=ceiling,
        tenant=tenant,
        collection=collection,
        allow_remote=allow_remote,
    ).open(create=True)
    with open_store(source, create=False) as clean, progress("protecting", None) as bar:
        known = None if to is None else parse_address(to).options.get("metric")
        target = None if to is None else open_store(to, metric=None if known else clean.metric)
        try:
            done = migrate(
                clean,
                target,
                made,
                texts=texts,
                text_field=text_field,
                keep_fields=keep_field or (),
                drop_fields=drop_field or (),
                batch=batch,
                on_rows=lambda rows, total: bar.update(bar.task_ids[0], advance=rows, total=total),
            )
        finally:
            if target is not None:
                target.close()
    show(done)
    console().print(made.guarantee.describe())
    write_json(json, {**asdict(done), "guarantee": made.guarantee.to_dict()})
