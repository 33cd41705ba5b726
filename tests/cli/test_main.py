"""The command line, run as a user runs it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

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


def test_demo_writes_a_self_contained_report(tmp_path):
    done = sfumato("demo", "-o", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "report.html").read_text()
    assert done.stdout.strip().splitlines()[-1] == f"Report: {tmp_path / 'out' / 'report.html'}"
    assert len(page) < 1_000_000 and "<script" not in page
    assert "http" not in page.replace('xmlns="http://www.w3.org/2000/svg"', "")
    figures = json.loads((tmp_path / "out" / "report.json").read_text())
    assert figures["clean"] > 0.9 and 0.45 < figures["prior"] < 0.6
    by_name = {(row["mechanism"], round(row["ratio_predicted"], 2)): row for row in figures["releases"]}
    # More noise, less of everything; and the promises are printed as they are.
    assert by_name["laplace", 0.25]["neighbours_kept"] > by_name["laplace", 2.5]["neighbours_kept"]
    assert by_name["laplace", 0.25]["concept_read"] > by_name["laplace", 2.5]["concept_read"]
    assert by_name["suppression", 1.0]["guarantee"]["epsilon"] == "inf"
