"""The catalog: planted examples are found, with and without the optional packages."""

from __future__ import annotations

import json

import pytest

from sfumato.cli import concepts as command
from sfumato.concepts import CATALOG, Concept, catalog, concept_names
from sfumato.concepts.detectors import lexicons, spacy
from sfumato.concepts.detectors.dictionary import folded
from sfumato.concepts.lists import medical, organisations, people, places
from sfumato.errors import ParameterError

PLANTED = {
    "person": ("We met John Smith and Dr. Ana Pérez there.", ["john smith", "ana pérez"]),
    "location": ("She left Paris for the United States.", ["paris", "united states"]),
    "country": ("From Brazil to South Korea.", ["brazil", "south korea"]),
    "city": ("A nice trip to Nice and são paulo.", ["nice", "são paulo"]),
    "state": ("Born in new hampshire.", ["new hampshire"]),
    "organisation": ("She works at Microsoft.", ["microsoft"]),
    "date": ("Seen on 12 May 2020.", ["12 may 2020"]),
    "weekday": ("Closed on Mondays.", ["mondays"]),
    "month": ("Open in September.", ["september"]),
    "age": ("A 45-year-old came.", ["45-year-old"]),
    "sex": ("The woman and Mr. Lee.", ["woman", "mr."]),
    "number": ("We counted 1,204 of them.", ["1,204"]),
    "email": ("Write to a.b@example.org soon.", ["a.b@example.org"]),
    "phone": ("Call +44 20 7946 0958.", ["+44 20 7946 0958"]),
    "identifier": ("Card 4111 1111 1111 1111, please.", ["4111 1111 1111 1111"]),
    "disease": ("Known asthma and type 2 diabetes.", ["asthma", "type 2 diabetes"]),
    "symptom": ("Reports chest pain and nausea.", ["chest pain", "nausea"]),
    "drug": ("Takes Tylenol and metformin.", ["tylenol", "metformin"]),
}


@pytest.fixture
def bare(monkeypatch):
    """A machine on which no optional package is installed."""
    monkeypatch.setattr(spacy, "best_model", lambda: None)
    monkeypatch.setattr(lexicons, "installed", lambda kind: False)
    monkeypatch.setattr(catalog, "tagger_ready", lambda: False)


def test_every_concept_has_an_example():
    assert set(PLANTED) == set(concept_names()) == set(CATALOG)


@pytest.mark.parametrize("name", PLANTED)
def test_planted_examples_are_found_without_any_package(bare, name):
    text, terms = PLANTED[name]
    concept = Concept.named(name)
    assert concept.terms_in(text) == terms
    assert all(span.label == name for span in concept.find(text))
    assert concept.terms_in(concept.remove(text)) == []


@pytest.mark.parametrize("name", PLANTED)
def test_planted_examples_are_found_with_what_is_installed(name):
    text, terms = PLANTED[name]
    found = " ".join(Concept.named(name).terms_in(text))
    assert all(term in found for term in terms)


@pytest.mark.parametrize("name", PLANTED)
def test_terms_can_stand_in_for_each_other(name):
    entry = CATALOG[name]
    assert len({folded(term) for term in entry.terms}) >= 3
    assert len(entry.terms) == len(set(entry.terms))
    assert entry.placeholder and entry.summary and entry.blind_to.endswith(".")
    assert all(term == " ".join(term.split()) for term in entry.terms)


@pytest.mark.parametrize(
    "name", ["country", "city", "state", "weekday", "month", "email", "phone", "identifier"]
)
def test_a_listed_term_is_found_where_it_stands_alone(bare, name):
    concept = Concept.named(name)
    missed = [term for term in concept.terms if not concept.find(f"see {term} there")]
    assert missed == []


def test_lists_are_of_a_sensible_size():
    assert 190 <= len(places.COUNTRIES) <= 230 and len(places.STATES) == 52
    assert 400 <= len(places.CITIES) <= 500
    assert 300 <= len(people.FIRST_NAMES) <= 450 and 150 <= len(people.SURNAMES) <= 250
    assert min(map(len, (medical.DISEASES, medical.SYMPTOMS, medical.DRUGS))) > 120
    for everyday, names in (
        (places.CASED, places.PLACES + ("Victoria", "Carolina")),
        (organisations.CASED, organisations.ORGANISATIONS),
        (medical.CASED, medical.DISEASES + medical.DRUGS),
    ):
        assert everyday <= set(names)


def test_names_are_looked_up_kindly():
    assert Concept.named(" Location ").name == "location"
    assert Concept.named("organization").name == "organisation"
    with pytest.raises(ParameterError, match="one of: person.*'locaton'. Did you mean `location`"):
        Concept.named("locaton")
    with pytest.raises(ParameterError, match="one of"):
        Concept.named(3)


def test_the_command_says_what_is_there_and_what_is_missing(bare, tmp_path, capsys):
    command.command(tmp_path / "concepts.json")
    shown = capsys.readouterr().out
    data = json.loads((tmp_path / "concepts.json").read_text())
    assert [row["name"] for row in data["concepts"]] == list(concept_names())
    by_name = {row["name"]: row for row in data["concepts"]}
    assert by_name["person"]["found_by"][:2] == ["name lists", "names in addresses"]
    assert by_name["person"]["languages"] == ["en", "de", "fr", "es"] and "de German" in shown
    assert by_name["person"]["improved_by"] == ["sfumato-minilm-tagger", "spaCy with an English pipeline"]
    assert by_name["drug"]["improved_by"] == ["drug-named-entity-recognition", "sfumato-minilm-tagger"]
    assert by_name["email"]["improved_by"] == []
    assert {row["name"] for row in data["detectors"]} >= {"patterns", "spacy", "presidio", "lexicon"}
    assert all(name in shown for name in concept_names()) and "make ner" in shown


def test_the_command_has_a_name_and_an_example():
    assert command.NAME == "concepts" and command.EXAMPLE.startswith("Example: sfumato concepts")
