"""Pinned versions and the SHA-256 of their files, as pip reads both."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_PIN = re.compile(r"([A-Za-z0-9._-]+)==([^\s;\\]+)(?:\s*;\s*([^\\]+?))?\s*\\?")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\s*\\?")


class ReleaseError(Exception):
    """Something that a release must not have: one line that says what, where, and what to do."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of one package, and the files it may come as."""

    name: str
    version: str
    marker: str = ""
    hashes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name as the index spells it."""
        return normal(self.name)


def normal(name: str) -> str:
    """A package's name as the index spells it: spellings that mean one package become one."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_pins(path: Path) -> dict[str, Pin]:
    """The pins of a file, by normal name; a line that is none, or a package pinned twice, is refused."""
    found: dict[str, Pin] = {}
    last = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        if last and (digest := _HASH.fullmatch(text)):
            pin = found[last]
            found[last] = Pin(pin.name, pin.version, pin.marker, (*pin.hashes, digest[1]))
            continue
        pinned = _PIN.fullmatch(text)
        if pinned is None or normal(pinned[1]) in found:
            why = "is no pin" if pinned is None else "pins a package for the second time"
            raise ReleaseError(
                f"{path.name}, line {number} {why}: write NAME==VERSION once for each package."
            )
        last = normal(pinned[1])
        found[last] = Pin(pinned[1], pinned[2], pinned[3] or "")
    return found


def write_pins(path: Path, pins: list[Pin], comment: str) -> None:
    """Write pins with their hashes, as `pip install --require-hashes` reads them."""
    lines = [f"# {line}".rstrip() for line in comment.splitlines()]
    for pin in pins:
        marker = f"; {pin.marker}" if pin.marker else ""
        hashes = [f"    --hash=sha256:{digest}" for digest in pin.hashes]
        lines += [" \\\n".join([f"{pin.name}=={pin.version}{marker}", *hashes])]
    path.write_text("\n".join(lines) + "\n")
