"""The list of the papers' tables and figures is whole, and what it calls run has results."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from sfumato.errors import InputError
from sfumato_research.papers import PAPERS, Numbered, PaperCell, load_paper
from sfumato_research.papers.base import OUTSIDE
from sfumato_research.papers.lines import anchor, find_cell, lies_above, paper_lines, speaks_of
from sfumato_research.studies import STUDIES, load_study
from sfumato_research.studies.page import fill
from sfumato_research.studies.running import read_result

RESULTS = Path(__file__).parents[2] / "docs" / "results"
NUMBERED = {"sparse": (12, 3), "dppn": (9, 8), "privemb": (1, 7), "vec2text": (7, 7), "stamp": (1, 6)}
"""Tables and figures that each paper numbers, counted in the papers."""
CASES = [(paper.name, each) for paper in PAPERS for each in paper.numbered]
RUN = [(name, each) for name, each in CASES if each.parts]


@cache
def result(study):
    return read_result(RESULTS / f"{study}.json")["parts"]


def ids(value):
    return value if isinstance(value, str) else value.label


def test_every_paper_is_listed():
    assert [paper.name for paper in PAPERS] == list(NUMBERED)
    with pytest.raises(InputError, match="must be one of sparse"):
        load_paper("sparce")


@pytest.mark.parametrize("name", NUMBERED)
def test_every_number_is_there_once(name):
    tables, figures = NUMBERED[name]
    expected = [f"Table {n + 1}" for n in range(tables)] + [f"Figure {n + 1}" for n in range(figures)]
    assert [each.label for each in load_paper(name).numbered] == expected


@pytest.mark.parametrize(("name", "each"), CASES, ids=ids)
def test_a_line_says_what_and_why(name, each):
    assert each.gist
    assert each.parts or (each.missing and not each.shown and not each.above)


@pytest.mark.parametrize(("name", "each"), RUN, ids=ids)
def test_what_is_called_run_is_a_part_of_a_study_and_has_its_result(name, each):
    for study, part in each.places(name):
        assert study in STUDIES or study in OUTSIDE
        if study in STUDIES:
            assert part in [known.name for known in load_study(study).parts]
        found = result(study)[part]
        assert not found["setting"]["quick"]
        assert found["tables"] or found["figures"]
        heading = f"## {found['title']}"
        assert heading in (RESULTS / f"{study}.md").read_text(encoding="utf-8").splitlines()
    for shown in each.shown:
        cell = find_cell([result(study)[part] for study, part in each.places(name)], shown)
        assert cell["value"] is not None
    assert not each.above or len(each.shown) >= 2


@pytest.mark.parametrize("name", NUMBERED)
def test_no_finding_about_a_numbered_table_is_left_out(name):
    numbered = load_paper(name).numbered
    for part, found in result(name).items():
        for finding in found["findings"]:
            label = finding["table"].partition(",")[0]
            if re.fullmatch(r"(Table|Figure) \d+", label):
                assert any(part in each.parts and speaks_of(each, label) for each in numbered), label


def test_the_page_is_filled_from_the_results():
    page = RESULTS / "papers.md"
    assert page.read_text(encoding="utf-8") == fill(page, RESULTS), "make results"


@pytest.mark.parametrize("name", NUMBERED)
def test_a_study_s_page_ends_with_what_differs_from_the_paper(name):
    last = (RESULTS / f"{name}.md").read_text(encoding="utf-8").partition("## What the paper did")[2]
    rows = [line for line in last.splitlines() if line.startswith("|")]
    assert "| what the paper did | what we did | why |" in rows[0]
    assert len(rows) >= 8 and all(row.count("|") == 5 for row in rows)


def test_a_line_that_is_not_run_gives_its_reason():
    lines = paper_lines("sparse", RESULTS, ".", str)
    assert lines[5][2:5] == ["no", "–", "–"] and lines[5][5].startswith("Describes data")


def test_a_list_that_names_nothing_is_refused():
    part = {"tables": [{"title": "one", "columns": ["release", "leakage"], "rows": [["a", {"value": 1.0}]]}]}
    assert find_cell([part], PaperCell("", "o", ("a",), "leakage")) == {"value": 1.0}
    for wrong in (PaperCell("", "two", ("a",), "leakage"), PaperCell("", "o", ("b",), "leakage")):
        with pytest.raises(InputError, match="Mend the list"):
            find_cell([part], wrong)


def test_intervals_decide_what_lies_above():
    low, high = {"low": 1.0, "high": 2.0}, {"low": 3.0, "high": 4.0}
    assert lies_above(high, low) is True and lies_above(low, high) is False
    assert lies_above(low, {"low": 2.0, "high": 9.0}) is None
    assert lies_above(low, {"low": None, "high": None}) is None


@pytest.mark.parametrize(
    ("title", "there"),
    [
        ("Table 10: the penalty's weight", "table-10-the-penaltys-weight"),
        ("Figures 1, 2, 5, 6: distances", "figures-1-2-5-6-distances"),
        ("What it gives away (not in the paper)", "what-it-gives-away-not-in-the-paper"),
    ],
)
def test_anchors_are_those_of_the_site(title, there):
    assert anchor(title) == there


def test_a_finding_may_name_its_data_set():
    each = Numbered("Table", 1, "")
    assert speaks_of(each, "Table 1, squad") and not speaks_of(each, "Table 12")
