"""A name is hidden in its e-mail address and its handle as well, and the address is hidden whole."""

from __future__ import annotations

import pytest

from sfumato.concepts import Concept, catalog
from sfumato.concepts.detectors import spacy
from sfumato.embedders import Fake
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.randomness import generator


@pytest.fixture(params=["lists", "installed"])
def person(request, monkeypatch):
    return lists_alone(monkeypatch) if request.param == "lists" else Concept.named("person")


def lists_alone(monkeypatch):
    monkeypatch.setattr(spacy, "best_model", lambda: None)
    monkeypatch.setattr(catalog, "tagger_ready", lambda: False)
    return Concept.named("person")


PERSONAL = [
    "maria.jensen@corp.dk", "@sarah.connor", "@SarahConnor", "@sarah_c123", "johndoe@example.com",
    "jsmith@corp.com", "SARAH.CONNOR@CORP.COM", "m.jensen@corp.dk", "xanthe.quill@corp.dk",
    "alyssa54@example.org", "O'Brien@corp.ie", "jürgen.müller@firma.de", "watsonchristina@example.org",
    "@mike.j", "https://linkedin.com/in/sarah-connor",
]  # fmt: skip
OFFICES = [
    "info@corp.dk", "support@bank.com", "no-reply@shop.org", "customer.service@corp.com", "hr@abccorp.com",
    "help.desk@corp.com", "acme@acme.com", "scholarships@school.com", "your.name@example.com",
]  # fmt: skip


@pytest.mark.parametrize("address", PERSONAL)
def test_nothing_is_left_of_an_address_with_a_name(person, address):
    text = f"Please forward this to {address} by noon."
    assert address.lower() in " ".join(person.terms_in(text))
    assert person.remove(text) == "Please forward this to by noon."


@pytest.mark.parametrize("address", OFFICES)
def test_the_address_of_an_office_is_no_person(person, address):
    assert person.find(f"please forward this to {address} by noon.") == []


def test_code_is_no_person(person):
    assert person.find("@app.route('/notes')\n@pytest.fixture\ndef notes():\n    @dataclass") == []


ADDRESSED = (
    "ask sarah first (@sarah.connor); Xanthe, xanthe.quill@corp.dk, knows. will.smith@corp.dk: I will."
)


def test_a_name_of_an_address_counts_wherever_it_is_written(person):
    left = person.remove(ADDRESSED).lower()
    assert "sarah" not in left and "xanthe" not in left and "smith" not in left
    assert "i will" in left and "ask" in left


def test_lists_leave_the_words_beside_an_address(monkeypatch):
    """The tagger takes a word behind two names for a third."""
    assert "knows" in lists_alone(monkeypatch).remove(ADDRESSED)


def test_a_name_found_in_the_text_counts_in_addresses(person):
    text = "Dr. Aurelius Vantongeren wrote from a.vantongeren2@corp.dk and as @vantongeren."
    assert "vantongeren" not in person.remove(text).lower()


def test_another_address_stands_in_for_an_address(person):
    made = person.substitute("Write to maria.jensen@corp.dk or @maria_j.", generator(0))
    assert made.count("@") == 2 and "maria" not in made.lower() and "corp.dk" not in made


def test_vectors_do_not_depend_on_the_name_in_an_address(person):
    protector = Protector(Laplace(epsilon=50.0), Fake(dim=64), (person,))
    texts = [f"the notes of the visit went to {name}, as agreed" for name in PERSONAL[:4]]
    vectors = protector.prepare(texts).vectors
    assert protector.prepare(texts).matched.all()
    assert all((vectors[0] == other).all() for other in vectors)
