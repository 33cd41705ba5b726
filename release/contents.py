"""What wheel and sdist may hold: the files of the commit, byte for byte, and nothing beside them."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

from release.building import Checkout
from release.pins import ReleaseError

_PACKAGE = "src/sfumato/"
_INFO = {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE"}
# A reader's weights are megabytes: this much holds the package and no model.
_LARGEST = 4 * 1024 * 1024
_NEVER = ("__pycache__", ".pyc", ".key", ".ledger", ".sqlite", ".venv", ".hypothesis", ".DS_Store")


def check_wheel(wheel: Path, source: Checkout) -> int:
    """Refuse a wheel that is not the package as committed; how many files it has."""
    committed = {
        name.removeprefix("src/"): content for name, content in source.files("src/sfumato", "LICENSE").items()
    }
    with zipfile.ZipFile(wheel) as archive:
        found = {name: archive.read(name) for name in archive.namelist()}
    information = f"{wheel.name.split('-py3')[0]}.dist-info/"
    expected = {name for name in committed if name != "LICENSE"} | {information + name for name in _INFO}
    _same(wheel, set(found), expected)
    for name, content in committed.items():
        there = found[information + "licenses/LICENSE" if name == "LICENSE" else name]
        if there != content:
            raise ReleaseError(f"{wheel.name}: {name} is not as committed; build from a clean copy.")
    if "sfumato/py.typed" not in found:
        raise ReleaseError(f"{wheel.name} has no sfumato/py.typed: type checkers would not look into it.")
    _modest(wheel, found)
    return len(found)


def check_sdist(sdist: Path, source: Checkout) -> int:
    """Refuse an sdist with a file that is not committed, or without the package; how many files it has."""
    committed = source.files()
    with tarfile.open(sdist) as archive:
        members = [member for member in archive if not member.isdir()]
        if odd := [member.name for member in members if not member.isfile()]:
            raise ReleaseError(f"{sdist.name}: {odd[0]} is no plain file; leave links out.")
        files = {member.name.partition("/")[2]: archive.extractfile(member) for member in members}
        found = {name: file.read() for name, file in files.items() if file is not None}
    found.pop("PKG-INFO", None)
    for name, content in found.items():
        if committed.get(name) != content:
            raise ReleaseError(f"{sdist.name}: {name} is not as committed; build from a clean copy.")
    needed = {name for name in committed if name.startswith(_PACKAGE)} | {
        "pyproject.toml",
        "LICENSE",
        "README.md",
    }
    if missing := sorted(needed - set(found)):
        raise ReleaseError(f"{sdist.name} lacks {missing[0]}: name it in pyproject.toml.")
    _modest(sdist, found)
    return len(found)


def _same(wheel: Path, found: set[str], expected: set[str]) -> None:
    if extra := sorted(found - expected):
        raise ReleaseError(f"{wheel.name} holds {extra[0]}, which is not in the package as committed.")
    if missing := sorted(expected - found):
        raise ReleaseError(f"{wheel.name} lacks {missing[0]}, which the commit has.")


def _modest(archive: Path, found: dict[str, bytes]) -> None:
    if odd := sorted(name for name in found if any(part in name for part in _NEVER)):
        raise ReleaseError(f"{archive.name} holds {odd[0]}: caches, keys and ledgers are never released.")
    if (size := archive.stat().st_size) > _LARGEST:
        raise ReleaseError(
            f"{archive.name} has {size} bytes, more than {_LARGEST}: keep weights in their own package."
        )
