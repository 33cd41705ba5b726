"""The newcomer's page is walked with a real Chroma: its commands run in order and print what it shows."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import tomllib

from tests.cli.test_main import sfumato
from tests.test_walkthrough import words

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "first-hour.md").read_text()
MOST_COMMANDS = 8
FAILS = "chroma:db#notes notes.jsonl"
"""The one command that has to end with 1."""


def blocks() -> list[tuple[str, str]]:
    return re.findall(r"```(py|sh|text)\n(.*?)```", PAGE, flags=re.DOTALL)


def commands() -> list[str]:
    return [line for kind, code in blocks() if kind == "sh" for line in code.strip().splitlines()]


def shown(block: str) -> list[str]:
    """What a block shows, in pieces that stand between the lines left out."""
    pieces = re.split(r"^…$", block, flags=re.MULTILINE)
    return [" ".join(words(piece)) for piece in pieces if piece.strip()]


def test_it_is_few_commands_and_its_extras_are_there():
    first, *others = commands()
    assert len(others) + 1 <= MOST_COMMANDS and first.startswith("pip install ")
    extras = re.search(r"\.\[(.+)\]", first)[1].split(",")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(extras) <= set(project["optional-dependencies"])


def test_the_page_shows_what_its_commands_print(tmp_path, monkeypatch):
    pytest.importorskip("chromadb")
    monkeypatch.setenv("COLUMNS", "120")
    printed, compared = "", 0
    for kind, code in blocks():
        if kind == "py":
            (tmp_path / "fill.py").write_text(code)
        elif kind == "text":
            said, pieces = " ".join(words(printed)), shown(code)
            assert pieces and all(piece in said for piece in pieces), (printed, code)
            compared += 1
        elif not code.startswith("pip install"):
            done = called(code.strip(), tmp_path)
            assert done.returncode == int(FAILS in code), (code, done.stdout, done.stderr)
            printed = done.stdout
    assert compared == len(commands()) - 1
    assert (tmp_path / "report.html").stat().st_size > 10_000
    names_a_disease(tmp_path)
    holds_no_text(tmp_path)


def called(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    if command.startswith("sfumato "):
        return sfumato(*shlex.split(command)[1:], cwd=folder)
    script = shlex.split(command)[1:]
    return subprocess.run([sys.executable, *script], capture_output=True, text=True, cwd=folder)


def names_a_disease(folder: Path) -> None:
    """The page says that such a search does not work, and that the command says so."""
    at = ("--store", "chroma:safe#notes", "--protector", "diseases", "-k", "1")
    done = sfumato("search", "who has migraine?", *at, cwd=folder)
    assert done.returncode == 0 and "1 of 1 searches name what the protector hides" in done.stderr
    assert "migraine" not in done.stdout + done.stderr
    own = sfumato("search", "who has migraine?", *at, "--clean", cwd=folder)
    assert own.returncode == 0 and "hides" not in own.stderr


def holds_no_text(folder: Path) -> None:
    """The page says that texts stay behind."""
    for name, there in (("db", True), ("safe", False)):
        raw = b"".join(file.read_bytes() for file in (folder / name).rglob("*") if file.is_file())
        assert (b"Fatima Jones" in raw) is there
