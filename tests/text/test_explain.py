"""Explanations for the owner: every word, safe to show and safe to open."""

from __future__ import annotations

from rich.console import Console

from sfumato.text import Budgets, Rewriter
from sfumato.text.explain import as_page, as_table, as_text, explain
from tests.text.small import Pattern, vocabulary

TEXT = "Oil <script>alert(1)</script> \x1b[31mprice\x07 John 'x' & fell"


def explained(text=TEXT):
    machine = Rewriter(
        vocabulary(), Budgets(5, 0, 800, 1000), sensitive=[Pattern("John")], task="oil", unknown="keep"
    )
    made = machine.rewrite([text])[0]
    return made, explain(machine, text, made)


def printed(*parts):
    console = Console(width=120, force_terminal=True, color_system="standard", record=True)
    with console.capture() as shown:
        console.print(*parts)
    return shown.get()


def test_every_word_has_its_group_budget_and_chance():
    made, shown = explained()
    assert made.text == "".join(word.before + word.written for word in shown.words) + shown.tail
    by_source = {word.source: word for word in shown.words}
    assert by_source["John"].epsilon == "hidden" and by_source["John"].chance == 1.0
    assert (
        by_source["Oil"].epsilon == "800" and by_source["Oil"].chance == 0.0 and not by_source["Oil"].replaced
    )
    assert by_source["script"].epsilon == "kept" and by_source["John"].replaced
    assert int(by_source["Oil"].group) == 3 and "same groups" in shown.promise
    assert 8 <= shown.draws <= 64


def test_the_terminal_shows_colours_and_obeys_nothing_in_the_text():
    _, shown = explained()
    view = printed(as_text(shown), as_table(shown, most=3))
    assert "\x1b[32mOil" in view and "[hidden]" in view
    assert "\x07" not in view and "\x1b[31mprice" not in view and "\ufffd" in view
    assert "words more" in view


def test_the_page_is_self_contained_and_escaped():
    _, shown = explained()
    page = as_page([shown, shown])
    assert "<script" not in page and "&lt;" in page and "http" not in page and "src=" not in page
    assert page.count("<h2>") == 2 and 'title="was: John' in page and "Do not publish" in page
    assert "replaced with chance 1.00" in page and "same groups" in page
