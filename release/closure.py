"""What packages bring with them, as installed here, and what an extra of Sfumato asks for."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import tomllib
from packaging.requirements import Requirement

from release.pins import ReleaseError, normal


def asked_by(root: Path, extras: Iterable[str]) -> list[str]:
    """What the core and these extras ask for, extras of extras included."""
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    known, waiting, seen = project["optional-dependencies"], list(extras), set[str]()
    asked = list(project["dependencies"])
    while waiting:
        extra = waiting.pop()
        if extra not in known:
            raise ReleaseError(f"There is no extra {extra!r:.40}: choose from {', '.join(sorted(known))}.")
        if extra in seen:
            continue
        seen.add(extra)
        for line in known[extra]:
            needed = Requirement(line)
            if normal(needed.name) == "sfumato":
                waiting += needed.extras
            else:
                asked.append(line)
    return asked


def closure(roots: Iterable[str]) -> set[str]:
    """The names of these requirements and of all that they bring with them on this machine."""
    waiting, seen = [(Requirement(root), "") for root in roots], set[tuple[str, str]]()
    while waiting:
        needed, under = waiting.pop()
        if needed.marker is not None and not needed.marker.evaluate({"extra": under}):
            continue
        for extra in {"", *needed.extras} - {extra for name, extra in seen if name == normal(needed.name)}:
            seen.add((normal(needed.name), extra))
            waiting += [(Requirement(line), extra) for line in _requires(needed.name)]
    return {name for name, _ in seen}


def _requires(name: str) -> list[str]:
    try:
        return metadata.requires(name) or []
    except metadata.PackageNotFoundError:
        raise ReleaseError(
            f"{name} is not installed here, so what it brings is unknown: install it."
        ) from None
