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


def test_a_command_that_is_a_package_of_its_own_says_how_to_install_it(monkeypatch, capsys):
    from sfumato.cli import main

    monkeypatch.setattr(main, "entry_points", lambda group: [])
    with pytest.raises(SystemExit) as stop:
        main.run(["study", "sparse"])
    said = capsys.readouterr().err
    assert stop.value.code == 2 and len(said.splitlines()) == 1 and "pip install -e ./research" in said


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
