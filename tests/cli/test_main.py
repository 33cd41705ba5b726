"""The command line, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import typer

from sfumato.mechanisms import MECHANISMS


def sfumato(*arguments, **options):
    code = "from sfumato.cli.main import run; run()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, **options)


def test_help_and_version():
    shown = sfumato("--help")
    assert shown.returncode == 0
    for command in ("demo", "mechanisms", "verify", "bench"):
        assert command in shown.stdout
    assert "Exit codes" in shown.stdout
    assert sfumato("--version").stdout.startswith("sfumato 0.")


@pytest.mark.parametrize("command", ["demo", "mechanisms", "verify", "bench"])
def test_every_command_has_help_with_an_example(command):
    shown = sfumato(command, "-h")
    assert shown.returncode == 0 and "Example" in shown.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("protekt",),
        ("demo", "--loud"),
        ("verify", "laplase"),
        ("bench", "--rows", "many"),
        ("demo", "-o", "/dev/null/x"),
    ],
)
def test_bad_input_is_one_line_and_exit_2(arguments):
    done = sfumato(*arguments)
    assert done.returncode == 2
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1 and lines[0].startswith("sfumato: "), done.stderr


def test_mechanisms_lists_them_all(tmp_path):
    done = sfumato("mechanisms", "--json", str(tmp_path / "m.json"))
    assert done.returncode == 0
    found = json.loads((tmp_path / "m.json").read_text())["mechanisms"]
    assert [row["name"] for row in found] == list(MECHANISMS.names())
    assert {row["name"]: row["proof"] for row in found}["suppression"] == "none"
    assert all(row["paper"] and row["parameters"] for row in found)


def test_an_interrupt_ends_in_one_line(monkeypatch, capsys):
    from sfumato.cli import main, mechanisms

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mechanisms, "command", interrupted)
    monkeypatch.setattr(main, "app", typer.Typer(name="sfumato", callback=lambda: None))
    with pytest.raises(SystemExit) as stop:
        main.run(["mechanisms"])
    assert stop.value.code == 130
    assert capsys.readouterr().err == "sfumato: stopped.\n"
