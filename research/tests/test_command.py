"""`sfumato study` as a user runs it."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest
from research.tests.studies.test_together import good, refused, study
from tests.cli.test_main import as_program, sfumato

from sfumato_research import command, studies
from sfumato_research.studies import STUDIES


def test_its_list_is_json_as_well():
    done = sfumato("study", "--json", "-")
    assert done.returncode == 0 and done.stderr.strip()
    assert list(json.loads(done.stdout)["studies"]) == list(STUDIES)
    assert inspect.signature(command.command).parameters["json"].annotation == "JsonOption"


def test_without_a_name_studies_are_listed_with_their_parts():
    done = as_program("study")
    assert done.returncode == 0, done.stderr
    assert all(name in done.stdout for name in STUDIES)
    assert "  table1: " in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("all",),
        ("all", "--data", "."),
        ("sparse", "dppn", "--data", ".", "--jobs", "2"),
        ("privemb", "--data", ".", "--part", "nothing"),
        ("spars", "--data", "."),
    ],
    ids=" ".join,
)
def test_bad_requests_are_one_line_and_write_nothing(arguments, tmp_path):
    done = sfumato("study", *arguments, "-o", "results", cwd=tmp_path)
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 2 and len(lines) == 1 and lines[0].startswith("sfumato: "), done.stderr
    assert not list(tmp_path.glob("results/*"))


@pytest.fixture
def made_up(monkeypatch):
    """Studies of a second each, under the names of two real ones."""
    known = {"sparse": good("sparse", 1), "dppn": good("dppn")}
    monkeypatch.setattr(studies, "load_study", lambda name: known[name])
    return known


@pytest.mark.parametrize("jobs", [1, 2])
def test_several_studies_end_in_one_folder(made_up, tmp_path, monkeypatch, capsys, jobs):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    kept, out = tmp_path / "all.json", tmp_path / "results"
    command.command(["sparse", "dppn"], data=tmp_path, output=out, jobs=jobs, json=kept)
    said = capsys.readouterr().out
    assert "sparse: 1 parts run, 0 kept." in said and "dppn: 2 parts run, 0 kept." in said
    assert list(json.loads(kept.read_text())) == ["sparse", "dppn"]
    assert sorted(path.name for path in out.iterdir()) == ["dppn.json", "sparse.json"]
    command.command(["sparse", "dppn", "dppn"], data=tmp_path, output=out, jobs=jobs)
    assert "dppn: 0 parts run, 2 kept." in capsys.readouterr().out


def test_a_quick_run_prints_the_tables_of_its_studies(made_up, tmp_path, capsys):
    for quick, names in ((True, ["sparse"]), (True, ["sparse", "dppn"]), (False, ["sparse"])):
        out = tmp_path / f"{quick}-{len(names)}"
        command.command(names, data=tmp_path, output=out, quick=quick, jobs=1)
        shown = capsys.readouterr().out
        assert shown.count("A quick run") == (sum(len(made_up[name].parts) for name in names) if quick else 0)


@pytest.mark.parametrize("text", ["", "# A page\n", "<!-- study sparse -->\nno end\n"])
def test_a_page_without_a_place_is_not_said_to_be_filled(tmp_path, text, made_up):
    page = tmp_path / "page.md"
    page.write_text(text)
    done = sfumato("study", "sparse", "--data", ".", "--page", "page.md", "-o", "results", cwd=tmp_path)
    assert done.returncode == 2 and "no place to fill" in done.stderr and "Filled" not in done.stdout
    assert page.read_text() == text and not (tmp_path / "results").exists()


def test_pages_are_filled_without_a_run_and_those_without_a_place_passed_over(tmp_path, capsys):
    (tmp_path / "plain.md").write_text("# A page\n")
    board = tmp_path / "board.md"
    board.write_text("<!-- leaderboard -->\n<!-- end -->\n")
    results = Path(__file__).parents[2] / "docs" / "results"
    command.command(output=results, page=[tmp_path / "plain.md", board])
    said = " ".join(capsys.readouterr().out.split())
    assert "plain.md has no mark to fill" in said and "Filled" in said
    assert (
        tmp_path / "plain.md"
    ).read_text() == "# A page\n" and "| encoder | defence |" in board.read_text()


def test_a_study_that_refuses_ends_the_command_with_its_line(made_up, tmp_path):
    from sfumato.errors import InputError

    made_up["sparse"] = study("sparse", refused)
    with pytest.raises(InputError, match="must not be run"):
        command.command(["sparse", "dppn"], data=tmp_path, output=tmp_path / "out", jobs=2)
