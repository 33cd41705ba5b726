"""What else is readable: counts of what a reader names of other kinds, and not one text."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.attacks import ATTACKS
from sfumato.auditing import readable
from sfumato.auditing.readable import WrittenTexts, also_readable, write_anew
from sfumato.concepts.concept import Concept
from sfumato.trials.target import FixedTarget

TEXTS = [
    "Maria Jones of Boston has asthma, write to maria@example.com.",
    "Peter Smith of Dublin has gout, write to peter@example.com.",
    "Nothing of anybody stands here.",
]
DISEASE = Concept.from_terms("disease", ["asthma", "gout"])


def split_of(name="minilm"):
    clean = np.eye(3, 4, dtype=np.float32)
    return SimpleNamespace(
        texts=TEXTS, concept=DISEASE, clean=clean, embedder=SimpleNamespace(name=name, dim=4)
    )


def test_texts_are_counted_that_name_what_stands_in_them():
    written = WrittenTexts(
        [0, 1, 2],
        ["maria jones of boston", "peter smith of dublin", "nothing"],
        ["maria jones of lisbon", "somebody in dublin", "nothing"],
    )
    found = also_readable(written, split_of(), (DISEASE,))
    counts = {each.kind: (each.texts, each.clean, each.released, each.swapped) for each in found.kinds}
    assert counts["person"] == (2, 2, 1, 0) and counts["location"] == (2, 2, 1, 0)
    assert counts["email"] == (2, 0, 0, 0)
    assert "disease" not in counts and "drug" not in counts  # hidden here, and held by no text
    shown = json.dumps(found.to_dict()).lower()
    assert not any(word in shown for word in ("maria", "dublin", "boston", "smith"))


def test_what_is_hidden_in_a_part_is_not_counted_as_other():
    city = Concept.from_terms("city", ["Boston"])
    found = also_readable(WrittenTexts([0], ["x"], ["x"]), split_of(), (city,))
    assert "location" not in {each.kind for each in found.kinds}


def test_vectors_of_other_encoders_are_not_read(monkeypatch):
    target = FixedTarget(np.eye(3, 4, dtype=np.float32), TEXTS)
    assert write_anew(split_of("wordllama"), target, [0]) is None
    assert write_anew(split_of(), target, []) is None
    monkeypatch.setattr(ATTACKS, "installed", lambda name: False)
    assert write_anew(split_of(), target, [0]) is None
    assert also_readable(None, split_of(), ()) is None


def test_the_reader_is_given_clean_and_released_vectors(monkeypatch):
    class Reader:
        def fit(self, texts, vectors):
            return self

        def recover(self, vectors):
            return SimpleNamespace(rows=[f"row {int(np.argmax(row))} {row.max():g}" for row in vectors])

    monkeypatch.setattr(readable.ATTACKS, "installed", lambda name: True)
    monkeypatch.setattr(readable.ATTACKS, "get", lambda name: Reader)
    target = FixedTarget(2 * np.eye(3, 4, dtype=np.float32), TEXTS)
    written = write_anew(split_of(), target, [2, 0])
    assert written.clean == ["row 2 1", "row 0 1"] and written.released == ["row 2 2", "row 0 2"]


@pytest.mark.parametrize("name", readable.KINDS)
def test_every_kind_is_of_the_catalog(name):
    assert Concept.named(name).name == name
