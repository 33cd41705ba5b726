"""Names, kinds of entities and words in the study of the ready-made reader: what is counted, and how."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.attacks.writers.wordpieces import Wordpieces
from sfumato.metrics import score_reconstruction
from sfumato_research.studies import Setting
from sfumato_research.studies.base import Cell
from sfumato_research.vec2text import entities as entities_part
from sfumato_research.vec2text import name_frames
from sfumato_research.vec2text import names as names_part
from sfumato_research.vec2text.entities import (
    KINDS,
    EntityTexts,
    _entity_findings,
    _kept_reports,
    entities,
    labelled_texts,
)
from sfumato_research.vec2text.gains import above, apart, correlated, described, gain, share_cell
from sfumato_research.vec2text.name_frames import FRAMES, FREQUENT, OFTEN, OWN, RARE, listed_names, why
from sfumato_research.vec2text.names import _by_frequency, _by_pieces, hits, named_notes, names
from sfumato_research.vec2text.words import BANDS, _words_findings, band_name, training_words, word_bands

HEADER = (
    "Patient Name: {name}\nDOB: 1981-03-23\nAddress: 1 High Street\nPhone: 555-1234\n"
    "She coughs, and sleeps badly."
)
PEOPLE = ("Ann Lee", "Brian Norris", "Dr. Jane Roe PhD", "madonna")


def note(name):
    text = HEADER.format(name=name)
    values = {"NAME": name, "DATE_OF_BIRTH": "1981-03-23", "ADDRESS": "1 High Street", "PHONE": "555-1234"}
    spans = [
        {"label": label, "start": text.index(value), "end": text.index(value) + len(value), "value": value}
        for label, value in values.items()
    ]
    return {"text": text, "spans": spans}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("notes")
    (folder / "pii_medical_notes").mkdir()
    with gzip.open(folder / "pii_medical_notes" / "notes.jsonl.gz", "wt", encoding="utf-8") as handle:
        handle.write("\n".join(json.dumps(note(name)) for name in PEOPLE) + "\n")
    (folder / "sentences").mkdir()
    with gzip.open(folder / "sentences" / "sentences.tsv.gz", "wt", encoding="utf-8") as handle:
        handle.write("source\ttext\nmade\tAnn met Ann and Brian.\nbrown\tLee Lee Lee.\n")
    return folder


def test_notes_have_a_first_and_a_last_name_and_a_body_without_header(data):
    found = named_notes(data, 9)
    assert [each.name for each in found] == ["Ann Lee", "Brian Norris", "Jane Roe"]
    assert found[0].header.startswith("Patient Name: Ann Lee")
    assert found[0].body == "She coughs, and sleeps badly."
    assert len(named_notes(data, 1)) == 1
    stands, after, plain, alone = (make(found[0], "Eva Fox", 1) for make in FRAMES.values())
    assert "Eva Fox\nDOB" in stands and "Ann" not in stands
    assert after == "Eva Fox She coughs, and sleeps badly."
    assert plain.startswith("Eva Fox has been") and alone == "Patient Name: Eva Fox"


def test_names_count_whole_and_in_order():
    name = [("Ann", "Lee")] * 3
    found = hits(name, ["patient ann lee, 40", "lee, ann", "anna leeds"])
    assert found.tolist() == [[True, True, True, True], [True, True, False, True], [False] * 4]


def test_names_are_told_apart_by_frequency_and_wordpieces():
    own = [("Ann", "Lee"), ("Xoqtzil", "Lee")]
    found = {"0 steps": hits(own, ["ann lee", "lee"])}
    rows = {row[0]: row[1:] for row in _by_frequency(own, found, Counter(ann=5, lee=2000)).rows}
    assert rows["never"][0] == 1 and rows["never"][1].value == 0.0
    assert rows["1 to 9"][1].value == 1.0 and rows["1,000 or more"][0] == 2
    rows = {row[0]: row[1:] for row in _by_pieces(own, found).rows}
    assert rows["1"][0] == 3 and rows["1"][1].value == 1.0 and rows["3 and more"][1].value == 0.0


def test_listed_names_are_frequent_or_rare_and_follow_the_seed():
    counts = Counter({"john": OFTEN, "smith": OFTEN, "yasmin": 1})
    pieces = Wordpieces.minilm()
    assert listed_names(counts, 2, 0, rare=False) == [("John", "Smith")] * 2
    rare = listed_names(counts, 20, 3, rare=True)
    assert all(len(pieces.numbers([part])[0]) > 1 for name in rare for part in name)
    assert rare == listed_names(counts, 20, 3, rare=True) != listed_names(counts, 20, 4, rare=True)


def test_training_words_are_of_the_sources_trained_on(data):
    counts = training_words(data, 100)
    assert counts["ann"] == 2 and counts["brian"] == 1 and counts["lee"] == 0


def test_words_count_in_their_band_as_often_as_they_stand_there():
    counts = Counter({"the": 20_000, "cat": 5})
    found = word_bands(["the cat the dog"], ["the dog cat cat"], counts)
    assert [(float(hit.sum()), float(total.sum())) for hit, total in (found[band] for band in BANDS)] == [
        (1, 1), (1, 1), (0, 0), (0, 0), (0, 0), (1, 2)
    ]  # fmt: skip
    assert [band_name(band) for band in (BANDS[0], BANDS[1], BANDS[-1])] == [
        "never",
        "1 to 9",
        "10,000 or more",
    ]


def test_a_verdict_on_words_needs_intervals_apart():
    ten = np.full(10, 10.0)
    none = (np.zeros(10), np.zeros(10))
    found = dict.fromkeys(BANDS, none) | {
        BANDS[0]: (ten / 2, ten),
        BANDS[1]: (ten / 5, ten),
        BANDS[-1]: (ten, ten),
    }
    assert [each.same for each in _words_findings({"20 steps": found})] == [True, True]
    found[BANDS[-1]] = (ten / 10, ten)
    assert _words_findings({"20 steps": found})[0].same is False
    found[BANDS[-1]] = none
    assert _words_findings({"20 steps": found})[0].same is None


def test_only_labelled_entities_that_stand_whole_in_the_cut_text_count(data):
    found = labelled_texts(data, "medical notes", 4, 0)
    assert found.by_labels and len(found.texts) == 4
    for kind, value in (("names", "Ann Lee"), ("dates", "1981-03-23"), ("addresses", "1 High Street")):
        for text, held in zip(found.texts, found.held[kind], strict=True):
            if value in held:
                assert " ".join(value.lower().replace("-", " ").split()) in text.replace("-", " ")
    assert any(found.held["dates"]) and not any(found.held["diseases"])


def test_kinds_are_told_apart_by_intervals():
    read = {"names": ([["Ann"]] * 20, ["ann"] * 20), "dates": ([["May 1"]] * 20, ["june"] * 20)}
    assert _entity_findings(read, "20 steps")[0].same is True
    read["dates"] = read["names"]
    assert _entity_findings(read, "20 steps")[0].same is None, "as good as each other"
    assert _entity_findings({"names": read["names"]}, "20 steps") == []


class Echo:
    """A reader that reads everything, but for the words it is told to miss."""

    gpu = False
    missed = ""

    def __init__(self, setting):
        self.setting = setting

    def vectors(self, texts):
        return np.array(list(texts), object)

    def read(self, vectors, search):
        return [text.replace(self.missed, "") if self.missed else text for text in vectors]

    def rounds(self, vectors, steps):
        return SimpleNamespace(texts=lambda after: self.read(vectors, None) if after else [""] * len(vectors))

    def beamed(self, vectors):
        return {"beam": self.read(vectors, None)}

    def score(self, texts, found, vectors):
        ones = np.ones((len(texts), 2))
        return score_reconstruction(list(texts), list(found), vectors=ones, recovered_vectors=ones)


def quick_with(monkeypatch, data, missed, cache=None):
    monkeypatch.setattr(Echo, "missed", missed)
    for module in (names_part, name_frames, entities_part):
        monkeypatch.setattr(module, "ReadyMadeReaders", Echo)
    return Setting(data, quick=True, cache=cache)


def test_names_that_are_read_count_in_every_row(data, monkeypatch):
    found = names(quick_with(monkeypatch, data, ""))
    rows = {row[0]: row for row in found.tables[0].rows}
    assert list(rows) == ["0 steps", "beam", "strong search"], "20 steps are cut to 2 in a quick run"
    assert [cell.value for cell in rows["beam"][2:6]] == [1.0] * 4 and rows["beam"][4].printed == 0.89
    assert [cell.value for cell in rows["0 steps"][2:6]] == [0.0] * 4
    assert rows["strong search"][1] == 2 and "100% of full names" in found.findings[0].ours
    missed = names(quick_with(monkeypatch, data, "lee"))
    rows = {row[0]: row for row in missed.tables[0].rows}
    assert [round(cell.value, 2) for cell in rows["beam"][2:6]] == [1.0, 0.67, 0.67, 0.67]


def test_the_surroundings_of_a_name_are_told_apart(data, monkeypatch):
    found = why(quick_with(monkeypatch, data, "patient name: ann"))
    rows = {(row[0], row[1]): row for row in found.tables[0].rows}
    assert len(rows) == len(FRAMES) * 3 and {kind for _, kind in rows} == {OWN, FREQUENT, RARE}
    stands, after, plain, alone = FRAMES
    assert [rows[frame, OWN][4].value for frame in (stands, after, plain, alone)] == [0.0, 1.0, 1.0, 0.0]
    assert all(each.table == "Table 3, why" for each in found.findings)
    assert "100 % against 0 %" in found.findings[0].ours


def test_entities_that_are_read_count_by_kind(data, monkeypatch):
    (part,) = entities(quick_with(monkeypatch, data, "1981")).tables
    rows = {row[0]: row for row in part.rows}
    assert set(rows) == {"names", "dates", "addresses", "long numbers"}
    assert rows["addresses"][-1].value == 1.0 and rows["dates"][-1].value == 0.0
    assert rows["addresses"][5].value == 0.0, "before any step nothing was read"


def test_reports_that_were_looked_through_before_are_not_again(data, tmp_path, monkeypatch):
    made = EntityTexts(
        ["fever and cough"], {kind: [["fever"] if kind == "diseases" else []] for kind in KINDS}, False
    )
    monkeypatch.setattr(entities_part, "detected_texts", lambda *_: made)
    setting = Setting(data, cache=tmp_path)
    assert _kept_reports(setting, 1).held["diseases"] == [["fever"]]
    monkeypatch.setattr(entities_part, "detected_texts", None)
    assert _kept_reports(setting, 1) is not made and _kept_reports(setting, 1).texts == made.texts


def test_differences_decide_by_their_whole_interval():
    low, high = np.linspace(0, 1, 30), np.linspace(2, 3, 30)
    assert above(high, low) is True and above(low, high) is False
    assert above(np.tile([1.0, -1.0], 15), np.zeros(30)) is None
    assert gain(high, low)[0] == pytest.approx(2.0)
    value, (least, most) = correlated(low, -low)
    assert value == pytest.approx(-1) and least == pytest.approx(-1) and most == pytest.approx(-1)
    assert share_cell([], []).value is None and share_cell([1, 0], [2, 2]).value == 0.25
    assert (
        apart(Cell(2, 1.5, 3), Cell(1, 0, 1.4)) is True and apart(Cell(1, 0, 1.4), Cell(2, 1.5, 3)) is False
    )
    assert apart(Cell(2, 1, 3), Cell(1, 0, 1.4)) is None and apart(Cell(2), Cell(1, 0, 1.4)) is None
    assert described(Cell(None)) == "none" and described(Cell(0.5, form=".0%")) == "50%"
