"""`sfumato migrate --sealed`: an existing collection into a sealed one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path

from sfumato.cli.options.sealed import state_folder
from sfumato.cli.output import console, write_json
from sfumato.cli.progress import progress
from sfumato.cli.seal import key_for, make_room
from sfumato.sealing.client.database import is_begun
from sfumato.sealing.migrating import SealedMigration, seal_collection
from sfumato.sealing.store import SealedStore
from sfumato.stores.opening import open_store


def migrate_sealed(
    source: str,
    to: str,
    key: Path,
    state: Path | None,
    *,
    tenant: str,
    embedder: str | None,
    text_field: str | None,
    drop_fields: Collection[str],
    clear: bool,
    json: Path | None,
) -> None:
    """Seal every row of a collection into another; `clear` deletes those in the clear afterwards."""
    with open_store(source, create=False) as clean, open_store(to) as records:
        secret = key_for(key, records)
        folder = state_folder(key, secret, to, tenant, state)
        make_room(folder, state)
        chosen = embedder or (None if is_begun(folder) else "minilm")
        with (
            SealedStore(records, key=secret, folder=folder, tenant=tenant, embedder=chosen) as sealed,
            progress("sealing", None, rate="rows") as bar,
        ):
            done = seal_collection(
                clean,
                sealed,
                sealed.encoder,
                text_field=text_field,
                drop_fields=drop_fields,
                clear=clear,
                on_rows=lambda rows, total: bar.update(bar.task_ids[0], advance=rows, total=total),
            )
    _show(done, folder)
    write_json(json, {**asdict(done), "key": secret.fingerprint, "state": str(folder)})


def _show(done: SealedMigration, folder: Path) -> None:
    def line(text: str) -> None:
        console().print(text, highlight=False, markup=False)

    line(f"{done.target}: {done.rows} rows sealed, {done.sealed} by this run; all read back and compared")
    if done.vectors_taken:
        line(f"Stored vectors were taken over: {done.sampled} of {done.sampled} sampled are the encoder's.")
    else:
        line("Texts were embedded anew: stored vectors are not those of the encoder.")
    if done.cleared:
        line(f"{done.source}: {done.cleared} rows in the clear were deleted.")
        if done.residue:
            line(f"Note: {done.residue}.")
    elif done.rows:
        line(f"{done.source} still holds all rows in the clear. Run again with --in-place to delete them.")
    line(f"Keep copies of the key and of {folder}: without either, no row opens again.")
