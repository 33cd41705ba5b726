"""Capitalised words of any kind: what counts, what does not, and concepts that use them."""

from __future__ import annotations

import time

import pytest

from sfumato.cli.options.shared import named_concepts
from sfumato.concepts import CATALOG, Concept, catalog
from sfumato.concepts.detectors import lexicons, spacy
from sfumato.concepts.detectors.capitals import Capitals
from sfumato.concepts.lists.words import COMMON
from sfumato.errors import InputError, ParameterError


@pytest.fixture
def bare(monkeypatch):
    """A machine on which no optional package is installed."""
    monkeypatch.setattr(spacy, "best_model", lambda: None)
    monkeypatch.setattr(lexicons, "installed", lambda kind: False)
    monkeypatch.setattr(catalog, "tagger_ready", lambda: False)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Yesterday Zbigniew Wrzesz left Ouarzazate.", ["Zbigniew Wrzesz", "Ouarzazate"]),
        ("Wrzesz said nothing. Tkalec's brother did.", ["Wrzesz", "Tkalec"]),
        ("However, we don't know; I'm late. Don't go, Won't he? We'll see.", []),
        ("Running late. Quickly, the Government met on Monday.", []),
        ("He saw Sitting Bull", ["Sitting Bull"]),
        ("SHARES OF WRZESZ FALL IN ZAGORA TRADING", ["WRZESZ FALL", "ZAGORA"]),
        ("the nurse met o'brien", []),
        ("then O'Dwyer and Al-Rashid came", ["O'Dwyer", "Al-Rashid"]),
        ("A B C 12 Ü", []),
        ("", []),
    ],
)
def test_what_counts(text, wanted):
    assert [text[span.start : span.end] for span in Capitals().find(text)] == wanted


def test_common_words_are_in_lower_case():
    assert all(word == word.lower() and word.isalpha() for word in COMMON) and len(COMMON) > 800


def test_a_wide_concept_finds_names_that_no_list_has(bare):
    text = "In May Zbigniew Wrzesz wrote to the ministry."
    assert Concept.named("person").find(text) == []
    wide = Concept.named("person", wide=True)
    assert [(text[span.start : span.end], span.label) for span in wide.find(text)] == [
        ("Zbigniew Wrzesz", "person")
    ]
    assert "capitalised words" in wide.found_by and "lower case" in wide.blind_to
    # What the lists find in lower case is found as before.
    assert Concept.named("location", wide=True).terms_in("from paris to Zagora") == ["paris", "zagora"]


def test_it_is_kept_and_left_out_of_what_was_kept_before(bare):
    wide = Concept.named("person", wide=True)
    again = Concept.from_dict(wide.to_dict())
    assert again.wide and again.found_by == wide.found_by
    assert "wide" not in Concept.named("person").to_dict()
    assert not Concept.from_dict(Concept.named("person").to_dict()).wide


@pytest.mark.parametrize("name", sorted(CATALOG))
def test_only_kinds_of_names_can_be_wide(bare, name):
    if name in ("person", "location", "country", "city", "state", "organisation"):
        assert Concept.named(name, wide=True).wide
    else:
        with pytest.raises(ParameterError, match="kinds of names"):
            Concept.named(name, wide=True)


def test_the_command_line_asks_for_a_named_concept(bare):
    assert named_concepts(["person"], None, None, wide=True)[0].wide
    with pytest.raises(InputError, match="--wide"):
        named_concepts(None, None, ["PER"], wide=True)


@pytest.mark.parametrize("piece", ["Rome ", "A-", "O'", "\n", "X" * 50 + " ", "Ab.", "(", " "])
def test_time_grows_with_the_text(piece):
    def seconds(copies):
        text = piece * copies
        started = time.process_time()
        Capitals().find(text)
        return time.process_time() - started

    seconds(1000)
    assert min(seconds(40_000) for _ in range(3)) < 8 * min(seconds(10_000) for _ in range(3)) + 0.1
