"""Concepts: finding, removing, replacing, substituting, saving."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.concepts import CATALOG, Concept, Dictionary, Patterns, Span, build_pairs, catalog
from sfumato.concepts.detectors import spacy
from sfumato.concepts.detectors.dictionary import folded
from sfumato.concepts.texts.edits import cut
from sfumato.errors import ArtifactError, ParameterError
from sfumato.randomness import generator

CITIES = ("Paris", "New York", "Rome", "Oslo", "São Paulo")
CITY = Concept.from_terms("city", CITIES)
FILLERS = ["she", "went", "to", "and", "then", "saw", "old", "houses", "in", "spring"]
WORDS = st.sampled_from([*CITIES, *FILLERS, "PARIS", "oslo"])
GAPS = st.sampled_from([" ", ", ", ". ", " (", ") ", "\n", "-"])
SENTENCES = st.lists(st.tuples(WORDS, GAPS), max_size=14).map(
    lambda parts: "".join(word + gap for word, gap in parts)
)


def test_terms_are_found_whole_and_in_any_case():
    text = "PARIS, new  york; Parisian"
    assert CITY.find(text) == [Span(0, 5, "city"), Span(7, 16, "city")]
    assert CITY.terms_in(text + " Paris") == ["paris", "new york"]
    assert CITY.find("") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("She moved to Paris.", "She moved to."),
        ("Paris is big", "is big"),
        ("Paris, they say, is big", "they say, is big"),
        ("from Paris to Rome, via Oslo", "from to, via"),
        ("Paris, Rome and Oslo are old", "and are old"),
        ("the city (Paris) is big", "the city is big"),
        ("the city ( Paris , Rome ) is", "the city is"),
        ('say "a" Paris "b"', 'say "a" "b"'),
        ("Paris's streets", "streets"),
        ("a Paris-based firm", "a based firm"),
        ('"Paris" she said', "she said"),
        ("in Paris ,", "in ,"),
        ("line one\nParis\nline two", "line one\n\nline two"),
        ("in Paris! Yes", "in! Yes"),
        ("he left, Paris.", "he left."),
        ("she Paris Paris-she", "she she"),
        ("back to Paris\nand on", "back to\nand on"),
        ("Paris", ""),
        ("no city here ,  at all", "no city here ,  at all"),
    ],
)
def test_removal_tidies_where_it_stood_and_nowhere_else(text, expected):
    assert CITY.remove(text) == expected


@given(SENTENCES)
def test_removal_leaves_every_other_word_and_no_term(text):
    left = CITY.remove(text)
    assert CITY.find(left) == []
    others = [word for word in re.findall(r"\w+", text) if word in FILLERS]
    kept = re.findall(r"\w+", left)
    # "New York" leaves nothing behind, so what is kept is exactly what is not a term.
    assert kept == others
    assert CITY.remove(left) == left


@given(st.text(max_size=60))
def test_a_text_without_the_concept_comes_back_as_it_was(text):
    if not CITY.find(text):
        assert CITY.remove(text) == CITY.replace(text) == CITY.substitute(text, generator(0)) == text


def test_what_only_shows_once_another_term_is_gone_goes_too():
    concept = Concept.from_terms("x", ["b", "a c"])
    assert concept.remove("a b c d") == "d"


@given(SENTENCES, st.integers(0, 5))
def test_substitution_changes_every_term_and_nothing_else(text, seed):
    new = CITY.substitute(text, generator(seed))
    before, after = CITY.find(text), CITY.find(new)
    assert len(before) == len(after)
    assert CITY.replace(text, "x") == CITY.replace(new, "x")
    for old, fresh in zip(before, after, strict=True):
        was, now = text[old.start : old.end], new[fresh.start : fresh.end]
        assert folded(was) != folded(now)
        assert (was.isupper(), was.islower()) == (now.isupper(), now.islower())
    assert CITY.substitute(text, generator(seed)) == new


def test_a_term_that_recurs_gets_one_substitute_and_no_term_of_the_text():
    for seed in range(20):
        new = CITY.substitute("Paris and Rome and PARIS", generator(seed)).split(" and ")
        assert new[0].upper() == new[2]
        assert {folded(word) for word in new}.isdisjoint({"paris", "rome"})


def test_substitution_needs_two_values():
    with pytest.raises(ParameterError, match="two values"):
        Concept.from_terms("x", ["one"]).substitute("one two", generator(0))
    with pytest.raises(ParameterError, match="must have terms"):
        Concept.from_detector("x", Patterns("email")).substitute("a@b.org", generator(0))
    # All values are in the text: one of them has to do.
    assert Concept.from_terms("x", ["one", "two"]).substitute("one two", generator(0)) == "two one"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("date", "On 12 May 2020, 2019-03-04 and Sept. 3rd, 1999."),
        ("age", "A 45-year-old and a forty-two-year-old."),
        ("number", "They paid $1,200.50 and 12 % for twenty-two."),
        ("email", "To a.b@example.org."),
        ("phone", "Call +44 20 7946 0958 or (212) 555-0143."),
        ("identifier", "Card 4111 1111 1111 1111, IBAN GB82 WEST 1234 5698 7654 32, from 10.1.2.3."),
        ("weekday", "Closed on Monday."),
        ("month", "Open in March and Oct. 3."),
        ("sex", "The man and Mrs. Lee, 45 yo M, saw a GIRL."),
        ("country", "From France to Germany."),
        ("person", "Dr. John Smith saw J. Brown and Mary."),
    ],
)
def test_values_made_up_are_found_again(name, text):
    concept = Concept.named(name)
    for seed in range(8):
        new = concept.substitute(text, generator(seed))
        assert len(concept.find(new)) == len(concept.find(text))
        assert not set(concept.terms_in(new)) & set(concept.terms_in(text))


def test_replacing():
    assert CITY.replace("Paris and Rome") == "something and something"
    assert CITY.replace("Paris and Rome", "[CITY]") == "[CITY] and [CITY]"
    assert CITY.replace("Paris and Rome", str.upper) == "PARIS and ROME"
    assert Concept.named("country").replace("In France.") == "In a country."


def test_spans_that_come_with_the_data():
    concept = Concept.from_spans("PER, ORG")
    text = "Ann at Acme in Rome"
    spans = [{"start": 0, "end": 3, "label": "per"}, (7, 11, "ORG"), Span(15, 19, "LOC")]
    assert concept.find(text, spans) == [Span(0, 3, "per"), Span(7, 11, "per")]
    assert concept.remove(text, spans) == "at in Rome"
    assert concept.replace(text, "X", spans) == "X at X in Rome"
    assert list(concept.find_all([text], [spans])) == [concept.find(text, spans)]
    with pytest.raises(ParameterError, match="takes its spans from the data"):
        concept.find(text)
    with pytest.raises(ParameterError, match="Found 1 for 2 texts"):
        concept.find_all([text, text], [spans])
    with pytest.raises(ParameterError, match="must name a label"):
        Concept.from_spans(" , ")


def test_what_presidio_found_before():
    results = [SimpleNamespace(entity_type="PERSON", start=0, end=3, score=0.9)]
    concept = Concept.from_presidio("person", [("Ann and Bob", results)])
    assert concept.terms == ("Ann",)
    assert concept.find("Ann and Bob") == [Span(0, 3, "person")]
    assert concept.terms_in("Later ann came") == ["ann"]
    batch = [SimpleNamespace(key="notes", value=["Ann and Bob"], recognizer_results=[results])]
    assert Concept.from_presidio("person", batch).terms == ("Ann",)
    assert Concept.from_dict(concept.to_dict()).terms_in("Ann and Bob") == ["ann"]
    with pytest.raises(ParameterError, match="at least one term"):
        Concept.from_presidio("person", [("Ann", [])])


@pytest.mark.parametrize(
    "concept",
    [
        CITY,
        Concept.from_terms("x", ["a", "B"], ignore_case=False),
        Concept.from_spans("PER,LOC", name="both"),
        Concept.named("age"),
    ],
    ids=lambda concept: concept.name,
)
def test_saved_concepts_come_back_the_same(concept):
    kept = json.loads(json.dumps(concept.to_dict()))
    again = Concept.from_dict(kept)
    assert again == concept and again.to_dict() == kept and hash(again) == hash(concept)


def test_a_concept_found_by_less_than_before_says_so(monkeypatch):
    kept = Concept.named("person").to_dict() | {"found_by": "spaCy en_core_web_trf + name lists"}
    monkeypatch.setattr(spacy, "best_model", lambda: None)
    monkeypatch.setattr(catalog, "tagger_ready", lambda: False)
    with pytest.warns(UserWarning, match="found by spaCy en_core_web_trf.*here it is found by name lists"):
        Concept.from_dict(kept)


def test_a_detector_of_your_own_has_to_be_handed_over_again():
    own = Dictionary(["a", "b"], name="mine")
    concept = Concept.from_detector("x", own, terms=["a", "b"])
    kept = concept.to_dict()
    assert kept == {"name": "x", "source": "detector", "found_by": "mine", "terms": ["a", "b"]}
    assert Concept.from_dict(kept, detector=own) == concept
    with pytest.raises(ParameterError, match="Hand it over"):
        Concept.from_dict(kept)
    for damaged in ({}, {"name": "x", "source": "terms"}, {"name": "x", "source": "magic"}):
        with pytest.raises(ArtifactError, match="saved concept"):
            Concept.from_dict(damaged)


def test_bad_concepts_are_refused_and_no_term_is_shown():
    with pytest.raises(ParameterError, match="list of strings"):
        Concept.from_terms("x", "Paris")
    with pytest.raises(ParameterError, match="at least one term"):
        Concept.from_terms("x", ["", " "])
    with pytest.raises(ParameterError, match="Found int"):
        Concept.from_terms("x", ["a", 3])
    with pytest.raises(ParameterError, match="must have a name"):
        Concept.from_terms(" ", ["a"])
    with pytest.raises(ParameterError, match="must have a detector"):
        Concept("x")
    assert "Paris" not in repr(CITY) and "5 terms" in repr(CITY)


def test_every_named_concept_says_what_finds_it():
    for name in CATALOG:
        concept = Concept.named(name)
        assert concept.found_by and concept.blind_to


def test_cutting_nothing_changes_nothing():
    assert cut("  a ,  b ", []) == "  a ,  b "


@pytest.mark.parametrize("name", ["age", "date", "phone", "identifier", "person", "email"])
@pytest.mark.parametrize("surface", ["old", "XX-year-old", "months", "No.", "0", "+1", "o", "n/a"])
def test_whatever_a_tagger_takes_for_a_value_another_can_be_put_in_its_place(name, surface):
    swap = Concept.named(name).swap
    drawn = [folded(swap(surface, generator(seed))) for seed in range(20)]
    assert folded(surface) not in drawn and len(set(drawn)) > 1


def test_an_age_without_a_number_does_not_end_learning():
    class Tagged:
        name, blind_to = "tagged", ""

        def find(self, text):
            return [Span(2, 13, "age")]

    ages = ("XX-year-old", "40-year-old")
    texts = [f"A {age} man came in on day {day}." for day in range(20) for age in ages]
    made = build_pairs(texts, replace(Concept.named("age"), detector=Tagged()), seed=0)
    assert len(made.substitutes) == len(texts) and not set(made.substitutes) & set(texts)
