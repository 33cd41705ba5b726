"""Truth from labels: what the protector misses leaks, and the audit says so."""

from __future__ import annotations

from dataclasses import replace
from html import unescape

import numpy as np
import pytest

import sfumato as sf
from sfumato.auditing import AuditSettings
from sfumato.auditing.truth import Truth
from sfumato.cli.audit import show
from sfumato.concepts import Concept
from sfumato.embedders import load_embedder
from sfumato.errors import InputError
from sfumato.mechanisms import Identity
from sfumato.metrics.leakage import Hits
from sfumato.records import DISEASES, make_records
from sfumato.report import audit_page
from sfumato.trials.finding import by_finding
from tests.auditing.made import baseline, made_audit
from tests.auditing.schema import problems
from tests.auditing.small import shrink
from tests.report.test_page import words

TERMS = DISEASES[:9]
EVERY = Concept.from_terms("disease", TERMS)
TEXTS = [
    Concept.from_terms("any", DISEASES).replace(record.text, TERMS[row % len(TERMS)])
    for row, record in enumerate(make_records(440, seed=7))
]
SPANS = [[(span.start, span.end, "DIS") for span in found] for found in EVERY.find_all(TEXTS)]
KNOWN = Concept.from_terms("disease", [term for row, term in enumerate(TERMS) if row % 3])
"""What the detector finds: it misses every third disease."""
OWN = "The truth here is the protector's own detector"


def shown_by(page):
    return unescape(words(page))


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


@pytest.fixture(scope="module")
def protector():
    return sf.Protector(Identity(), load_embedder("wordllama"), concepts=(KNOWN,), neutral=4)


@pytest.fixture(scope="module")
def labelled(protector):
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        settings = AuditSettings(fail_above=0.1)
        return sf.audit(TEXTS, protector=protector, spans=SPANS, truth_spans="DIS", settings=settings)


def test_missed_rows_leak_clearly_more_and_the_verdict_names_them(labelled):
    written = labelled.to_dict()
    assert problems(written) == [] and written["truth"] == "labels"
    rows = written["rows"]
    assert rows["all"]["count"] == rows["found"]["count"] + rows["missed"]["count"]
    assert rows["missed"]["count"] >= 20 and rows["found"]["count"] >= 20
    assert rows["found"]["interval"][1] + 0.2 < rows["missed"]["interval"][0]
    assert rows["found"]["absolute"] < rows["missed"]["absolute"]
    assert rows["all"]["excess"] == pytest.approx(written["leakage"]["excess"])
    assert written["leakage"]["absolute_interval"] is not None
    assert labelled.outcome == "fail" and "Missed rows" in written["reason"]
    assert f"{rows['missed']['count']} in which it misses one" in written["reason"]


def test_redaction_has_its_row_and_its_place_in_the_picture(labelled):
    removal = labelled.to_dict()["removal"]
    assert removal["released"] == labelled.verdict.row.floor and removal["excess"] == 0.0
    assert removal["utility"]["metric"] == labelled.utility.metric and 0.5 < removal["utility"]["kept"] < 1.0
    page = audit_page(labelled)
    assert "<title>concept cut out: 0.0 % excess at" in page
    assert shown_by(page).count("concept cut out") >= 2
    # A baseline that was attacked stands in its place.
    attacked = replace(labelled, baselines=(baseline("removal", "taken out", 0.01, 0.9),))
    assert "<title>concept cut out" not in audit_page(attacked)


def test_presence_and_linkage_are_in_the_summary(labelled, capsys):
    written = labelled.to_dict()
    presence, linkage = written["presence"], written["linkage"]
    assert set(presence) == {"clean", "removed", "released"} and 0.5 < presence["clean"] <= 1.0
    # The context differs too, so removal hides no presence here; neutral terms do not hide it either.
    assert presence["removed"] > 0.5 < presence["released"]
    known = labelled.settings["pool"]
    assert linkage["prior"] == pytest.approx(1 / known) and linkage["released"] > 0.9
    shown = shown_by(audit_page(labelled))
    assert f"{presence['released']:.2f}" in shown and f"picked out of {known} known ones" in shown
    show(labelled)
    printed = capsys.readouterr().out
    assert f"presence: {presence['released']:.2f}" in printed and "linkage: " in printed


def test_use_is_measured_where_something_happens(labelled, capsys):
    utility = labelled.to_dict()["utility"]
    touched, untouched = utility["touched"], utility["untouched"]
    assert touched["rows"] + untouched["rows"] == utility["rows"]
    assert touched["metric"] == utility["metric"] and touched["kept"] < utility["kept"] < untouched["kept"]
    assert "neighbours nDCG@10, touched" in shown_by(audit_page(labelled))
    show(labelled)
    assert "neighbours nDCG@10, untouched" in capsys.readouterr().out


def test_the_page_and_the_screen_have_found_and_missed_rows(labelled, capsys):
    shown = shown_by(audit_page(labelled))
    assert "The truth here is labels (spans labelled DIS)" in shown and OWN not in shown
    assert "Found and missed" in shown
    show(labelled)
    printed = " ".join(capsys.readouterr().out.split())
    assert "The truth here is labels" in printed and "missed: it misses one" in printed
    assert "concept cut out" in printed


def test_the_same_protector_by_its_own_detector_misses_nothing(protector):
    found = sf.audit(TEXTS, protector=protector, settings=AuditSettings(fail_above=0.1))
    written = found.to_dict()
    assert problems(written) == [] and written["truth"] == "detector" and found.truth.own
    assert written["rows"]["missed"]["count"] == 0 and written["rows"]["missed"]["excess"] is None
    assert "Missed rows" not in written["reason"]
    shown = shown_by(audit_page(found))
    # Before any figure that was measured.
    assert "%" not in shown[: shown.index(OWN)] and shown.index(OWN) < 500


@pytest.mark.parametrize(
    ("concept", "hidden", "source", "own"),
    [
        (EVERY, [EVERY], "detector", True),
        (EVERY, [], "detector", False),
        (Concept.from_spans("DIS"), [EVERY], "labels", False),
        (Concept.from_spans("dis"), [Concept.from_spans("DIS,PER", name="all")], "detector", True),
        (Concept.from_spans("DIS,LOC"), [Concept.from_spans("DIS")], "labels", False),
    ],
)
def test_truth_that_is_the_detector_is_called_so(protector, concept, hidden, source, own):
    truth = Truth.of(concept, replace(protector, concepts=tuple(hidden)))
    assert (truth.source, truth.own) == (source, own)
    assert truth.words().startswith(OWN) is own
    page = shown_by(audit_page(made_audit(truth=truth)))
    assert (OWN in page) is own and truth.words() in page


def test_a_class_of_few_rows_has_a_count_and_no_figures():
    total = np.ones(60)
    found = np.arange(60) < 45
    runs = {
        "control": [Hits(total, total)],
        "floor": [Hits(0 * total, total)],
        "released": [Hits((~found).astype(float), total)],
    }
    figures = by_finding(found, prior=Hits(0 * total, total), groups=np.arange(60), **runs)
    assert figures.found.excess == 0.0 and figures.every.excess == pytest.approx(0.25)
    assert figures.missed.count == 15 and figures.missed.released is None
    unknown = by_finding(None, prior=Hits(0 * total, total), groups=np.arange(60), **runs).to_dict()
    assert unknown["found"] is None and unknown["missed"] is None and unknown["all"]["count"] == 60


def test_baselines_miss_what_the_protector_misses(protector, monkeypatch):
    shrink(monkeypatch, baselines=("removal",))
    settings = AuditSettings(baselines=True, worst_case=True)
    found = sf.audit(TEXTS, protector=protector, spans=SPANS, truth_spans="DIS", settings=settings)
    by_setting = {row.setting: row for row in found.baselines}
    # A third of the terms is left in the text; cut out by the labels it would be the floor.
    assert by_setting["taken out"].excess > 0.15 and found.removal.excess == 0.0
    # The protector finds by itself, so texts with another term can be asked for.
    assert found.worst_case is not None and found.worst_case.control > 0.9


def test_what_is_sensitive_is_said_once_and_needs_spans(protector):
    with pytest.raises(InputError, match="Found both"):
        sf.audit(TEXTS, EVERY, protector=protector, spans=SPANS, truth_spans="DIS")
    with pytest.raises(InputError, match="give `spans`"):
        sf.audit(TEXTS, protector=protector, truth_spans="DIS")
