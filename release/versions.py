"""One version, said alike wherever it is said."""

from __future__ import annotations

import re
from pathlib import Path

from release.pins import ReleaseError


def check_versions(root: Path) -> str:
    """The version of the release, the same in the package, change log, action, weights and studies."""
    version = _one(root, "src/sfumato/version.py", r'^__version__ = "([^"]+)"')
    said = {
        "CHANGELOG.md": _one(root, "CHANGELOG.md", r"^## \[([0-9][^\]]*)\]"),
        "action/action.yml": _one(root, "action/action.yml", r'default: "sfumato\[learn\]==([^"]+)"'),
        "research": _one(root, "research/src/sfumato_research/__init__.py", r'^__version__ = "([^"]+)"'),
        "weights/tagger": _one(
            root, "weights/tagger/src/sfumato_minilm_tagger/__init__.py", r'^__version__ = "([^"]+)"'
        ),
        "weights": _one(root, "weights/src/sfumato_minilm_inverter/__init__.py", r'^__version__ = "([^"]+)"'),
    }
    for place, other in said.items():
        if other != version:
            raise ReleaseError(
                f"{place} says version {other}, src/sfumato/version.py {version}: make them agree."
            )
    return version


def is_dated(root: Path) -> bool:
    """Whether the change log gives the newest version a day; until then it is not to be published."""
    line = _one(root, "CHANGELOG.md", r"^## \[[0-9][^\]]*\] - (.+)$")
    return re.fullmatch(r"\d{4}-\d{2}-\d{2}", line.strip()) is not None


def _one(root: Path, name: str, pattern: str) -> str:
    found = re.search(pattern, (root / name).read_text(), re.M)
    if found is None:
        raise ReleaseError(f"{name} says no version: expected a line like {pattern}.")
    return found[1]
