"""Group maps of one's own: what a function may decide, and what it may not."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.randomness import generator
from sfumato.text import Budgets, Group, GroupMap, Rewriter, TermGroups
from tests.text.small import Pattern, vocabulary

TEXT = "The doctor told John Smith about the oil price"


def grouped(function, text=TEXT, sensitive=(), task=""):
    return next(GroupMap(sensitive, function=function).group([text], [task]))


def numbers(found):
    return [int(group) for group in found.groups]


def test_a_function_is_told_of_every_word_and_gives_its_group():
    told = []

    def by_length(text, task, words):
        told.append((task, words))
        return np.array([3 if word.end - word.start > 4 else 4 for word in words])

    found = grouped(by_length, task="a question")
    assert numbers(found) == [4, 3, 4, 4, 3, 3, 4, 4, 3]
    ((task, words),) = told
    assert task == "a question" and TEXT[words[1].start : words[1].end] == "doctor"
    assert {word.group for word in words} == {Group.OTHER} and not words[0].sensitive


def test_what_detectors_found_stays_sensitive_and_in_one_group():
    names = [Pattern("John Smith")]
    assert numbers(grouped(lambda text, task, words: [4] * 9, sensitive=names))[3:5] == [2, 2]
    assert numbers(grouped(lambda text, task, words: [3] * 9, sensitive=names))[3:5] == [1, 1]
    # The strictest that any word of the span was given.
    mixed = grouped(lambda text, task, words: [4, 4, 4, 1, 2, 4, 4, 4, 4], sensitive=names)
    assert numbers(mixed)[3:5] == [2, 2]


def test_what_a_function_adds_is_treated_as_sensitive():
    machine = Rewriter(vocabulary(), Budgets(9, 0, 900, 900), grouping=TermGroups({"oil price": 2}))
    (made,) = machine.rewrite([f"{TEXT}."])
    assert made.text.endswith(" [hidden] [hidden].")
    assert "oil" not in made.text and any("map of the caller's, terms" in note for note in made.promise.notes)
    (plain,) = machine.with_grouping(None).rewrite([TEXT])
    assert "[hidden]" not in plain.text and len(plain.promise.notes) == len(made.promise.notes) - 1


def test_positions_stay_whatever_is_added():
    """Words made sensitive one by one change no position, with and without spans beside them."""
    rng = generator(7)
    words = ["oil", "didn't", "São", "a.b@c.de", "12", "(price)", "John-Smith", "…", "fell,"]
    for _ in range(200):
        text = " ".join(rng.choice(words, 6))
        found = [Pattern("John|oil fell|12")]
        before = grouped(None, text, found)
        after = grouped(lambda text, task, places: rng.integers(1, 5, len(places)), text, found)
        assert [(one.start, one.end) for one in after.layout.pieces] == [
            (one.start, one.end) for one in before.layout.pieces
        ]
        pairs = zip(after.layout.pieces, after.groups, strict=True)
        assert all((piece.span >= 0) == group.sensitive for piece, group in pairs)


@pytest.mark.parametrize("given", [[4] * 8, [5] * 9, [0] * 9, [True] * 9, ["3"] * 9, [2.0] * 9, [None] * 9])
def test_groups_that_are_none_are_refused_by_row(given):
    with pytest.raises(ParameterError, match=r"[Rr]ow 0") as caught:
        grouped(lambda text, task, words: given)
    assert "John" not in str(caught.value)


def test_the_longest_phrase_wins_and_the_end_of_a_text_is_no_phrase():
    terms = TermGroups({"oil": 3, "Oil Price": 1, "price": 3, "the oil price of gold": 2})
    assert numbers(grouped(terms)) == [4] * 7 + [1, 1]
    assert numbers(grouped(terms, "price oil")) == [3, 3]
    assert numbers(grouped(terms, "gold")) == [4]


def written(tmp_path, text):
    path = tmp_path / "groups.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_a_file_has_a_term_and_a_group_a_line(tmp_path):
    found = TermGroups.from_file(written(tmp_path, "# ours\nJohn Smith\t2\n\noil\t3\noil\t3\n"))
    assert numbers(grouped(found)) == [4, 4, 4, 2, 2, 4, 4, 3, 4]
    assert found.name == "terms of groups.tsv"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "at least one"),
        ("John 2\n", "Line 1"),
        ("oil\t3\nJohn\t5\n", "Line 2"),
        ("...\t2\n", "hold a word"),
        ("John\t2\nJohn\t3\n", "Line 2"),
        ("John\t2\njohn\t3\n", "one group"),
        (b"John\t2\n\xff\t3\n", "Line 2"),
    ],
)
def test_files_that_are_none_are_refused_without_their_terms(tmp_path, text, said):
    with pytest.raises(InputError, match=said) as caught:
        TermGroups.from_file(written(tmp_path, text))
    assert "John" not in str(caught.value)
    with pytest.raises(InputError, match="no such file"):
        TermGroups.from_file(tmp_path / "none.tsv")
