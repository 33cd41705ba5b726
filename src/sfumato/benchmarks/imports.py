"""What `import sfumato` costs, in fresh interpreters that take turns."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sfumato
from sfumato.benchmarks.interleave import Contender, Spread, interleave, plain

_CODE = {
    "numpy": "import numpy",
    "python": "pass",
    "sfumato": "import numpy, sfumato",
    "mechanisms": "import numpy, sfumato.mechanisms",
}


@dataclass(frozen=True, slots=True)
class ImportTimes:
    """Milliseconds of a fresh interpreter that imports this and ends."""

    python: float
    """Imports nothing."""
    numpy: float
    sfumato: float
    """numpy and sfumato."""
    mechanisms: float
    """numpy and sfumato.mechanisms, which brings scipy and cryptography."""
    over_numpy: Spread
    """numpy and sfumato over numpy alone."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return plain(self)


def import_times(rounds: int = 7, *, on_round: Callable[[], object] | None = None) -> ImportTimes:
    """Time fresh interpreters that import numpy alone, and numpy with sfumato."""
    # A child finds the same package as its parent, however the parent found it.
    home = str(Path(sfumato.__file__).parents[1])
    paths = os.pathsep.join(filter(None, (home, os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PYTHONPATH": paths}

    def child(code: str) -> Contender:
        command = [sys.executable, "-c", code]
        return lambda: subprocess.run(command, env=environment, check=True, stdin=subprocess.DEVNULL)

    timed = interleave({name: child(code) for name, code in _CODE.items()}, rounds, on_round=on_round)
    return ImportTimes(
        **{name: timing.median * 1e3 for name, timing in timed.items()},
        over_numpy=timed["sfumato"].over(timed["numpy"]),
    )
