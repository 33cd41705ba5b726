"""What a user asks of a new sealed collection, checked before anything is opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from sfumato.errors import ParameterError
from sfumato.numbers import whole_number
from sfumato.sealing.cells.codebook import MOST_TABLES
from sfumato.sealing.cells.measuring import Wish
from sfumato.sealing.client.database import is_begun
from sfumato.sealing.crypto.packing import Precision
from sfumato.sealing.handles import HANDLES
from sfumato.sealing.labels import names_kept

_MOST_PROBES = 4096


def new_settings(
    folder: Path,
    handle: str | None,
    options: Mapping[str, Any],
    *,
    precision: Precision,
    tables: int,
    probes: int | Literal["auto"],
    keep: str,
    units: int,
    signed: bool,
) -> dict[str, Any]:
    """The settings of a collection that is yet to begin; one that is there keeps its own.

    `options` are those of handles and of found values; what would do nothing is refused.
    """
    kind = HANDLES.get(handle or "multimap")
    if handle is not None or not is_begun(folder):
        kind.refuse_others(options)
    if signed:
        kind.require_shared()
    if precision not in get_args(Precision):
        raise ParameterError(f"`precision` must be one of {get_args(Precision)}. Found {precision!r:.40}.")
    Wish.parse(keep)
    return {
        "precision": precision,
        "tables": whole_number(tables, "tables", 1, MOST_TABLES),
        "asked_probes": 0 if probes == "auto" else whole_number(probes, "probes", 1, _MOST_PROBES),
        "keep": keep,
        "units": whole_number(units, "units", 0, 1024),
        "handle": kind.name,
        "options": kind.options(options) | names_kept(options["names"]),
    }
