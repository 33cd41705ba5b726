"""Cells: one attack on one release, measured or kept, each a file of its own."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from time import monotonic, process_time
from typing import Any

from sfumato.errors import InputError, MissingPackageError, SfumatoError
from sfumato.files import write_atomic
from sfumato.mechanisms.base import one_blas_thread
from sfumato.trials.rows import LeftOut
from sfumato_research.attackers.attackers import ATTACKERS, QUESTIONS, Attacker, attackers
from sfumato_research.attackers.ground import Ground
from sfumato_research.attackers.naming import scored
from sfumato_research.attackers.releases import LAPLACE, RELEASES, ROTATION, releases
from sfumato_research.attackers.stolen import Stolen
from sfumato_research.attackers.weights import ready_weights

CellKey = tuple[str, str, int]
"""Attack, release, and which time it is run: 0, 1 for the second, 2 on a CPU with its settings for one."""
SECOND, ON_CPU = 1, 2
ALIASES = {"rotation, learning side leaked": ROTATION}
"""Other names of columns; a cell under such a name counts before one under the column's own."""
_LARGEST = 256 << 20


@dataclass(eq=False)
class Cells:
    """All cells of one concept, kept in the ground's folder where it has one."""

    ground: Ground
    table: Mapping[str, Attacker] = field(default_factory=lambda: ATTACKERS)
    """Its rows."""
    _kept: dict[CellKey, dict[str, Any]] = field(default_factory=dict)

    def wanted(self) -> list[CellKey]:
        """Every cell of the table, release by release; Laplace 1.4 a second time."""
        columns = releases(self.ground.setting.quick)
        rows = attackers(self.ground)
        first = [(row, column, 0) for column in columns for row in rows]
        again = [(row, LAPLACE, SECOND) for row in rows if LAPLACE in columns]
        return [*first, *again]

    def alone(self) -> list[CellKey]:
        """What may be run on a CPU besides, to see what it takes there."""
        return [(row, LAPLACE, ON_CPU) for row in attackers(self.ground)]

    def there(self) -> list[dict[str, Any]]:
        """Every cell there is."""
        return [cell for key in [*self.wanted(), *self.alone()] if (cell := self.get(key)) is not None]

    def get(self, key: CellKey) -> dict[str, Any] | None:
        """A cell that is there."""
        path = self._path(key)
        if key not in self._kept and path is not None and path.exists():
            self._kept[key] = _checked(json.loads(path.read_text(encoding="utf-8")), self.table)
        return self._kept.get(key)

    def put(self, cell: Mapping[str, Any]) -> None:
        """Keep a cell."""
        key = (str(cell["attack"]), str(cell["release"]), int(cell["again"]))
        self._kept[key] = _rounded(cell)
        path = self._path(key)
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(path, json.dumps(self._kept[key]).encode())

    def measure(
        self, rows: Collection[str] = (), columns: Collection[str] = (), times: Collection[int] = (0, 1)
    ) -> None:
        """Measure what is missing, of some attacks and releases or of all; a release is made once.

        A cell that fails is told and passed over, so that one of them never stops the others.
        """
        failed = 0
        for column in dict.fromkeys(key[1] for key in self.wanted()):
            failed += self.measure_column(
                column,
                [
                    key
                    for key in self.wanted()
                    if key[1] == column
                    and (not rows or key[0] in rows)
                    and (not columns or column in columns)
                    and key[2] in times
                ],
            )
        if failed:
            raise SfumatoError(f"{failed} cells failed and are not kept. Run the command again to go on.")

    def measure_column(self, column: str, keys: Collection[CellKey]) -> int:
        """Measure those of one release that are missing; return how many failed."""
        missing, failed, say = [key for key in keys if self.get(key) is None], 0, self.ground.setting.on_step
        stolen = Stolen(self.ground, column)
        if missing:
            stolen.make_ready()
        for key in missing:
            say(f"{self.ground.name}: {key[0]} on {column}")
            try:
                self.put(measured(stolen, key, self.table[key[0]]))
            except MissingPackageError as error:
                say(f"left out: {error}")
            except Exception as error:  # whatever it is: the others are measured all the same
                failed += 1
                say(f"FAILED {key}: {type(error).__name__}: {error!s:.300}")
        return failed

    def join(self, path: Path, *, again: bool = False) -> int:
        """Take over the cells of a file that another machine wrote; and how many there were."""
        taken = 0
        for cell in _read(path):
            if cell.get("case") != self.ground.name:
                continue
            whole = _checked(self._scored(cell), self.table)
            if whole["rows"] != self.ground.digest:
                raise InputError(
                    f"{path} must hold cells of the rows asked about. Those of `{whole['attack']}` on "
                    f"`{whole['release']}` are of others."
                )
            if again or self.get((whole["attack"], whole["release"], whole["again"])) is None:
                self.put(whole)
                taken += 1
        return taken

    def pack(self, path: Path) -> int:
        """Write every cell that is there into one file."""
        found = self.there()
        text = json.dumps({"cells": [_rounded(each) for each in found]})
        write_atomic(path, gzip.compress(text.encode(), mtime=0) if path.suffix == ".gz" else text.encode())
        return len(found)

    def _scored(self, cell: Mapping[str, Any]) -> dict[str, Any]:
        """A cell of texts or terms that were read somewhere else, scored as all are."""
        if "recovered" not in cell:
            return dict(cell)
        whole = {key: each for key, each in cell.items() if key != "recovered"}
        guesses = list(cell["recovered"])[: len(self.ground.asked)]
        figures = scored(self.ground, guesses)
        groups = self.ground.groups[: len(guesses)].tolist()
        return {"again": 0, "left_out": "", **whole, "figures": figures, "groups": groups}

    def _path(self, key: CellKey) -> Path | None:
        if self.ground.folder is None:
            return None
        plain = "__".join(re.sub(r"[^A-Za-z0-9.]+", "-", str(part)).strip("-") for part in key)
        return self.ground.folder / f"{plain}.json"


def measured(stolen: Stolen, key: CellKey, attacker: Attacker) -> dict[str, Any]:
    """Run one attack on one release; where it cannot be run, say why."""
    ground, setting = stolen.ground, stolen.ground.setting
    stolen.lent = (0.0, 0.0)
    wall, processor = monotonic(), process_time()
    figures: dict[str, Any] = {}
    reason = ""
    try:
        with one_blas_thread():
            figures = attacker.measure(stolen)
    except LeftOut as why:
        reason = str(why)
    except MissingPackageError:
        raise
    except SfumatoError as error:
        reason = str(error)
    return {
        "attack": key[0],
        "release": key[1],
        "again": key[2],
        "case": ground.name,
        "rows": ground.digest,
        "seed": setting.seed,
        "device": setting.device,
        "date": date.today().isoformat(),
        "weights": ready_weights(),
        "seconds": round(monotonic() - wall + stolen.lent[0], 2),
        "processor_seconds": round(process_time() - processor + stolen.lent[1], 2),
        "left_out": reason,
        "figures": figures,
        "groups": ground.groups.tolist(),
    }


def _read(path: Path) -> list[dict[str, Any]]:
    if path.stat().st_size > _LARGEST:
        raise InputError(f"{path} must have at most {_LARGEST >> 20} MiB. Found {path.stat().st_size} bytes.")
    raw = path.read_bytes()
    try:
        whole = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
        cells = [dict(cell) for cell in (whole["cells"] if isinstance(whole, dict) else whole)]
    except (ValueError, TypeError, KeyError, OSError):
        raise InputError(f"{path} must hold cells as JSON. Found something else.") from None
    plain = [cell for cell in cells if cell.get("release") not in ALIASES]
    named = [
        {**cell, "release": ALIASES[cell["release"]]} for cell in cells if cell.get("release") in ALIASES
    ]
    taken = {(cell.get("attack"), cell["release"]) for cell in named}
    return [*named, *(cell for cell in plain if (cell.get("attack"), cell.get("release")) not in taken)]


def _checked(cell: dict[str, Any], table: Mapping[str, Attacker]) -> dict[str, Any]:
    """A cell as it is used, or refuse it."""
    names = ("attack", "release", "again", "case", "rows", "device", "seconds", "figures", "groups")
    missing = [name for name in names if name not in cell]
    if missing:
        raise InputError(f"A cell must say {', '.join(names)}. Found none of {', '.join(missing)}.")
    if cell["release"] not in RELEASES or cell["attack"] not in table:
        raise InputError(
            f"A cell must be of a row and a column of the table. Found `{cell['attack']}` on "
            f"`{cell['release']}`."
        )
    unknown = sorted(set(cell["figures"]) - set(QUESTIONS))
    if unknown:
        raise InputError(f"A cell's figures are {', '.join(QUESTIONS)}. Found {', '.join(unknown)}.")
    return cell


def _rounded(value: Any) -> Any:
    """Numbers with six digits: a cell is a file that people look into."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, Mapping):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value
