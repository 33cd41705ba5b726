"""`sfumato migrate`: protect a collection that is there, into a new one or in place."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from sfumato.certifying import release_words
from sfumato.cli.options.migrate import (
    BatchOption,
    CeilingOption,
    CollectionOption,
    DropFieldOption,
    EmbedderOption,
    InPlaceOption,
    KeepFieldOption,
    KeyOption,
    ProtectorOption,
    SealedOption,
    SourceArgument,
    SourceOption,
    TenantOption,
    TextFieldOption,
    TextsOption,
    ToOption,
)
from sfumato.cli.options.sealed import StateOption
from sfumato.cli.options.shared import (
    AccountingOption,
    AllowRemoteOption,
    CeilingAdvantageOption,
    LedgerDistanceOption,
    LedgerOption,
    SecretOption,
    reference,
)
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress
from sfumato.cli.sealed_migration import migrate_sealed
from sfumato.errors import InputError
from sfumato.protector import Protector
from sfumato.stores.address import parse_address
from sfumato.stores.migrate import BATCH, Migrated, migrate
from sfumato.stores.opening import open_store

NAME = "migrate"
EXAMPLE = (
    "Examples: sfumato migrate --from chroma:db#notes --to chroma:safe#notes --protector places  |  "
    "sfumato migrate --from postgresql://host/db#notes --in-place --protector places  |  "
    "sfumato migrate qdrant:db#notes --to qdrant:db#sealed --sealed --key notes.key --in-place"
)
_SEALED = (
    "--sealed takes --to URL and --key FILE, and none of --protector, --texts, --secret, --ledger and "
    "--keep-field: everything but what --drop-field names goes along, sealed."
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
    place: SourceArgument = None,
    source: SourceOption = None,
    protector: ProtectorOption = None,
    sealed: SealedOption = False,
    key: KeyOption = None,
    state: StateOption = None,
    embedder: EmbedderOption = None,
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
    accounting: AccountingOption = None,
    ceiling_advantage: CeilingAdvantageOption = None,
    distance: LedgerDistanceOption = None,
    tenant: TenantOption = "",
    collection: CollectionOption = "",
    batch: BatchOption = BATCH,
    json: JsonOption = None,
) -> None:
    """Protect or seal a collection; a killed run goes on where it stopped when it is run again."""
    if (place is None) == (source is None):
        raise InputError("Give the collection to migrate once, as SOURCE or with --from URL.")
    source = place or source or ""
    if to is not None and parse_address(to).label == parse_address(source).label:
        raise InputError("--from and --to name the same collection. Use --in-place, or name a new one.")
    if sealed:
        if protector is not None or texts or secret or ledger or keep_field or to is None or key is None:
            raise InputError(_SEALED)
        migrate_sealed(
            source, to, key, state, tenant=tenant, embedder=embedder, text_field=text_field,
            drop_fields=drop_field or (), clear=in_place, json=json,
        )  # fmt: skip
        return
    if protector is None or key is not None or state is not None or embedder is not None:
        raise InputError("Give --protector DIR; or --sealed, to which --key, --state and --embedder belong.")
    if (to is None) != in_place:
        raise InputError("Give either --to URL for a new collection, or --in-place.")
    made = reference(
        protector, secret=secret, ledger=ledger, ceiling=ceiling, tenant=tenant, collection=collection,
        allow_remote=allow_remote, accounting=accounting, ceiling_advantage=ceiling_advantage,
        distance=distance,
    ).open(create=True)  # fmt: skip
    done = _migrate(
        source, to, made, batch, texts=texts, text_field=text_field, keep_fields=keep_field or (),
        drop_fields=drop_field or (),
    )  # fmt: skip
    show(done)
    console().print(release_words(made), highlight=False, markup=False)
    console().print(made.guarantee.describe())
    write_json(json, {**asdict(done), "guarantee": made.guarantee.to_dict()})


def _migrate(source: str, to: str | None, made: Protector, batch: int, **chosen: Any) -> Migrated:
    """Release the rows of one collection into another, or in place."""
    with open_store(source, create=False) as clean, progress("protecting", None) as bar:
        known = None if to is None else parse_address(to).options.get("metric")
        target = None if to is None else open_store(to, metric=None if known else clean.metric)
        try:
            return migrate(
                clean, target, made, batch=batch, **chosen,
                on_rows=lambda rows, total: bar.update(bar.task_ids[0], advance=rows, total=total),
            )  # fmt: skip
        finally:
            if target is not None:
                target.close()
