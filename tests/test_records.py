"""Made-up records: varied, repeatable, with every personal fact marked."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import astuple

import numpy as np
import pytest

from sfumato.concepts import Concept, build_pairs
from sfumato.concepts.base import Span
from sfumato.errors import ParameterError
from sfumato.records import DISEASES, make_records
from sfumato.records.writing import LABELS, fill, ideas


def test_the_same_seed_gives_the_same_records_and_none_twice():
    made = make_records(600, seed=3)
    assert made == make_records(600, seed=3)
    assert len({record.text for record in made}) == 600
    assert made[:50] != make_records(50, seed=4)
    with pytest.raises(ParameterError, match="count"):
        make_records(0)


def test_marked_facts_are_what_they_say():
    made = make_records(800, seed=1)
    found = {label: set() for label in LABELS.values()}
    for record in made:
        for start, end, label in map(astuple, record.spans):
            found[label].add(record.text[start:end])
    assert all(found.values())
    assert {each.lower() for each in found["disease"]} == set(DISEASES)
    assert found["sex"] == {"man", "woman"} and all(19 <= int(age) < 92 for age in found["age"])
    # Nobody's address and nobody's number: reserved for examples.
    assert all(mail.endswith("@example.com") for mail in found["email"])
    assert all(re.fullmatch(r"555-01\d\d", number) for number in found["phone"])
    assert len(found["person"]) > 500 and len(found["city"]) == 40


def test_clinic_records_name_one_disease_and_searches_name_none():
    concept = Concept.from_terms("disease", DISEASES)
    for record in make_records(400, seed=2):
        assert concept.terms_in(record.text) == ([record.disease] if record.kind == "clinic" else [])
        assert not concept.terms_in(record.query)
        name = next((record.text[s.start : s.end] for s in record.spans if s.label == "person"), None)
        assert name is not None and name not in record.query


def test_records_are_varied_enough_that_an_attack_has_to_generalise():
    concept = Concept.from_terms("disease", DISEASES)
    pairs = build_pairs([record.text for record in make_records(1500, seed=5)], concept, seed=0)
    sizes = np.bincount(pairs.groups)
    assert sizes.max() <= 4 and (sizes == 1).mean() > 0.95
    assert 0.15 < len(pairs.test) / len(pairs) < 0.25


def test_a_row_of_an_input_file():
    row = make_records(1, seed=0)[0].to_dict()
    assert row["showable"] is True and set(row) == {"text", "spans", "kind", "showable"}
    assert all(set(span) == {"start", "end", "label"} for span in row["spans"])


def test_templates():
    assert ideas("a {x}|b\nc\n    | d") == (("a {x}", "b"), ("c", "d"))
    text, spans = fill("{Name} saw {city}.", {"name": "ann", "city": "Oslo"})
    assert text == "Ann saw Oslo." and spans == [Span(0, 3, "person"), Span(8, 12, "city")]


def test_no_torch_is_needed():
    code = (
        "import sys; from sfumato.records import make_records; make_records(5); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
