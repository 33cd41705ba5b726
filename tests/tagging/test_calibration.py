"""A threshold by recall: what it finds of labelled terms, and when it cannot be had."""

from __future__ import annotations

import json

import pytest

from sfumato.cli import main
from sfumato.concepts.concept import Concept
from sfumato.errors import InputError, ParameterError
from sfumato.records import make_records
from sfumato.tagging.calibration import threshold_for

pytest.importorskip("sfumato_minilm_tagger")
pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def labelled():
    records = make_records(120, seed=5)
    # Names that no list holds, in lower case: here the tagger is alone.
    texts = [record.text.lower() for record in records]
    return texts, [list(record.spans) for record in records]


def test_the_wanted_share_is_found(labelled):
    texts, spans = labelled
    person = Concept.named("person")
    some, most = (threshold_for(person, texts, spans, "person", share) for share in (0.9, 0.995))
    assert some.share >= 0.9
    assert most.share >= 0.995
    assert most.threshold <= some.threshold
    assert most.low < most.share
    tuned = Concept.named("person", threshold=most.threshold)
    found = sum(
        any(one.start < term.end and term.start < one.end for one in row)
        for row, gold in zip(tuned.find_all(texts), spans, strict=True)
        for term in gold
        if term.label == "person"
    )
    assert found == most.found


def test_a_concept_keeps_its_threshold():
    tuned = Concept.named("person", threshold=0.123)
    assert "0.123" in tuned.found_by
    again = Concept.from_dict(tuned.to_dict())
    assert again.threshold == 0.123
    assert again.found_by == tuned.found_by


def test_what_cannot_be_set(labelled):
    texts, spans = labelled
    person = Concept.named("person")
    with pytest.raises(ParameterError, match="between 0 and 1"):
        threshold_for(person, texts, spans, "person", 1.0)
    with pytest.raises(InputError, match="at least 30"):
        threshold_for(person, texts[:3], spans[:3], "person", 0.9)
    # What is labelled is nothing that a tagger of people could find.
    blanks = [[(0, 1, "person")] for _ in texts]
    with pytest.raises(InputError, match="not reached"):
        threshold_for(person, ["; " + text for text in texts], blanks, "person", 0.99)
    with pytest.raises(ParameterError, match="threshold"):
        Concept.named("country", threshold=0.3)


@pytest.fixture
def learn(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    rows = [json.dumps(record.to_dict()) for record in make_records(60, seed=5)]
    (tmp_path / "notes.jsonl").write_text("\n".join(rows))

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main.run(["learn", "notes.jsonl", "--embedder", "fake", *arguments, "-o", "made"])
        shown = capfd.readouterr()
        return stopped.value.code, shown.out + shown.err

    return call


def test_learn_by_recall(learn, tmp_path):
    wanted = ("--concept", "person", "--recall", "0.98", "--sample", "notes.jsonl", "--truth-spans", "person")
    code, said = learn(*wanted, "--json", "learned.json")
    assert code == 0, said
    assert "labelled terms are found" in said
    found = json.loads((tmp_path / "learned.json").read_text())["recall"]
    assert found["recall"] >= 0.98
    kept = json.loads((tmp_path / "made" / "config.json").read_text())
    assert f'"threshold": {found["threshold"]}' in json.dumps(kept)


SAMPLE = ("--sample", "notes.jsonl", "--truth-spans")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--concept", "person", "--recall", "0.98"), "belong together"),
        (("--concept", "person", "--recall", "1.5", *SAMPLE, "person"), "between"),
        (("--spans", "person", "--recall", "0.9", *SAMPLE, "person"), "one --concept"),
        (("--concept", "person", "--recall", "0.9", *SAMPLE, "CITY9"), "at least 30"),
    ],
)
def test_learn_refuses(learn, tmp_path, options, said):
    code, shown = learn(*options)
    assert code == 2
    assert said in shown
    assert not (tmp_path / "made").exists()
