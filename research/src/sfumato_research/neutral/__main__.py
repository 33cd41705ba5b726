"""Run the study and print its tables as Markdown.

python -m sfumato_research.neutral DATA [CACHE]
"""

from __future__ import annotations

import sys
from pathlib import Path

from sfumato_research.neutral.study import STUDY
from sfumato_research.studies.base import Cell, Entry, Setting


def _shown(entry: Entry) -> str:
    if not isinstance(entry, Cell) or entry.value is None:
        return str(entry)
    ends = "" if entry.low is None or entry.high is None else f" [{entry.low:.3f}, {entry.high:.3f}]"
    return f"{entry.value:.3f}{ends}"


def main(data: str, cache: str | None = None) -> None:
    """Measure every cell, or take what the cache has."""
    setting = Setting(Path(data), cache=None if cache is None else Path(cache))
    for part in STUDY.parts:
        for table in part.run(setting).tables:
            lines = [table.columns, ["---"] * len(table.columns), *(map(_shown, row) for row in table.rows)]
            text = "\n".join(f"| {' | '.join(line)} |" for line in lines)
            sys.stdout.write(f"### {table.title}\n\n{text}\n\n{table.note}\n\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
