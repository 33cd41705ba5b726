"""The leaderboard: rows of any encoder, rows run again, and pages that are filled from them."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from research.tests.studies.test_frontier import data  # noqa: F401
from tests.cli.test_main import sfumato

from sfumato.embedders.fake import Fake
from sfumato.errors import InputError, ParameterError
from sfumato_research.attackers import ground
from sfumato_research.attackers.releases import RELEASES
from sfumato_research.leaderboard.cells import ATTACKS, DEFENCES
from sfumato_research.leaderboard.elsewhere import PUBLISHED, RUNS, attackers_rows
from sfumato_research.leaderboard.ground import BoardGround
from sfumato_research.leaderboard.page import board_page, board_rows, fill_board, strongest
from sfumato_research.leaderboard.rows import BoardRow, from_part
from sfumato_research.leaderboard.study import STUDY
from sfumato_research.studies import Cell, Setting
from sfumato_research.studies.choice import CellChoice, resolve, short
from sfumato_research.studies.running import read_result, run_study

DOCS = Path(__file__).parents[3] / "docs"
ATTACKED = ("tokens", "linkage", "use")


@pytest.fixture
def setting(data, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr(ground, "encoder", lambda setting, model: Fake(dim=48))
    remembered, looking = ground.remembered, ground.looking
    monkeypatch.setattr(
        ground, "remembered", lambda name, finder, texts, setting: remembered(name, "lists", texts, setting)
    )
    monkeypatch.setattr(ground, "looking", lambda name, finder: looking(name, "lists"))
    return Setting(data=data, quick=True, cache=tmp_path / "cache")


def run(setting, folder, *defences, attacks=ATTACKED):
    choice = CellChoice(("fake",), defences, attacks)
    done = run_study(STUDY, replace(setting, choice=choice), folder, only=["place"])
    return from_part(read_result(done.path)["parts"]["place"])


def test_rows_have_intervals_a_date_and_the_command_that_runs_them(setting, tmp_path):
    rows = run(setting, tmp_path, "removal", "clean")
    found = {(row.defence, row.attack): row for row in rows}
    assert set(found) == {(one, two) for one in ("removal", "clean") for two in ATTACKED}
    cut, clean = found["removal", "tokens"], found["clean", "tokens"]
    assert cut.figure.low <= cut.figure.value <= cut.figure.high < clean.figure.value == clean.clean.value
    assert cut.counts == clean.counts == "yes" and cut.texts == 60 and cut.floor.value is not None
    assert found["clean", "use"].figure.value == 1 > found["removal", "use"].figure.value
    assert {row.date for row in rows} == {date.today().isoformat()}
    asked = shlex.split(cut.command)
    assert asked[:3] == ["sfumato", "study", "leaderboard"] and asked[-1] == "--quick"
    chosen = {asked[at]: asked[at + 1] for at in range(3, len(asked) - 1, 2)}
    assert chosen["--defence"] in DEFENCES and chosen["--attack"] in ATTACKS
    assert (chosen["--part"], chosen["--encoder"]) == ("place", "fake")


def test_a_row_run_again_takes_the_place_of_the_old_one(setting, tmp_path):
    run(setting, tmp_path, "removal", "clean", attacks=("linkage", "use"))
    path = tmp_path / "leaderboard.json"
    whole = json.loads(path.read_text())
    for row in whole["parts"]["place"]["tables"][0]["rows"]:
        row[whole["parts"]["place"]["tables"][0]["columns"].index("date")] = "2020-01-01"
    path.write_text(json.dumps(whole))
    rows = run(setting, tmp_path, "clean", attacks=("use",))
    dates = {(row.defence, row.attack): row.date for row in rows}
    assert len(dates) == len(rows) == 4
    assert [key for key, each in dates.items() if each != "2020-01-01"] == [("clean", "use")]


def test_a_default_is_todays_where_results_say_when_they_were_measured():
    cell = {"value": 0.5, "low": 0.4, "high": 0.6}
    row = [
        "names the hidden term",
        "tokens",
        "texts",
        cell,
        cell,
        cell,
        cell,
        cell,
        {"value": 1.0},
        {"value": None},
    ]
    head = ["question", "attack", "he holds", "clean: control", "floor", "prior", "default", "removal"]
    table = {"columns": [*head, "CPU minutes", "GPU minutes"], "rows": [row]}
    for part, default, said in (
        ({"tables": [table]}, "default-copies", PUBLISHED["attackers"]),
        ({"tables": [table], "date": "2026-11-18"}, "default", "2026-11-18"),
    ):
        found = list(attackers_rows({"place": part}))
        assert [each.defence for each in found] == ["clean", default, "removal"]
        assert {each.date for each in found} == {said} and {each.study for each in found} == {"attackers"}
        for run in RUNS:
            assert {each.study for each in attackers_rows({"place": part}, run)} == {run}, (
                "a table of its own"
            )
    assert DEFENCES["default"] == "default" and DEFENCES["default-copies"] in RELEASES


def test_a_folder_is_shown_by_its_name_alone(setting, tmp_path):
    model = tmp_path / "somewhere" / "my-model"
    model.mkdir(parents=True)
    made = BoardGround(setting, "place", str(model))
    assert made.shown == "my-model" and str(tmp_path) not in str(made.folder.relative_to(setting.cache))


def test_names_are_short_and_wrong_ones_are_refused_with_the_list():
    assert [short(each) for each in ("Laplace .7", "codes, 64 bits", "--neutral 0")] == [
        "laplace-0.7", "codes-64-bits", "neutral-0",
    ]  # fmt: skip
    assert resolve(["laplace-0.7", "Laplace .7"], DEFENCES, "defence") == ["Laplace .7"]
    with pytest.raises(ParameterError, match=r"must be one of clean, .* Did you mean removal\?"):
        resolve(["remval"], DEFENCES, "defence")


@pytest.mark.parametrize(
    ("study", "given", "said"),
    [
        ("sparse", ("--attack", "tokens"), "Found the study sparse"),
        ("leaderboard", ("--defence", "nothing"), "The defence must be one of clean"),
        ("leaderboard", ("--encoder", "minilmm", "--defence", "removal"), "minilmm"),
        ("attackers", ("--encoder", "wordllama"), "The encoder of this study must be one of minilm"),
    ],
)
def test_bad_choices_are_one_line(study, given, said, data, tmp_path):  # noqa: F811
    done = sfumato("study", study, "--data", str(data), *given, "--quick", "-o", "results", cwd=tmp_path)
    lines = done.stderr.strip().splitlines()
    assert done.returncode == 2 and len(lines) == 1 and said in lines[0], done.stderr
    assert not list(tmp_path.glob("results/*.json"))


# The pages


def made_row(defence: str, attack: str, value: float | None, **changed) -> BoardRow:
    cell = Cell(
        value, None if value is None else value - 0.02, None if value is None else value + 0.02, ".2f"
    )
    given = {
        "concept": "place", "encoder": "fake", "defence": defence, "attack": attack,
        "question": "names the hidden term", "figure": cell, "clean": Cell(0.9, form=".2f"),
        "floor": Cell(0.1, form=".2f"), "prior": Cell(0.05, form=".2f"), "counts": "yes", "texts": 60,
        "date": "2026-11-18", "minutes": 0.1, "study": "leaderboard",
        "command": f"sfumato study leaderboard --data DATA --defence {defence} --attack {attack}",
    }  # fmt: skip
    return BoardRow(**{**given, **changed})


@pytest.fixture
def results(tmp_path):
    """A small leaderboard.json, one of whose rows tries to be markup."""
    from dataclasses import asdict

    from sfumato_research.leaderboard.rows import as_table

    rows = [
        made_row("removal", "tokens", 0.2),
        made_row("clean", "tokens", 0.9),
        made_row("default", "tokens", 0.15),
        made_row("default", "neighbours", 0.95, counts="no"),
        made_row("<img src=x>", "tokens", 0.08, encoder="a|b"),
    ]
    table = asdict(as_table("rows", rows, ""))
    part = {"setting": {"quick": False, "seed": 0, "device": "cpu"}, "tables": [table]}
    (tmp_path / "leaderboard.json").write_text(json.dumps({"study": "leaderboard", "parts": {"place": part}}))
    return tmp_path


def test_the_strongest_attack_is_one_that_counts(results):
    rows = [row for row in board_rows(results) if row.defence == "default"]
    assert len(rows) == 2 and strongest(rows).attack == "tokens" and strongest([]) is None
    page = fill_board("<!-- leaderboard -->\nold\n<!-- end -->", results, results)
    assert "old" not in page and ".15 [.13, .17] (tokens)" in page and "neighbours" not in page
    assert "| default |" in page and "--defence default`" in page, "the command of all attacks"
    assert r"a\|b" in page, "a bar does not break the table"


def test_without_results_there_is_no_page(tmp_path):
    with pytest.raises(InputError, match="must hold leaderboard.json"):
        board_page(tmp_path)


def test_the_published_pages_are_what_the_results_say():
    filled = (DOCS / "leaderboard.md").read_text()
    assert fill_board(filled, DOCS, DOCS / "results") == filled, "run: make results"
    assert board_page(DOCS / "results") == (DOCS / "leaderboard-table.html").read_text(), "run: make results"
    rows = board_rows(DOCS / "results")
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", row.date) and row.command for row in rows)
    assert len({row.key for row in rows}) == len(rows)
    assert {row.encoder for row in rows if row.study == "leaderboard"} >= {"wordllama"}


@pytest.fixture(scope="module")
def browser():
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("chromium is not installed; `make system` installs it")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=found,
            args=["--no-sandbox", "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"],
        )
        yield opened
        opened.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_sorts_filters_and_asks_for_nothing(browser, results, scheme):
    path = results / "board.html"
    path.write_text(board_page(results), encoding="utf-8")
    context = browser.new_context(viewport={"width": 1280, "height": 844}, color_scheme=scheme)
    page = context.new_page()
    asked, wrong = [], []
    page.on("request", lambda sent: asked.append(sent.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda line: wrong.append(line.text) if line.type == "error" else None)
    page.goto(path.as_uri())
    shown = "[...document.querySelectorAll('tbody tr')].filter(row => !row.hidden)"

    def seen(at: int) -> list[str]:
        return page.evaluate(f"{shown}.map(row => row.cells[{at}].textContent)")

    assert len(seen(0)) == 5 and seen(2)[-1] == "<img src=x>" and not page.query_selector("td img")
    page.click("th:has-text('figure') button")
    assert [each.split()[0] for each in seen(5)] == [".08", ".15", ".20", ".90", ".95"]
    assert page.get_attribute("th:has-text('figure')", "aria-sort") == "ascending"
    page.click("th:has-text('figure') button")
    assert [each.split()[0] for each in seen(5)] == [".95", ".90", ".20", ".15", ".08"]
    page.select_option("select[name=defence]", "default")
    assert seen(3) == ["neighbours", "tokens"] and "2 of 5 rows" in page.inner_text("#shown")
    page.click("button[type=reset]")
    # A selector is looked for without `eval`, which the page forbids.
    page.wait_for_selector("#shown:text-is('5 of 5 rows')")
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(27, 26, 24)") is (scheme == "dark")
    assert wrong == [] and asked == [path.as_uri()]
    context.close()
