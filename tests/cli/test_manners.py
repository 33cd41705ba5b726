"""How much a command says, and how it is asked."""

from __future__ import annotations

import inspect
import io
import subprocess
import sys

import pytest
from rich.console import Console
from rich.progress import Progress
from tests.cli.test_main import as_program, sfumato

from sfumato.cli import main, manners, progress


@pytest.fixture(autouse=True)
def said_nothing():
    yield
    manners.heard([])


@pytest.mark.parametrize("where", [("--quiet", "mechanisms"), ("mechanisms", "-q")])
def test_quiet_says_nothing_and_still_writes(where, tmp_path):
    done = sfumato(*where, "--json", tmp_path / "m.json")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "m.json").stat().st_size > 100


def test_quiet_still_names_what_is_wrong():
    done = sfumato("verify", "laplase", "--quiet")
    assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_verbose_says_where_and_what_it_cost_and_no_value():
    done = sfumato("verify", "my-secret-name", "-v")
    refused, found, cost = done.stderr.strip().splitlines()
    assert done.returncode == 2 and "my-secret-name" in refused
    assert "found at" in found and ".py:" in found and "my-secret-name" not in found
    assert "MiB" in cost


def test_quiet_and_verbose_are_not_both():
    done = sfumato("mechanisms", "--quiet", "--verbose")
    assert done.returncode == 2 and "Leave one of them out" in done.stderr


def test_words_behind_two_dashes_are_arguments():
    assert manners.heard(["search", "--", "--quiet"]) == ["search", "--", "--quiet"]
    assert not manners.is_quiet()


def test_the_next_command_of_a_process_is_not_quiet_too():
    sfumato("mechanisms", "--quiet")
    assert sfumato("mechanisms").stdout


def test_the_version_loads_no_command():
    code = (
        "import sys; from sfumato.cli.main import run\ntry: run(['--version'])\n"
        "except SystemExit: print(sum(m.startswith('sfumato.') for m in sys.modules), 'numpy' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.splitlines()
    assert shown[0].startswith("sfumato ")
    assert int(shown[1].split()[0]) < 8 and shown[1].endswith("False")


def test_no_command_at_all_shows_the_list():
    done = sfumato()
    assert "Commands" in done.stdout and "sfumato: \n" not in done.stderr


@pytest.mark.parametrize(
    ("words", "place", "wanted"),
    [("sfumato aud", "1", "audit"), ("sfumato audit --prot", "2", "--protector")],
)
def test_a_shell_completes_commands_and_options(words, place, wanted, monkeypatch):
    monkeypatch.setenv("_SFUMATO_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", place)
    code = "import sys; sys.argv[0] = 'sfumato'; from sfumato.cli.main import run; run()"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert wanted in shown.stdout.split()


def test_it_runs_as_a_module():
    shown = subprocess.run([sys.executable, "-m", "sfumato", "--version"], capture_output=True, text=True)
    assert shown.stdout.startswith("sfumato ")


def test_a_log_file_sees_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(progress, "FIRST_LINE", 0.05)
    with progress.progress("embedding", 40) as bar:
        bar.update(bar.task_ids[0], completed=10)
        for _ in range(200):
            if said := capsys.readouterr().err:
                break
            progress.threading.Event().wait(0.05)
    assert "sfumato: embedding: 10 of 40, after" in said and "to go" in said


def test_a_quiet_log_sees_nothing(monkeypatch, capsys):
    monkeypatch.setattr(progress, "FIRST_LINE", 0.01)
    manners.heard(["--quiet"])
    with progress.progress("embedding", 40):
        progress.threading.Event().wait(0.2)
    assert capsys.readouterr().err == ""


def test_a_line_without_a_total_foretells_nothing():
    bar = Progress(console=Console(file=io.StringIO()), disable=True)
    bar.add_task("reading", total=None, completed=1234)
    assert progress.line(bar.tasks[0]).startswith("sfumato: reading: 1,234, after")
    assert "to go" not in progress.line(bar.tasks[0])


def test_a_wrong_word_is_answered_with_the_right_one():
    assert "Did you mean `audit`" in as_program("audt").stderr


def test_nothing_is_foretold_from_the_first_moments():
    bar = Progress(console=Console(file=io.StringIO()), disable=True)
    bar.add_task("embedding", total=100, completed=2)
    assert "2 of 100" in progress.line(bar.tasks[0]) and "to go" not in progress.line(bar.tasks[0])


def test_work_that_is_not_counted_shows_no_zero():
    bar = Progress(console=Console(file=io.StringIO()), disable=True)
    bar.add_task("sealing", total=None)
    assert progress.line(bar.tasks[0]).startswith("sfumato: sealing, after ")


SHORT = {"attacks", "card", "concepts", "embedders", "mcp", "mechanisms", "plan", "serve", "stores"}
"""Commands of seconds, and servers, which keep a log of their own."""


@pytest.mark.parametrize("name", sorted(set(main.COMMANDS) - SHORT))
def test_every_long_command_tells_a_log_how_far_it_is(name):
    assert "progress(" in inspect.getsource(main.own_module(name))
