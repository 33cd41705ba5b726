"""The study of our own protectors, on sentences in which a place is easy to read."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import pytest

from sfumato.attacks.terms import perceptron
from sfumato.embedders import Fake, load_embedder
from sfumato.randomness import generator
from sfumato_research.sfumato import comparison
from sfumato_research.studies import Setting, load_study
from sfumato_research.studies.corpora import CORPORA, diseases_in_notes, people_in_news, places_in_sts

WHO = ("the mayor", "a doctor", "two students", "the painter", "our neighbour", "an old sailor", "the team")
DID = (
    "opened a school",
    "lost the match",
    "sold a bicycle",
    "planted trees",
    "wrote a letter",
    "found a coin",
)
WHEN = ("last week", "in spring", "before the storm", "at night", "after the talks", "on the holiday")
PLACES = ("London", "Paris", "Tokyo", "Cuba", "Texas")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    rng = generator(1)

    def sentence() -> str:
        where = f" in {rng.choice(PLACES)}" if rng.random() < 0.6 else ""
        return f"{rng.choice(WHO)} {rng.choice(DID)}{where} {rng.choice(WHEN)} number {rng.integers(900)}"

    for name in ("sts12", "sts13", "sts14"):
        lines = ["split\tsubset\tscore\tsentence1\tsentence2"]
        for row in range(130):
            first, alike = sentence(), row % 2 == 0
            second = first.replace("number", "no") if alike else sentence()
            lines.append(f"test\tmade\t{4.5 if alike else 1.0}\t{first}\t{second}")
        write(folder / name / f"{name}.tsv.gz", lines)
    people = [
        {
            "text": f"Mr {name} spoke of the harvest for the {n} time",
            "spans": [{"label": "PER", "value": name}],
        }
        for n in range(8)
        for name in ("Miller", "Sato", "Li")
    ]
    write(folder / "conll2003" / "conll2003.jsonl.gz", [json.dumps(row) for row in people])
    notes = [
        {
            "medical_specialty": ["Surgery" if n % 2 else "Neurology"],
            "transcription": f"Patient {n} came today in good spirits. Known asthma since {n}. No pain.",
        }
        for n in range(500)
    ]
    write(folder / "mtsamples" / "mtsamples.jsonl.gz", [json.dumps(row) for row in notes])
    return folder


def write(path, lines):
    path.parent.mkdir()
    with gzip.open(path, "wt", encoding="utf-8") as handle:
        handle.write("\n".join(lines) + "\n")


def test_corpora_name_their_terms(data):
    places = places_in_sts(data)
    assert len(places.texts) > 300
    found = sum(bool(spans) for spans in places.concept.find_all(places.texts))
    assert 0.4 < found / len(places.texts) < 0.8
    asked, answers = places.searches.texts, places.searches.relevant
    assert all(asked[row].replace("number", "no") == places.texts[answers[row][0]] for row in range(20))
    people = people_in_news(data)
    assert set(people.concept.terms) == {"Miller", "Sato"}, "names of two letters are left out"
    notes = diseases_in_notes(data)
    assert notes.concept.terms == ("asthma",)
    assert set(notes.labels) == {"Surgery", "Neurology"}
    assert all(needs for _, needs in CORPORA.values())


@pytest.fixture
def small(monkeypatch):
    full = comparison.suite
    few = {
        "rows": 240,
        "pool": 300,
        "epochs": 12,
        "informed": 12,
        "candidates": 5,
        "linked": 20,
        "copies": 1,
    }
    monkeypatch.setattr(comparison, "suite", lambda setting: replace(full(setting), **few))
    monkeypatch.setattr(comparison, "encoder", _encoder)
    monkeypatch.setattr(perceptron, "SMALLEST_STEPS", 14)  # an attack's time is the number of its steps


def _encoder(setting, name):
    """The victim's as it is; an attacker's own, or one for vectors alone, need not be the default one."""
    return load_embedder(name) if name == "wordllama" else Fake(dim=96)


@pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")
def test_a_protector_is_told_from_no_protection(data, small):
    parts = {part.name: part for part in load_study("sfumato").parts}
    (leaks,) = parts["location-wordllama"].run(Setting(data, quick=True)).tables
    outcome = parts["location-wordllama-attacks"].run(Setting(data, quick=True))
    attacks, alone = outcome.tables
    rows = {row[0]: row for row in leaks.rows}
    control, floor = rows["clean vectors (control)"][1], rows["concept taken out of the text (floor)"][1]
    assert control.value > 0.9 > 0.5 > floor.value
    assert rows["protector, default"][2].value < 0.3
    weak = next(row for label, row in rows.items() if label.startswith("laplace"))
    assert weak[2].value > rows["protector, default"][2].value
    assert {row[0] for row in attacks.rows} >= {"tokens", "alignment, 1000 leaked"}
    assert len(alone.rows) == len(attacks.rows) - 1  # nothing to average without noise
    for table, finding in zip(outcome.tables, outcome.findings, strict=True):
        most = max(row[4].value for row in table.rows if not isinstance(row[5], str))
        assert finding.ours.startswith(f"{most:.3f} by ") and "redaction" in finding.ours
        assert "kept over all rows: STS" in finding.ours
        assert finding.same is None, "a figure that redaction reaches as well is no verdict"


@pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")
def test_vectors_without_texts_are_released_both_ways(data, small):
    part = next(part for part in load_study("sfumato").parts if part.name == "vectors")
    outcome = part.run(Setting(data, quick=True))
    (table,), (finding,) = outcome.tables, outcome.findings
    texts, vectors = table.rows
    assert texts[1].value < vectors[1].value, "learned for vectors, it makes more noise"
    assert all(0.0 <= row[2].value <= 1.0 for row in table.rows)
    assert finding.same is (texts[2].value > vectors[2].value)


@pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")
def test_what_one_swapped_term_costs_is_shown_in_nats_beside_the_worst_direction(data):
    part = next(part for part in load_study("sfumato").parts if part.name == "losses")
    (table,) = part.run(Setting(data, quick=True)).tables
    (row,) = table.rows
    epsilon, _, median, tail, worst, worst_in_l2 = (cell.value for cell in row[2:])
    assert 0 < median <= tail <= worst and 0 < epsilon <= worst_in_l2
