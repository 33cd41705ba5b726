"""Detectors that need optional packages: what they find, and that nothing is ever fetched."""

from __future__ import annotations

import socket

import pytest

from sfumato.concepts import DETECTORS, Concept, Span
from sfumato.concepts.detectors import lexicons, presidio, spacy
from sfumato.errors import MissingPackageError, ParameterError
from sfumato.preparing import find_mentions

TEXT = "John Smith (john.smith@example.com) from Paris called +1 212-555-0143 about card 4111 1111 1111 1111."


def needs(name):
    return pytest.mark.skipif(not DETECTORS.installed(name), reason=DETECTORS.install_line(name))


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError("a detector reached for the network")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def model():
    found = spacy.best_model()
    if found is None:
        pytest.skip("no English spaCy pipeline: make ner")
    return found


def labels(detector, text=TEXT):
    return {text[span.start : span.end]: span.label for span in detector.find(text)}


@needs("spacy")
def test_spacy_finds_names_under_the_words_of_the_catalog(model):
    found = labels(spacy.Spacy())
    assert found["John Smith"] == "person" and found["Paris"] == "location"
    only = spacy.Spacy(model, labels=["person"])
    assert set(labels(only).values()) == {"person"} and "person" in only.name
    assert set(labels(spacy.Spacy(labels=["GPE"])).values()) == {"location"}
    assert labels(spacy.Spacy(mapping={}))["Paris"] == "gpe"


@needs("spacy")
def test_several_concepts_have_texts_searched_once_and_nothing_is_kept(model, monkeypatch):
    searched, entities = [], spacy._entities_of
    monkeypatch.setattr(
        spacy,
        "_entities_of",
        lambda pipeline, batch: searched.append(len(batch)) or entities(pipeline, batch),
    )
    texts = [f"{number}. {TEXT}" for number in range(70)]
    kinds = [spacy.Spacy(model, labels=[label]) for label in ("person", "location", "organisation")]
    concepts = [Concept.from_detector(kind.name, kind, terms=["x"]) for kind in kinds]
    found = find_mentions(concepts, 1, texts)
    assert sum(searched) == 70 and all(len(row) >= 2 for row in found)
    alone = [[m for m in row if m.span.label == kinds[0].name] for row in found]
    assert [[m.span for m in row] for row in find_mentions(concepts[:1], 1, texts)] == [
        [m.span for m in row] for row in alone
    ]
    # Another request is searched again: how long it takes tells nothing about the first.
    assert sum(searched) == 140


@needs("spacy")
def test_spacy_takes_texts_longer_than_a_piece(model):
    text = "It rained and rained again. " * 400 + "John Smith went to Paris. " + "x" * 500
    detector = spacy.Spacy(model)
    found = {text[span.start : span.end] for span in detector.find(text)}
    assert {"John Smith", "Paris"} <= found
    # Pieces of one text never mix with those of the next.
    assert list(detector.find_many([text, "", text])) == [detector.find(text), [], detector.find(text)]


@needs("spacy")
def test_a_pipeline_that_is_not_there_is_refused_and_not_downloaded(tmp_path):
    with pytest.raises(ParameterError, match="installed spaCy pipeline.*make ner"):
        spacy.Spacy("no_such_pipeline").find("x")
    with pytest.raises(ParameterError, match="installed spaCy pipeline"):
        spacy.Spacy(tmp_path).find("x")


@needs("spacy")
def test_any_pipeline_is_taken_by_its_folder(tmp_path):
    import spacy as package

    pipeline = package.blank("en")
    ruler = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": "SHIP", "pattern": "Beagle"}])
    pipeline.to_disk(tmp_path / "ships")
    detector = spacy.Spacy(tmp_path / "ships")
    assert detector.find("the Beagle sails") == [Span(4, 10, "ship")]
    assert detector.name == "spaCy ships"
    concept = Concept.from_detector("ship", detector, terms=["Beagle", "Victory"])
    assert concept.remove("the Beagle sails") == "the sails"


def test_a_missing_pipeline_says_how_to_get_one(monkeypatch):
    monkeypatch.setattr(spacy, "best_model", lambda: None)
    with pytest.raises(MissingPackageError, match=r"make ner.*sfumato\[ner\]"):
        spacy.Spacy()
    monkeypatch.setattr("importlib.util.find_spec", lambda name, package=None: None)
    with pytest.raises(MissingPackageError, match="presidio-analyzer"):
        presidio.Presidio()
    assert not lexicons.installed("drug")
    with pytest.raises(MissingPackageError, match="drug-named-entity-recognition"):
        lexicons.Lexicon("drug")


@needs("presidio")
def test_presidio_patterns_work_alone_and_offline():
    detector = presidio.Presidio()
    found = labels(detector)
    assert found["john.smith@example.com"] == "email" and found["4111 1111 1111 1111"] == "card"
    assert "John Smith" not in found and "people" in detector.blind_to
    assert set(labels(presidio.Presidio(labels=["email"])).values()) == {"email"}


@needs("presidio")
def test_presidio_takes_a_pipeline_for_names(model):
    found = labels(presidio.Presidio(model))
    assert found["John Smith"] == "person" and found["Paris"] == "location"


@needs("presidio")
def test_presidios_own_results_make_a_concept():
    engine = presidio._engine(None)
    texts = [TEXT, "nothing here"]
    rows = [(text, engine.analyze(text, language="en")) for text in texts]
    concept = Concept.from_presidio("contact", rows)
    assert "john.smith@example.com" in concept.terms_in(TEXT)
    assert concept.find(texts[1]) == []


@needs("lexicon")
@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("drug", "He took Tylenol, then acetaminophen twice.", ["Tylenol", "acetaminophen"]),
        ("drug", "vitamin b12 and warfarin", ["vitamin b12", "warfarin"]),
        ("disease", "chronic obstructive pulmonary disease", ["chronic obstructive pulmonary disease"]),
        ("disease", "asthma", ["asthma"]),
        ("symptom", "shortness of breath. Fever, chest pain", ["shortness of breath", "Fever", "chest pain"]),
        ("symptom", "chronic obstructive pulmonary disease", []),
        ("disease", "his goals, his moods and his parents", []),
        ("drug", "curriculum vitae at 10", []),
        ("drug", "", []),
    ],
)  # fmt: skip
def test_lexicons_give_whole_terms(kind, text, expected):
    spans = lexicons.Lexicon(kind).find(text)
    assert [text[span.start : span.end] for span in spans] == expected
    assert all(span.label == kind for span in spans)


def test_an_unknown_lexicon_is_refused():
    with pytest.raises(ParameterError, match="one of: drug, disease, symptom"):
        lexicons.Lexicon("plant")
