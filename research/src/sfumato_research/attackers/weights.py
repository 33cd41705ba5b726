"""Which ready-made weights a cell was measured with, so that no row compares two versions of a reader."""

from __future__ import annotations

import json
from functools import cache
from typing import TYPE_CHECKING

from sfumato.embedders.digests import package_folder
from sfumato.errors import InputError

if TYPE_CHECKING:
    from sfumato_research.attackers.cells import Cells

_PACKAGES = {"reader": "sfumato_minilm_inverter", "tagger": "sfumato_minilm_tagger"}
_SHOWN = 12


@cache
def ready_weights() -> dict[str, str]:
    """The first letters of the digest of each package of weights that is installed."""
    found = {}
    for name, package in _PACKAGES.items():
        folder = package_folder(package)
        if folder is not None:
            said = json.loads((folder / "model" / "config.json").read_text(encoding="utf-8"))
            found[name] = str(said["digest"])[:_SHOWN]
    return found


def one_version(cells: Cells) -> dict[str, str]:
    """The weights that all cells were measured with, or refuse: a row must not mix them."""
    said: dict[str, str] = {}
    for cell in cells.there():
        for name, digest in cell.get("weights", {}).items():
            if said.setdefault(name, digest) != digest:
                raise InputError(
                    f"Cells must be of one version of the {name}. Found {said[name]} and {digest} "
                    f"(`{cell['attack']}` on `{cell['release']}`). Delete the older ones."
                )
    return said
