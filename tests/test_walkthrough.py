"""The walkthrough is walked: its commands run in order and print what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parent.parent / "docs" / "walkthrough.md"
FAILS = "clean.parquet --terms"
"""The one command that has to end with 1."""


def steps() -> list[tuple[str, str]]:
    return re.findall(r"```(python|py|sh|text)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def words(text: str) -> list[str]:
    """What is printed less its figures, in whatever lines the terminal or the page breaks it."""
    return re.sub(r"-?\d[\d.,]*", "#", text).split()


def test_the_page_shows_what_its_commands_print(tmp_path):
    shell = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "COLUMNS": "100",
    }
    printed, shown = "", 0
    for kind, code in steps():
        if kind == "text":
            assert words(printed) == words(code), (printed, code)
            printed, shown = "", shown + 1
            continue
        commands = code.strip().splitlines() if kind == "sh" else [code]
        for command in commands:
            call = ["bash", "-c", command] if kind == "sh" else [sys.executable, "-c", code]
            done = subprocess.run(call, capture_output=True, text=True, cwd=tmp_path, env=shell)
            assert done.returncode == int(FAILS in command), (command, done.stdout, done.stderr)
            printed = printed + done.stdout if kind != "python" else ""
    assert shown == 4
    assert (tmp_path / "report.html").stat().st_size > 10_000
