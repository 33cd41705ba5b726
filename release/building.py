"""Wheel and sdist out of a commit, built twice in different surroundings and equal to the byte."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tarfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from release.pins import ReleaseError

# What differs between one machine and another, and must not show in what is built.
_SURROUNDINGS: tuple[tuple[str, int, dict[str, str]], ...] = (
    ("one", 0o022, {"TZ": "UTC", "PYTHONHASHSEED": "1", "LC_ALL": "C"}),
    ("another/place", 0o077, {"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8"}),
)


@dataclass(frozen=True, slots=True)
class Checkout:
    """The commit that is built: its name, its time, and where its repository is."""

    root: Path
    commit: str
    epoch: int

    @classmethod
    def of(cls, root: Path) -> Checkout:
        """The last commit of a repository."""
        commit, epoch = git(root, "log", "-1", "--format=%H %ct").decode().split()
        return cls(root, commit, int(epoch))

    def require_committed(self) -> None:
        """Refuse a checkout whose files are not the commit's: checked would not be what is built."""
        changed = git(self.root, "status", "--porcelain", "--untracked-files=no").decode().splitlines()
        if changed:
            raise ReleaseError(
                f"{len(changed)} files are not as committed, such as {changed[0][3:]}: commit them first."
            )

    def files(self, *below: str) -> dict[str, bytes]:
        """The commit's files by path, at these places or everywhere."""
        with tarfile.open(
            fileobj=BytesIO(git(self.root, "archive", "--format=tar", self.commit, *below))
        ) as tar:
            found = {member.name: tar.extractfile(member) for member in tar if member.isfile()}
        return {name: file.read() for name, file in found.items() if file is not None}


def git(root: Path, *arguments: str) -> bytes:
    """What git answers in a repository."""
    alone = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    done = subprocess.run(["git", "-C", str(root), *arguments], env=alone, capture_output=True)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise ReleaseError(
            f"git {arguments[0]} failed ({said[-1] if said else done.returncode}): release from a checkout."
        )
    return done.stdout


def build(source: Checkout, folder: Path) -> list[Path]:
    """Build twice in clean copies below a folder, compare, and give the first pair."""
    made = [_build_once(source, folder / name, mask, around) for name, mask, around in _SURROUNDINGS]
    first, second = ({path.name: digest(path) for path in paths} for paths in made)
    if differing := sorted(
        name for name in first.keys() | second.keys() if first.get(name) != second.get(name)
    ):
        raise ReleaseError(
            f"Two builds of one commit differ in {', '.join(differing)}: look for times, paths or orders."
        )
    return made[0]


def _build_once(source: Checkout, copy: Path, mask: int, around: dict[str, str]) -> list[Path]:
    left_out = (":(exclude)weights/src", ":(exclude)weights/tagger/src", ":(exclude)research")
    for name, content in source.files(".", *left_out).items():
        path = copy / "tree" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    environment = {**os.environ, **around, "SOURCE_DATE_EPOCH": str(source.epoch)}
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(copy / "dist")],
        cwd=copy / "tree",
        env=environment,
        umask=mask,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise ReleaseError(
            f"The build failed ({last}): `pip install -c constraints.txt hatchling` if it is missing."
        )
    return sorted((copy / "dist").iterdir())


def digest(path: Path) -> str:
    """The SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()
