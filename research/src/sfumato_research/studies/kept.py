"""Cells of a study that were measured before: each is written down at once, and several processes share them.

    cells = KeptCells(setting.cache / "cells" / "sts12")
    found = cells.measured("laplace@1.18", lambda: on.measure(defence))

A name says what was measured; whoever changes how it is measured takes another folder.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from pathlib import Path
from time import monotonic
from typing import Any

from sfumato.files import write_atomic
from sfumato_research.studies.base import Setting, StudyOutcome
from sfumato_research.studies.measured import Measured

Run = Callable[[Setting], StudyOutcome]


@dataclass(frozen=True, slots=True)
class KeptCells:
    """A folder with a JSON file for each cell; without one a cell is kept while the object lives."""

    folder: Path | None = None
    known: dict[str, Any] = field(default_factory=dict, repr=False)

    def measured(self, name: str, make: Callable[[], Measured]) -> Measured:
        """What a defence leaks and keeps: as it was written, or measured now and written."""
        return Measured.from_dict(self.value(name, lambda: make().to_dict()))

    def value(self, name: str, make: Callable[[], Any]) -> Any:
        """The same for any plain value."""
        if self.folder is None:
            if name not in self.known:
                self.known[name] = make()
            return self.known[name]
        path = self.folder / f"{re.sub(r'[^A-Za-z0-9._@,-]+', '_', name)}.json"
        if not path.exists():
            start = monotonic()
            found = {"value": make(), "seconds": round(monotonic() - start, 1)}
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomic(path, (json.dumps(found, ensure_ascii=False) + "\n").encode())
        kept = json.loads(path.read_text(encoding="utf-8"))
        _SPENT[str(path)] = float(kept["seconds"])
        return kept["value"]


_SPENT: dict[str, float] = {}
"""What each cell took that was asked for since the last part began."""


def by_cells(run: Run) -> Run:
    """A part whose cells may have been measured before: what it took is what they took."""

    @wraps(run)
    def counted(setting: Setting) -> StudyOutcome:
        _SPENT.clear()
        outcome = run(setting)
        spent = sum(_SPENT.values())
        if not spent:
            return outcome
        return replace(
            outcome, took=f"{spent / 60:.1f} minutes of measuring in cells, several processes side by side"
        )

    return counted
