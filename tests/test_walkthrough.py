"""The walkthrough is walked: its commands run in order and print what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from tests.cli.test_main import sfumato

PAGE = Path(__file__).parent.parent / "docs" / "walkthrough.md"
FAILS = "clean.parquet --terms"
"""The one command that has to end with 1."""


def steps() -> list[tuple[str, str]]:
    return re.findall(r"```(python|py|sh|text)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def words(text: str) -> list[str]:
    """What is printed less its figures, in whatever lines the terminal or the page breaks it."""
    return re.sub(r"-?\d[\d.,]*", "#", text).split()


def called(kind: str, code: str, folder: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Commands of ours run in this process, the first of them and all else as programs."""
    if kind == "sh" and code.startswith("sfumato ") and "--mechanism identity" not in code:
        return sfumato(*shlex.split(code)[1:], cwd=folder)
    call = ["bash", "-c", code] if kind == "sh" else [sys.executable, "-c", code]
    return subprocess.run(call, capture_output=True, text=True, cwd=folder, env=env)


def test_the_page_shows_what_its_commands_print(tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    shell = {**os.environ, "PATH": path, "OMP_NUM_THREADS": "1"}
    printed, shown = "", 0
    for kind, code in steps():
        if kind == "text":
            assert words(printed) == words(code), (printed, code)
            printed, shown = "", shown + 1
            continue
        commands = code.strip().splitlines() if kind == "sh" else [code]
        for command in commands:
            done = called(kind, command, tmp_path, shell)
            assert done.returncode == int(FAILS in command), (command, done.stdout, done.stderr)
            printed = printed + done.stdout if kind != "python" else ""
    assert shown == 4
    report = (tmp_path / "report.html").read_text()
    assert len(report) > 10_000 and "A search for what is hidden stops working" in report
