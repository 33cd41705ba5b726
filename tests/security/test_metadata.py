"""What a protector hides in texts does not travel beside them in metadata."""

from __future__ import annotations

import warnings

import pytest

from sfumato.concepts import Concept
from sfumato.concepts.detectors import spacy
from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.stores import Memory, ProtectedStore
from sfumato.stores.metadata import LONGEST, MetadataWarning, refuse_sensitive
from sfumato.stores.migrate import migrate

TEXTS = ["the patient slept well", "seen again after a week"]
NAMED = [{"ward": "north"}, {"ward": "south", "patient": "John Doe"}]
IDS = ["n1", "n2"]


@pytest.fixture(autouse=True)
def lists_alone(monkeypatch):
    monkeypatch.setattr(spacy, "best_model", lambda: None)


def protector(concept=None):
    return Protector(Laplace(epsilon=80.0), Fake(dim=32), (concept or Concept.named("person"),))


def filled(metadata):
    store = Memory()
    store.add(IDS, Fake(dim=32).embed(TEXTS), metadata)
    return store


def test_add_refuses_a_name_in_a_field():
    inner = Memory()
    with pytest.raises(
        InputError, match="Row 1 has the concept `person` in its metadata field `patient`"
    ) as error:
        ProtectedStore(inner, protector()).add(IDS, TEXTS, metadata=NAMED)
    assert "John" not in str(error.value) and "Doe" not in str(error.value)
    assert "allow_fields" in str(error.value) and len(inner) == 0
    vectors = Fake(dim=32).embed(TEXTS)
    with pytest.raises(InputError, match="field `title`"):
        ProtectedStore(inner, protector()).add(
            IDS, vectors=vectors, metadata=[{}, {"title": "Letter to Dr. Sarah Connor"}]
        )
    assert len(inner) == 0


def test_a_field_passes_when_it_is_named():
    inner = Memory()
    ProtectedStore(inner, protector(), allow_fields=["patient"]).add(IDS, TEXTS, metadata=NAMED)
    assert inner.get(["n2"]).metadata[0]["patient"] == "John Doe"
    with pytest.raises(InputError, match="field `doctor`"):
        ProtectedStore(inner, protector(), allow_fields=["patient"]).add(
            IDS, TEXTS, metadata=[{}, {"doctor": "Maria Jensen"}]
        )


def test_metadata_without_a_concept_goes_along():
    inner = Memory()
    ProtectedStore(inner, protector()).add(
        IDS, TEXTS, metadata=[{"ward": "north", "year": 2024}, {"ok": True}]
    )
    assert inner.get(["n1"]).metadata[0]["ward"] == "north"
    plain = Protector(Laplace(epsilon=80.0), Fake(dim=32))
    ProtectedStore(inner, plain).add(IDS, TEXTS, metadata=NAMED)


def test_a_migration_refuses_a_name_in_a_field_before_it_writes():
    target = Memory()
    with pytest.raises(
        InputError, match="Row 1 .* `person` .* `patient`.*--drop-field.*--keep-field"
    ) as error:
        migrate(filled(NAMED), target, protector(), texts=False)
    assert "Doe" not in str(error.value) and len(target) == 0


@pytest.mark.filterwarnings("ignore::sfumato.protector.TextsMissingWarning")
def test_a_migration_drops_or_keeps_a_field_that_is_named():
    dropped, kept = Memory(), Memory()
    assert migrate(filled(NAMED), dropped, protector(), drop_fields=["patient"]).fields == ("ward",)
    assert "patient" not in dropped.get(["n2"]).metadata[0]
    migrate(filled(NAMED), kept, protector(), keep_fields=["patient"])
    assert kept.get(["n2"]).metadata[0]["patient"] == "John Doe"


@pytest.mark.filterwarnings("ignore::sfumato.protector.TextsMissingWarning")
def test_in_place_what_stays_is_said():
    with pytest.warns(MetadataWarning, match="Row 1 .* `patient`. It stays as it is") as caught:
        migrate(filled(NAMED), None, protector())
    assert not any("Doe" in str(each.message) for each in caught)


def test_labelled_spans_cannot_look_at_metadata_and_say_so():
    labelled = protector(Concept.from_spans("PER"))
    with pytest.warns(MetadataWarning, match="cannot be looked through"):
        refuse_sensitive(labelled, NAMED)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        refuse_sensitive(labelled, [{"year": 2024}, {}])


def test_texts_inside_lists_and_dicts_are_looked_at():
    for value in (["a", "John Doe"], {"a": {"b": ("x", "John Doe")}}, {"John Doe": 1}):
        with pytest.raises(InputError, match="Row 0 has the concept `person` in its metadata field `who`"):
            refuse_sensitive(protector(), [{"who": value}])
    endless: list[object] = []
    endless.append(endless)
    for value in ("a " * LONGEST, ["a"] * 2000, endless):
        with pytest.raises(InputError, match="too long to be looked through"):
            refuse_sensitive(protector(), [{"who": value}])
        refuse_sensitive(protector(), [{"who": value}], ["who"])
