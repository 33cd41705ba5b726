"""Studies are run part by part, kept, resumed, and written into a page by nobody's hand."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from sfumato.errors import InputError, ParameterError
from sfumato_research.leaderboard.elsewhere import RUNS
from sfumato_research.studies import (
    STUDIES,
    Cell,
    Finding,
    Picture,
    Setting,
    Study,
    StudyOutcome,
    StudyPart,
    StudyTable,
    load_study,
)
from sfumato_research.studies.draw import Curve, curves
from sfumato_research.studies.page import fill
from sfumato_research.studies.running import run_study

RESULTS = Path(__file__).parents[3] / "docs" / "results"
EARLIER = set(RUNS) - {"attackers"}


def _study(calls: list[str]) -> Study:
    def first(setting: Setting) -> StudyOutcome:
        calls.append("first")
        table = StudyTable(
            "Values", ["row", "value"], [["a", Cell(0.5, 0.4, 0.6, printed=0.7)], ["b", None], ["c", 1200]]
        )
        drawn = curves([Curve("one", [1, 2], [0.1, 0.3])], title="T", x_label="x", y_label="y")
        return StudyOutcome([table], [Picture("demo-one.svg", drawn, "A line")])

    def second(setting: Setting) -> StudyOutcome:
        calls.append("second")
        return StudyOutcome(findings=[Finding("Table 1", "up", "1 | 2", "2", False, "noise")])

    return Study(
        "demo",
        "A demo",
        "none",
        [StudyPart("one", "First", first), StudyPart("two", "Second", second, ("set",))],
    )


def test_a_stopped_study_goes_on(tmp_path):
    calls: list[str] = []
    study, setting = _study(calls), Setting(tmp_path)
    with pytest.raises(InputError, match="reads set, not found"):
        run_study(study, setting, tmp_path)
    assert not calls, "nothing is run when data are missing"
    run_study(study, setting, tmp_path, only=["one"])
    (tmp_path / "set").mkdir()
    done = run_study(study, setting, tmp_path)
    assert calls == ["first", "second"]
    assert (done.ran, done.kept) == (("two",), ("one",))
    run_study(study, replace(setting, quick=True), tmp_path, only=["one"])
    assert calls[-1] == "first", "a quick result does not stand in for a full one, nor the other way round"
    run_study(study, setting, tmp_path, only=["two"], again=True)
    assert calls[-1] == "second"
    result = json.loads((tmp_path / "demo.json").read_text())
    assert list(result["parts"]) == ["one", "two"]
    assert {"setting", "machine", "seconds", "processor_seconds"} <= result["parts"]["one"].keys()
    assert "svg" not in result["parts"]["one"]["figures"][0]
    with pytest.raises(ParameterError, match="Parts of the study demo are one, two"):
        run_study(study, setting, tmp_path, only=["three"])


@pytest.fixture
def filled(tmp_path):
    """Fills a page that lies beside the folder of results, or in it."""
    (tmp_path / "set").mkdir()
    folder = tmp_path / "results"
    folder.mkdir()
    run_study(_study([]), Setting(tmp_path), folder)

    def fill_page(text: str, where: str = "page.md") -> str:
        page = tmp_path / where
        page.write_text(text, encoding="utf-8")
        return fill(page, folder)

    return fill_page


def test_a_page_is_filled_from_the_results(filled):
    page = "# Results\n\n<!-- study demo -->\nold <!-- end -->\n\n<!-- study demo two -->\n<!-- end -->\n"
    text = filled(page)
    assert "| a | .500 [.400, .600] (.700) |" in text
    assert "| b | – |" in text
    assert "| c | 1,200 |" in text
    assert "## First\n\nA full run, seed 0, " in text
    assert "![A line](results/demo-one.svg)" in text
    assert text.count("| Table 1 | up | 1 \\| 2 | 2 | **no** | noise |") == 2
    assert "old" not in text
    assert filled(text) == text
    assert "![A line](demo-one.svg)" in filled(page, "results/demo.md")
    with pytest.raises(InputError, match="no part three"):
        filled("<!-- study demo three -->\n<!-- end -->")


def test_findings_are_filled_in_short(filled):
    text = filled(
        "<!-- findings demo one demo-one.svg -->\n<!-- end -->\n<!-- findings demo -->\n<!-- end -->\n"
    )
    some, _, every = text.partition("<!-- end -->")
    tally = "1 findings: 0 in the claimed direction, 1 against it, 0 without a verdict. "
    assert f"{tally}0 of them are below. [Reasons and every table](results/demo.md)." in some
    assert "![A line](results/demo-one.svg)" in some and "| claim |" not in some, "no empty table"
    assert f"{tally}[Reasons and every table](results/demo.md)." in every
    assert "| Table 1 | up | 1 \\| 2 | 2 | **no** |\n" in every and "noise" not in every
    with pytest.raises(InputError, match="no part two.svg"):
        filled("<!-- findings demo one two.svg -->\n<!-- end -->")


def test_a_drawing_is_valid_and_shows_every_point():
    lines = [
        Curve("a < b", [1, 10, 100], [0.1, 0.5, 0.2], [0.0, 0.4, 0.1], [0.2, 0.6, 0.3]),
        Curve("dots", [1, 100], [0.3, 0.3], joined=False),
    ]
    drawn = curves(lines, title="T & U", x_label="x", y_label="y", x_log=True)
    root = ElementTree.fromstring(drawn)
    circles = [each for each in root.iter() if each.tag.endswith("circle")]
    assert len(circles) == 5 + 2, "a circle a point, and one a line in the key"
    assert sum(each.tag.endswith("polyline") for each in root.iter()) == 1
    xs = sorted({float(each.attrib["cx"]) for each in circles})[:3]
    assert xs[1] - xs[0] == pytest.approx(xs[2] - xs[1]), "decades are equally far apart"
    curves([Curve("one point", [1.0], [2.0])], title="", x_label="", y_label="")


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_parts(name):
    study = load_study(name)
    assert study.name == name
    names = [part.name for part in study.parts]
    assert names and len(set(names)) == len(names)
    assert all(part.title for part in study.parts)


@pytest.mark.parametrize(
    "page", [RESULTS.with_suffix(".md"), *sorted(RESULTS.glob("*.md"))], ids=lambda page: page.name
)
def test_a_published_page_is_what_the_results_say(page):
    assert fill(page, RESULTS) == page.read_text(encoding="utf-8")


def test_every_study_has_its_findings_and_its_page():
    findings = RESULTS.with_suffix(".md").read_text(encoding="utf-8")
    assert len(findings.splitlines()) <= 230, "a page that can be read"
    names = [path.stem for path in RESULTS.glob("*.json")]
    assert set(STUDIES) <= set(names)
    # A table that grows by rows has no findings, and a page beside the others.
    assert "<!-- leaderboard -->" in (RESULTS.parent / "leaderboard.md").read_text(encoding="utf-8")
    for name in set(names) - {"leaderboard"}:
        # A run that is kept beside a later one has a sentence, and its findings on its own page.
        assert f"<!-- findings {name}" in findings or name in EARLIER
        assert f"(results/{name}.md)" in findings
        assert f"<!-- study {name} -->" in (RESULTS / f"{name}.md").read_text(encoding="utf-8")


def test_an_unknown_study_is_refused():
    with pytest.raises(ParameterError, match="must be one of frontier, encoders, attackers, leaderboard"):
        load_study("spars")
