"""The command line, run as a user runs it."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import typer

from sfumato.cli import main
from sfumato.mechanisms import MECHANISMS

UNSEEN = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)
"""What Python leaves out where nobody asks for it."""


def as_program(*arguments, **options):
    """The command in a process of its own, at a second or more for what it imports: once for each command."""
    code = "from sfumato.cli.main import run; run()"
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, **options)


def sfumato(*arguments, cwd=None):
    """The same in this process: what a user would see of it, and the exit code."""
    given, here = ["sfumato", *map(str, arguments)], Path.cwd()
    shown, said = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        patch.setattr(sys, "argv", given)
        warnings.resetwarnings()
        for kind in UNSEEN:
            warnings.simplefilter("ignore", kind)
        os.chdir(cwd or here)
        try:
            with contextlib.redirect_stdout(shown), contextlib.redirect_stderr(said):
                with pytest.raises(SystemExit) as stopped:
                    main.run()
        finally:
            os.chdir(here)
    return subprocess.CompletedProcess(given, stopped.value.code, shown.getvalue(), said.getvalue())


def test_help_and_version():
    shown = as_program("--help")
    assert shown.returncode == 0
    for command in ("demo", "mechanisms", "verify", "bench"):
        assert command in shown.stdout
    assert "Exit codes" in shown.stdout
    assert as_program("--version").stdout.startswith("sfumato 0.")


@pytest.mark.parametrize("command", ["demo", "mechanisms", "verify", "bench"])
def test_every_command_has_help_with_an_example(command):
    shown = as_program(command, "-h")
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
    done = as_program("mechanisms", "--json", str(tmp_path / "m.json"))
    assert done.returncode == 0
    found = json.loads((tmp_path / "m.json").read_text())["mechanisms"]
    assert [row["name"] for row in found] == list(MECHANISMS.names())
    assert {row["name"]: row["proof"] for row in found}["suppression"] == "none"
    assert all(row["paper"] and row["parameters"] for row in found)


def brought(folder, **points):
    """A folder that looks as if a package with these entry points were installed in it."""
    metadata = folder / "bringer-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: bringer\nVersion: 1.0\n")
    lines = [f"{name} = {module}" for name, module in points.items()]
    (metadata / "entry_points.txt").write_text("\n".join(["[sfumato.commands]", *lines]))


def test_another_package_may_bring_a_command(tmp_path, monkeypatch, capsys):
    from sfumato.cli import main

    brought(tmp_path, greet="greeting", verify="greeting")
    (tmp_path / "greeting.py").write_text(
        "NAME, EXAMPLE = 'greet', 'sfumato greet'\ndef command():\n    'Greet.'\n    print('hello')\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    for arguments, said in ((["greet"], "hello"), (["--help"], "Greet."), (["verify", "-h"], "sampler")):
        with pytest.raises(SystemExit) as stop:
            main.run(arguments)
        assert stop.value.code == 0 and said in capsys.readouterr().out


def test_a_broken_command_of_another_package_does_not_take_the_list_with_it(tmp_path, monkeypatch, capsys):
    from sfumato.cli import main

    brought(tmp_path, broken="broken_bringer")
    (tmp_path / "broken_bringer.py").write_text("raise OSError('nothing of this is shown')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with (
        pytest.raises(SystemExit) as stop,
        pytest.warns(main.CommandMissingWarning, match="`sfumato broken`, .* cannot be loaded: OSError.$"),
    ):
        main.run(["--help"])
    assert stop.value.code == 0 and "protect" in capsys.readouterr().out


def test_a_command_that_is_a_package_of_its_own_says_how_to_install_it(monkeypatch, capsys):
    from sfumato.cli import main

    monkeypatch.setattr(main, "entry_points", lambda group: [])
    with pytest.raises(SystemExit) as stop:
        main.run(["study", "sparse"])
    said = capsys.readouterr().err
    assert stop.value.code == 2 and len(said.splitlines()) == 1 and "pip install -e ./research" in said


def test_an_interrupt_ends_in_one_line(monkeypatch, capsys):
    from sfumato.cli import mechanisms

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(mechanisms, "command", interrupted)
    monkeypatch.setattr(main, "app", typer.Typer(name="sfumato", callback=lambda: None))
    with pytest.raises(SystemExit) as stop:
        main.run(["mechanisms"])
    assert stop.value.code == 130
    assert capsys.readouterr().err == "sfumato: stopped.\n"
