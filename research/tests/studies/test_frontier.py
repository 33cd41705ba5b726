"""The frontier study: cuts, truth, intervals, and one small run of everything on made-up texts."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

from sfumato.concepts import Concept
from sfumato.embedders.fake import Fake
from sfumato.evaluation import Sample
from sfumato.randomness import generator
from sfumato_research.families import cells, ground
from sfumato_research.frontier import found, measure, use, wider, writing
from sfumato_research.frontier.cases import CASES, near_clusters, patients, people, places
from sfumato_research.frontier.defences import OURS, pseudonyms
from sfumato_research.frontier.figures import Cuts
from sfumato_research.frontier.nested import (
    area,
    auc,
    correlation_columns,
    correlation_kept,
    nested,
    share,
)
from sfumato_research.neutral import measure as neutral
from sfumato_research.neutral.study import STUDY as NEUTRAL
from sfumato_research.studies import Setting, load_study
from sfumato_research.studies.data import Searchable

SYLLABLES = [one + two for one in "bdfgklmnprstvz" for two in "aeiou"]
PLACES = ("London", "Paris", "Tokyo", "Cuba", "Texas", "Grimsey")
"""The last is in no list."""


def write(path, lines):
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as handle:
        handle.write("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("data"), generator(1)

    def sentence(where=""):
        words = ["".join(rng.choice(SYLLABLES, 3)) for _ in range(7)]
        return " ".join([*words[:3], *([where] if where else []), *words[3:]])

    news = []
    for row in range(300):
        place = PLACES[row % len(PLACES)] if row % 3 else ""
        text = sentence(place)
        start = text.find(place)
        spans = [{"label": "LOC", "start": start, "end": start + len(place), "value": place}] if place else []
        news.append({"text": text, "spans": spans})
    write(folder / "conll2003" / "conll2003.jsonl.gz", [json.dumps(row) for row in news])
    for name in ("sts12", "sts13", "sts14", "stsb"):
        pairs = (f"{row % 5}\t{sentence('Paris')}\t{sentence()}" for row in range(30))
        write(folder / name / f"{name}.tsv.gz", ["score\tsentence1\tsentence2", *pairs])
    for name in ("ag_news", "sst5"):
        write(
            folder / name / f"{name}.tsv.gz",
            ["label\ttext", *(f"{row % 3 == 0}\t{sentence()}" for row in range(80))],
        )
    write(folder / "sentences" / "sentences.tsv.gz", ["text", *(sentence("Tokyo") for _ in range(60))])
    documents = [json.dumps({"_id": str(row), "title": "", "text": sentence("Cuba")}) for row in range(40)]
    home = folder / "retrieval_scifact"
    write(home / "corpus.jsonl.gz", documents)
    write(
        home / "queries.jsonl.gz", [json.dumps({"_id": f"q{row}", "text": sentence()}) for row in range(25)]
    )
    judged = [f"q{row}\t{row}\t1\ttest" for row in range(25)]
    write(home / "qrels.tsv.gz", ["query-id\tcorpus-id\tscore\tsplit", *judged])
    return folder


@pytest.fixture
def setting(data, tmp_path, monkeypatch):
    for module in (ground, wider, writing):
        monkeypatch.setattr(module, "encoder", lambda setting, model: Fake(dim=48))
    return Setting(data=data, quick=True, cache=tmp_path)


def test_labels_are_the_truth_and_short_lines_are_left_out(data):
    case = places(data)
    assert len(case.texts) == 300
    assert case.truth.source == "spans"
    wanted = {"London", "Paris", "Tokyo", "Cuba", "Texas", "Grimsey"}
    read = case.truth.find_all(case.texts, case.labelled)
    assert {
        text[s.start : s.end] for text, spans in zip(case.texts, read, strict=True) for s in spans
    } <= wanted
    assert not any(people(data).truth.find_all(case.texts, case.labelled))


def test_a_note_is_cut_into_passages_of_one_group_and_names_into_words(tmp_path):
    text = (
        "Patient Name: Dr. Maria Jensen PhD\nDOB: 1980-01-01\n" + "She has a cough and a fever today. " * 30
    )
    start = text.index("Dr.")
    span = {"label": "NAME", "start": start, "end": start + len("Dr. Maria Jensen PhD"), "value": ""}
    row = json.dumps({"text": text, "spans": [span]})
    write(tmp_path / "pii_medical_notes" / "notes.jsonl.gz", [row, row])
    case = patients(tmp_path)
    assert len(case.texts) > 4 and set(case.groups.tolist()) == {0, 1}
    assert "".join(case.texts[: len(case.texts) // 2]).startswith("Patient Name")
    found = [[case.texts[row][s["start"] : s["end"]] for s in spans] for row, spans in enumerate(case.spans)]
    assert found[0] == ["Maria", "Jensen"] and found.count([]) == len(found) - 2


def test_near_vectors_stand_in_one_group_by_a_chain():
    angles = np.deg2rad([0.0, 10.0, 20.0, 90.0, 180.0])
    vectors = np.stack([np.cos(angles), np.sin(angles)], 1).astype(np.float32)
    assert near_clusters(vectors, 0.95).tolist() == [0, 0, 0, 1, 2], "ten degrees are near, twenty by a chain"


def test_a_cut_never_separates_what_belongs_together(setting):
    case = replace(places(setting.data), groups=np.arange(300) // 10)
    embedder = measure.RememberingEmbedder(Fake(dim=48))
    for cut in range(3):
        pool = measure.cut_texts(case, measure.sizes(setting), embedder, cut)
        tens = np.array([case.texts.index(pool.texts[row]) // 10 for row in pool.rows])
        assert not set(tens[pool.learn].tolist()) & set(tens[pool.test].tolist())


def test_on_a_processor_fewer_things_are_asked_of_the_same_texts(setting):
    full, few = replace(setting, quick=False), replace(setting, quick=False, few=True)
    assert measure.sizes(few) == replace(measure.sizes(full), seeds=1)
    paths = {measure.arrays_path("place", "minilm", 0, each) for each in (setting, few, full)}
    assert len(paths) == 3, "cells of one size are never taken for another's"
    searched = use.read_use(setting.data, full)
    some = use._among(Searchable(searched.documents, searched.queries, searched.judged), 30)
    assert len(some.documents) == 30 and some.queries == searched.queries
    for judged, own in zip(searched.judged, some.judged, strict=True):
        assert [searched.documents[row] for row in judged] == [some.documents[row] for row in own]
    assert not ground.texts_of("place", few)[2] and ground.texts_of("place", full)[2], "no eraser learns"


def test_what_a_detector_found_is_looked_for_once(setting, monkeypatch):
    texts = ["They met in London.", "Nothing here."]
    first = found.remembered("location", "lists", texts, setting)
    monkeypatch.setattr(found, "looking", lambda name, finder: Concept.from_terms(name, ["nobody"]))
    again = found.remembered("location", "lists", texts, setting)
    assert list(again.find_all(texts)) == list(first.find_all(texts))
    assert [bool(spans) for spans in again.find_all(texts)] == [True, False]


def test_another_value_is_never_the_text_itself():
    texts = [f"they met in {place} and spoke" for place in PLACES[:5]] * 4
    embedder = Fake(dim=16)
    sample = Sample(texts, embedder.embed(texts), Concept.from_terms("place", PLACES[:5]), embedder)
    rewrite = pseudonyms(sample).rewrite
    written = rewrite(texts, None, generator(0))
    assert {text.split()[3] for text in written} <= set(PLACES[:5])
    assert written != texts


def test_nested_intervals_cover_and_know_of_groups():
    rng, covered = generator(0), 0
    for seed in range(60):
        tables = [np.stack([rng.random(80) < 0.3, np.ones(80)], 1).astype(float) for _ in range(5)]
        covered += nested(tables, None, share, draws=300, seed=seed).interval[0] <= 0.3 and (
            nested(tables, None, share, draws=300, seed=seed).interval[1] >= 0.3
        )
    assert covered >= 52, "about 95 of 100"
    clumped = np.repeat(rng.random(20) < 0.3, 20).astype(float)
    tables = [np.stack([clumped, np.ones(400)], 1)]
    alone, together = nested(tables, None, share), nested(tables, [np.arange(400) // 20], share)
    assert together.value == alone.value
    assert np.diff(together.interval)[0] > 2 * np.diff(alone.interval)[0]


def test_columns_are_drawn_together():
    hits = (generator(0).random(200) < 0.5).astype(float)
    table = np.stack([hits, hits, np.ones(200)], 1)
    same = nested([table], None, lambda sums: (sums[:, 0] - sums[:, 1]) / sums[:, 2])
    assert same.value == 0 and same.interval == (0.0, 0.0)


def test_what_is_kept_of_a_correlation_is_numpys():
    rng = generator(2)
    gold, clean = rng.normal(size=300), rng.normal(size=300)
    released = clean + 0.5 * rng.normal(size=300) + 0.3 * gold
    columns = correlation_columns(clean, released, gold)
    wanted = np.corrcoef(released, gold)[0, 1] / np.corrcoef(clean, gold)[0, 1]
    assert nested([columns], None, correlation_kept, draws=50).value == pytest.approx(wanted)


def test_the_area_counts_pairs_and_ties():
    rng = generator(3)
    scores, yes = rng.integers(5, size=60).astype(float), rng.random(60) < 0.4
    pairs = [(a > b) + 0.5 * (a == b) for a in scores[yes] for b in scores[~yes]]
    assert area(scores, yes) == pytest.approx(np.mean(pairs))
    found = auc([scores] * 3, [yes] * 3, draws=100)
    assert found.interval[0] < found.value < found.interval[1]


def test_every_part_runs_on_made_up_texts(setting, monkeypatch):
    monkeypatch.setattr("sfumato_research.frontier.found.looking", _lists_only(found.looking))
    parts = {part.name: part for part in load_study("frontier").parts}
    assert set(parts) >= {f"{case}-{model}" for case in CASES for model in ("minilm", "wordllama")}
    outcome = parts["place-minilm"].run(setting)
    terms = {row[0]: row for row in outcome.tables[0].rows}
    control, floor = terms["clean"][1].value, terms["labels taken out"][1].value
    assert control > floor + 0.3, "the attack reads clean vectors"
    assert terms["clean"][3].value == 1 and terms["best constant guess"][3].value == 0
    assert len(outcome.tables[2].rows) >= 4 and len(outcome.findings) == 3
    cuts = Cuts([cells.measured("place", "minilm", 0, setting)])
    missed = cuts.terms(OURS, found="all", missed=True)
    whole = cuts.terms(OURS, found="all")
    assert missed is not None and whole is not None
    assert missed.named.value > whole.named.value, "what the detector misses is read"
    again = parts["place-minilm"].run(replace(setting, on_step=lambda step: pytest.fail(step)))
    assert again == outcome, "a second run takes what was kept"
    assert parts["wider"].run(setting).tables[0].rows
    assert parts["text"].run(setting).tables[0].rows


def test_a_processor_attacks_the_releases_that_need_no_eraser(setting, monkeypatch):
    monkeypatch.setattr("sfumato_research.frontier.found.looking", _lists_only(found.looking))
    monkeypatch.setattr(cells, "informed", lambda pool, target, suite, seed: {})
    cuts = Cuts([cells.measured("place", "minilm", 0, replace(setting, quick=False, few=True))])
    assert set(cuts.labels) == {measure.CLEAN, measure.FLOOR, *cells.NO_ERASERS}
    assert cuts.terms(measure.CLEAN).named.value > cuts.terms(OURS).named.value + 0.3
    assert cells.cuts_there("place", "minilm", setting) == [], "a quick run has cells of its own"


def test_ways_of_making_texts_neutral_are_compared(setting, monkeypatch):
    monkeypatch.setattr(neutral, "encoder", lambda setting, model: Fake(dim=48))
    part = next(part for part in NEUTRAL.parts if part.name == "place-wordllama")
    outcome = part.run(setting)
    rows = {row[0]: row for row in outcome.tables[0].rows}
    assert list(rows) == [neutral.CLEAN, *neutral.WAYS]
    for way in neutral.WAYS:
        assert rows[neutral.CLEAN][1].value > rows[way][1].value + 0.3, "the term is gone"
    assert rows[neutral.CLEAN][3].value == rows[neutral.CLEAN][4].value == 1
    # Counting words, a soft token is the copies' mean.
    assert rows[neutral.SOFT][5] == pytest.approx(rows[neutral.COPIES][5], abs=0.02)
    assert rows[neutral.ONE][2].value > rows[neutral.REMOVAL][2].value, (
        "a fixed word shows that it stands there"
    )
    assert [finding.table for finding in outcome.findings] == [
        f"place, WordLlama: {way}" for way in neutral.WAYS[1:]
    ]
    again = part.run(replace(setting, on_step=lambda step: pytest.fail(step)))
    assert again == outcome, "a second run takes what was kept"


def _lists_only(looking):
    return lambda name, finder: looking(name, "lists")
