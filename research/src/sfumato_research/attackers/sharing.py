"""Cells shared out over processes: each takes the next block of a plan that nobody has taken."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from sfumato.errors import InputError
from sfumato_research.attackers.cells import ON_CPU, CellKey, Cells
from sfumato_research.attackers.releases import RELEASES


@dataclass(frozen=True, slots=True)
class CellBlock:
    """Cells of one release that one process measures, one after the other."""

    release: str
    time: int
    attacks: tuple[str, ...]

    @property
    def keys(self) -> list[CellKey]:
        """Which cells they are."""
        return [(attack, self.release, self.time) for attack in self.attacks]


def read_plan(path: Path, cells: Cells) -> list[CellBlock]:
    """The blocks of a file, `[[release, time, [attack, ...]], ...]`, those that matter most first."""
    try:
        blocks = [
            CellBlock(str(release), int(time), tuple(map(str, attacks)))
            for release, time, attacks in json.loads(path.read_text(encoding="utf-8"))
        ]
    except (ValueError, TypeError):
        raise InputError(f"{path} must hold [[release, time, [attack, ...]], ...] as JSON.") from None
    for block in blocks:
        unknown = [attack for attack in block.attacks if attack not in cells.table]
        if block.release not in RELEASES or unknown or not 0 <= block.time <= ON_CPU:
            raise InputError(
                f"{path} must name rows and columns of the table. Found {unknown or block.release}."
            )
    return blocks


def share(cells: Cells, blocks: Sequence[CellBlock], taken: Path, seconds: float) -> int:
    """Measure blocks that no other process has taken, beginning none after so many seconds.

    Args:
        cells: where they are kept.
        blocks: the plan.
        taken: folder that says which blocks are taken; delete it before the plan is begun again.
        seconds: after which no block is begun.

    Returns:
        How many cells failed.
    """
    taken.mkdir(parents=True, exist_ok=True)
    began, failed = monotonic(), 0
    for number, block in enumerate(blocks):
        if monotonic() - began > seconds:
            break
        if all(cells.get(key) is not None for key in block.keys) or not _mine(taken / str(number)):
            continue
        failed += cells.measure_column(block.release, block.keys)
    return failed


def _mine(path: Path) -> bool:
    """Whether this process is the first to take it."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        return False
    return True
