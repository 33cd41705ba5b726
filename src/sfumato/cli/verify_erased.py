"""`sfumato verify-erased`: open database files, logs and backups as bytes, and look for what was erased."""

from __future__ import annotations

import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import typer

from sfumato.cli.options.sealed import (
    FilesOption,
    IdsOption,
    KeyOption,
    LostTextOption,
    StateOption,
    StoreOption,
    TenantOption,
    state_folder,
)
from sfumato.cli.options.shared import TextColumnOption, column_names
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress
from sfumato.cli.search import open_sealed
from sfumato.errors import InputError
from sfumato.inputs import ColumnNames, read
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.inspection.erased import ErasedReport, FileFinding, verify_erased
from sfumato.stores.address import parse_address

NAME = "verify-erased"
EXAMPLE = (
    "Examples: sfumato verify-erased --store qdrant:db#notes --key notes.key --id note-17 --text old.txt  |  "
    "sfumato verify-erased --store postgresql://host/db#notes --key notes.key --id note-17 --files /backups"
)
_MOST_VALUES = 1000
_LONGEST = 1 << 24
_LIMITS = (
    "pages that a product compresses inside its files, encrypted disks, and blocks that the disk has given "
    "up but not overwritten"
)


def command(
    store: StoreOption,
    key: KeyOption,
    ids: IdsOption,
    files: FilesOption = None,
    text: LostTextOption = None,
    text_column: TextColumnOption = None,
    tenant: TenantOption = "",
    state: StateOption = None,
    json: JsonOption = None,
) -> None:
    """Look for erased rows in files, in the clear or sealed; exit code 1 if something is found that opens."""
    values = _values(text, column_names(text_column))
    secret = SealingKey.load(key)
    folder = state_folder(key, secret, store, tenant, state)
    paths, unseen = _paths(store, folder, files or [])
    with open_sealed(store, key, tenant, state) as sealed, progress("looking into files", None):
        found = verify_erased(
            sealed, secret, list(dict.fromkeys(ids)), texts=values, files=paths, unseen=unseen
        )
    found = _with_unseen(found, store)
    _show(found)
    write_json(json, _facts(found))
    if not found.erased:
        raise typer.Exit(1)


def _values(source: str | None, names: ColumnNames) -> list[str]:
    """Texts and metadata to look for; what is not text is not looked for."""
    if source is None:
        return []
    if source == "-":
        found = [line.rstrip("\r\n") for line in sys.stdin.read(_LONGEST + 1).splitlines()]
        if sum(map(len, found)) > _LONGEST:
            raise InputError(f"At most {_LONGEST} characters are read from standard input. Give a file.")
    else:
        found = []
        for batch in read(Path(source), need="text", names=names):
            found += batch.texts or []
            for column in batch.columns.values():
                found += [each for each in column if isinstance(each, str)]
    values = list(dict.fromkeys(each for each in found if each))
    if len(values) > _MOST_VALUES:
        raise InputError(f"At most {_MOST_VALUES} values are looked for in one run. Found {len(values)}.")
    return values


def _paths(url: str, folder: Path, given: list[Path]) -> tuple[list[Path], list[str]]:
    """What is looked into, and what cannot be from here."""
    address = parse_address(url)
    unseen = [f"{_LIMITS} cannot be seen"]
    if address.is_server:
        if not given:
            unseen.insert(
                0, f"{address.label} is a server: its files, logs and backups are not seen from here"
            )
        return [folder, *given], unseen
    here = [Path(address.place)] if address.place and Path(address.place).exists() else []
    return [folder, *here, *given], unseen


def _with_unseen(found: ErasedReport, url: str) -> ErasedReport:
    """Say where a store's own files show none of the records that it holds: nothing is known of them then."""
    address = parse_address(url)
    own = [each for each in found.files if Path(address.place) in Path(each.path).parents]
    if address.is_server or not own or not found.records or any(each.live for each in own):
        return found
    said = (
        f"none of the {found.records} records that {address.label} holds is to be seen in its files: it "
        "keeps them compressed, and nothing is known of what else they keep"
    )
    return replace(found, unseen=(said, *found.unseen))


def _show(found: ErasedReport) -> None:
    def line(text: str) -> None:
        console().print(text, highlight=False, markup=False, soft_wrap=True)

    if found.still_there:
        line(f"{found.still_there} of the rows are still in the collection: erase them first.")
    for each in (found.store, *found.files):
        if each.verdict != "not found":
            line(f"{each.verdict}: {each.path}: {'; '.join(_said(each))}")
    quiet = sum(each.verdict == "not found" for each in found.files)
    line(f"not found: {quiet} other files of {len(found.files)}")
    line(
        f"Looked for {found.texts} texts, {found.ids} ids and {found.vectors} vectors in the clear, and for "
        "sealed contents that no row has."
    )
    if found.too_short:
        line(f"Note: {found.too_short} values were too short to be looked for.")
    if found.untested:
        line(f"Note: {found.untested} sealed contents were too many to be tried with every salt.")
    if not found.texts:
        line("Note: no text was given (--text), so neither texts nor vectors were looked for.")
    for words in found.unseen:
        line(f"Note: {words}.")
    line("ERASED as far as can be seen" if found.erased else "FOUND what must not be there")


def _said(each: FileFinding) -> list[str]:
    said = [f"{count} {kind}{'s' if count > 1 else ''} in the clear, the first at byte {each.places[kind]}"
            for kind, count in each.found.items()]  # fmt: skip
    if each.root:
        said.append("a root that an erasure has destroyed: with it, older copies open again")
    if each.openable:
        said.append(f"{each.openable} contents of no row that the key still opens: deleted, not erased")
    if each.sealed:
        said.append(f"{each.sealed} contents of no row, which no salt opens any more")
    if each.unseen:
        said.append(each.unseen)
    return said


def _facts(found: ErasedReport) -> dict[str, Any]:
    def one(each: FileFinding) -> dict[str, Any]:
        return {**asdict(each), "verdict": each.verdict}

    whole = {**asdict(found), "erased": found.erased}
    return {**whole, "store": one(found.store), "files": [one(each) for each in found.files]}
