"""Run the leakage part and write a JSON line a row.

python -m sfumato_research.detectors DATA OUT.jsonl [--quick]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from sfumato_research.detectors.leaking import CONCEPTS, measured
from sfumato_research.studies.base import Setting


def main(data: str, out: str, *options: str) -> None:
    """Measure both concepts."""
    setting = Setting(Path(data), quick="--quick" in options)
    with Path(out).open("w", encoding="utf-8") as lines:
        for name in CONCEPTS:
            for line in measured(name, setting):
                lines.write(json.dumps(line) + "\n")
                lines.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
