"""`sfumato erase`: destroy rows of a sealed collection, and what copies of it are good for."""

from __future__ import annotations

from dataclasses import asdict

from sfumato.cli.options.sealed import IdsOption, KeyOption, StateOption, StoreOption, TenantOption
from sfumato.cli.output import JsonOption, console, write_json
from sfumato.cli.progress import progress
from sfumato.cli.search import open_sealed

NAME = "erase"
EXAMPLE = "Example: sfumato erase --store qdrant:db#notes --key notes.key --id note-17 --id note-18"


def command(
    store: StoreOption,
    key: KeyOption,
    ids: IdsOption,
    tenant: TenantOption = "",
    state: StateOption = None,
    json: JsonOption = None,
) -> None:
    """Erase rows: their salts are destroyed first, so that copies of the store open nothing of them."""
    names = list(dict.fromkeys(ids))
    with open_sealed(store, key, tenant, state) as sealed, progress("erasing", None):
        before = len(sealed)
        record = sealed.erase(names)
        erased = before - len(sealed)
    screen = console()
    absent = len(names) - erased
    screen.print(f"{erased} rows erased" + (f"; {absent} were not there" if absent else ""), highlight=False)
    if record is not None:
        screen.print(
            f"Salts destroyed at {record.time}: root {record.old_root} is gone, {record.new_root} is new.",
            highlight=False,
        )
        screen.print(
            "Copies of the store, of the state and of its salts open nothing of these rows; a copy of the "
            "root that was destroyed would.",
            highlight=False,
            markup=False,
        )
    write_json(json, {"erased": erased, "absent": absent, "record": record and asdict(record)})
