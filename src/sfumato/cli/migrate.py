"""`sfumato migrate`: protect a collection that is there, into a new one or in place."""

from __future__ import annotations

from dataclasses import asdict

from sfumato.cli.options.migrate import (
    BatchOption,
    CeilingOption,
    CollectionOption,
    DropFieldOption,
    InPlaceOption,
    KeepFieldOption,
    ProtectorOption,
    SourceOption,
    TenantOption,
    TextFieldOption,
    TextsOption,
    ToOption,
)
from sfumato.cli.options.shared import AllowRemoteOption, LedgerOption, SecretOption, reference
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
    source: SourceOption,
    protector: ProtectorOption,
    to: ToOption = None,
    in_place: InPlaceOption = False,
    texts: TextsOption = False,
    text_field: TextFieldOption = None,
    keep_field: KeepFieldOption = None,
    drop_field: DropFieldOption = None,
    allow_remote: AllowRemoteOption = None,
    secret: SecretOption = None,
    ledger: LedgerOption = None,
    ceiling: CeilingOption = None,
    tenant: TenantOption = "",
    collection: CollectionOption = "",
    batch: BatchOption = BATCH,
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
