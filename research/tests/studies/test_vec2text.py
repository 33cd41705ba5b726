"""The study of the ready-made reader, on a handful of sentences."""

from __future__ import annotations

import gzip
import json
from html import escape
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from sfumato.attacks.writers.search import Search, Searcher
from sfumato.concepts import Concept
from sfumato.metrics import Reconstruction, score_reconstruction
from sfumato_research.studies import Setting
from sfumato_research.vec2text import scratch, sets, texts
from sfumato_research.vec2text.correcting import _figure_5_finding, _rounds_findings, table_1
from sfumato_research.vec2text.feedback import WITH, WITHOUT, _chosen, _feedback_findings, table_4
from sfumato_research.vec2text.noise import _noise_findings, _smaller, quora_searches, squad_searches
from sfumato_research.vec2text.one_text import GAP, draw_rounds, marked
from sfumato_research.vec2text.rounds import RoundCorrector
from sfumato_research.vec2text.sets import _cuts, other_sets
from sfumato_research.vec2text.texts import (
    HELD_BACK,
    NON_COMMERCIAL,
    ReadyMadeReaders,
    held_back,
    shortened,
    trained_on,
)

SENTENCES = (
    "The food was great and the staff were friendly.",
    "She bought a new car last week.",
    "A man is playing a guitar.",
    "The weather is nice today.",
    "The children are playing in the park.",
    "He works at the bank in the city.",
    "The company reported a loss in the third quarter.",
    "The dog is running on the beach.",
    "I will never go back to this place.",
    "The president met the prime minister on Monday.",
    "The film is a bit too long.",
    "They lost the game in the last minute.",
)


def write_lines(folder, name, lines):
    folder.mkdir(exist_ok=True)
    with gzip.open(folder / name, "wt", encoding="utf-8") as handle:
        handle.write("\n".join(lines) + "\n")


def write_rows(folder, name, rows):
    write_lines(folder, name, [json.dumps(row) for row in rows])


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    lines = ["source\ttext"]
    for number, text in enumerate(SENTENCES):
        lines += [f"made\t{text}", f"{NON_COMMERCIAL[0]}\tnot to be used {number}"]
    write_lines(folder / "sentences", "sentences.tsv.gz", lines)
    pairs = [f"train\t1\t{text}\t{text} Indeed." for text in SENTENCES]
    write_lines(
        folder / "quora_pairs", "quora_pairs.tsv.gz", ["split\tis_duplicate\tquestion1\tquestion2", *pairs]
    )
    kinds = [f"train\tmade\tmade\t{text}" for text in SENTENCES]
    write_lines(folder / "trec6", "trec6.tsv.gz", ["split\tlabel\tfine_label\ttext", *kinds])
    return folder


@pytest.fixture(scope="module")
def readers(data):
    return ReadyMadeReaders(Setting(data, quick=True))


def scored(bleu, exact=None, f1=None, cosine=None):
    """Texts with these figures."""
    values = np.asarray(bleu, float)
    others = [values / 100 if each is None else np.asarray(each, float) for each in (f1, exact, cosine)]
    return Reconstruction(float(values.mean()), values, *others)


def test_held_back_sentences_are_those_the_recipe_held_back(data, monkeypatch):
    found = held_back(data, 100)
    assert sorted(found) == sorted(shortened(SENTENCES))
    assert shortened(["word " * 60])[0].split() == ["word"] * 32
    assert trained_on(data, 5) == [], "the first thousand were held back"
    monkeypatch.setattr(texts, "HELD_BACK", 4)
    assert trained_on(data, 3) == found[4:7]
    assert HELD_BACK == 1000


def test_wordpieces_are_embedded_as_their_texts_are(readers):
    given = shortened([*SENTENCES, "word " * 60])
    tokens = torch.from_numpy(readers.pieces.encode(given, 32))
    assert np.abs(readers.encode(tokens, rows=5).numpy() - readers.vectors(given)).max() < 1e-5


@pytest.mark.parametrize("feedback", [True, False])
def test_rounds_are_what_a_search_of_so_many_steps_finds(readers, feedback):
    vectors = readers.vectors(shortened(SENTENCES[:3]))
    followed = readers.rounds(vectors, 2, feedback=feedback)
    assert followed.texts(2) == readers.read(vectors, Search(steps=2, beam=1, feedback=feedback))
    assert followed.texts(0) == followed.last(0) == readers.read(vectors, texts.GREEDY)
    assert (np.diff(followed.cosines, axis=0) >= 0).all(), "the closest one so far is kept"


def test_a_given_start_is_corrected_and_batches_do_not_mix(readers, monkeypatch):
    given = shortened(SENTENCES[:3])
    vectors, start = readers.vectors(given), readers.pieces.encode(["the the the"] * 3, 32)
    whole = readers.rounds(vectors, 1, start=start)
    assert whole.texts(0) == ["the the the"] * 3
    monkeypatch.setattr(texts, "_ROWS", {"cpu": (2, 2)})
    assert readers.rounds(vectors, 1, start=start).texts(1) == whole.texts(1)


def test_half_the_digits_read_as_a_gpu_does(readers):
    network = readers.network
    vectors = torch.from_numpy(readers.vectors(shortened(SENTENCES[:2])))
    ratio = torch.zeros(2)
    try:
        network.to(torch.bfloat16)
        found = RoundCorrector(network, readers.specials, readers.encode).run(vectors, ratio, 1)
        searcher = Searcher(network, readers.specials, readers.encode, 0)
        for search in (
            Search(steps=1, beam=2, branch=2, first=2, polish=1),
            Search(steps=0, beam=1, likeliest=2),
        ):
            assert searcher.run(vectors, ratio, search).tokens.shape[-1] == 34
    finally:
        network.to(torch.float32)
    assert readers.pieces.decode(found[-1][0].numpy())[1].startswith("she bought")


def test_closeness_is_worked_out_with_all_digits_while_the_reader_has_half(readers):
    vectors = readers.vectors(shortened(SENTENCES[:2]))
    with torch.autocast("cpu", torch.bfloat16):
        corrector = RoundCorrector(readers.network, readers.specials, readers.encode)
        found = corrector.run(torch.from_numpy(vectors), torch.zeros(2), 1)
    for tokens, cosines, _ in found:
        own = readers.vectors(readers.pieces.decode(tokens.numpy()))
        assert np.abs((own * vectors).sum(1) - cosines.numpy()).max() < 1e-5


def test_the_study_s_device_is_the_reader_s_and_the_encoder_s(data, monkeypatch):
    asked = []
    monkeypatch.setattr(texts, "load_embedder", lambda name, device: asked.append((name, device)))
    made = ReadyMadeReaders(Setting(data, device="cpu"))
    assert asked == [("minilm", "cpu")] and made.device.type == "cpu" and not made.gpu


def test_common_sentences_are_read_back(data, monkeypatch):
    monkeypatch.setattr("sfumato_research.vec2text.correcting.held_back", lambda *_: shortened(SENTENCES[:6]))
    outcome = table_1(Setting(data, quick=True))
    rows = {row[0]: row for row in outcome.tables[0].rows}
    assert [rows[label][1] for label in ("0 steps", "1 step", "5 steps")] == [1, 2, 6]
    assert rows["0 steps"][4].value > 50
    assert rows["1 step"][6].value >= rows["0 steps"][6].value, "the closer of the two is kept"
    assert rows["0 steps"][3].printed == 31.9
    assert outcome.figures[0].svg.startswith("<svg")


def test_other_sets_are_read_where_they_are_there(data, monkeypatch):
    monkeypatch.setattr(sets, "SETS", sets.SETS[:2])
    outcome = other_sets(Setting(data, quick=True))
    assert {row[0] for row in outcome.tables[0].rows} == {"trec6", "quora"}
    assert outcome.tables[0].rows[0][1].value <= outcome.tables[0].rows[1][1].value, "the shortest first"
    assert not outcome.tables[1].rows, "none of them has 32 wordpieces"


def test_the_same_texts_are_read_at_every_length(data):
    """What is read of a text must be counted against the same cut of the same text."""
    whole = [f"{word} " + "and so on " * 12 for word in ("first", "second", "third")]
    given = [sets.SampledSet(name, [], whole[:count], 32.0, 37.0) for name, count in (("one", 2), ("two", 3))]
    exact = SimpleNamespace(
        gpu=False, vectors=list, rounds=lambda texts, steps: SimpleNamespace(texts=lambda n: texts)
    )
    table = _cuts(Setting(data, quick=True), exact, given)
    assert [row[:2] for row in table.rows] == [["one", 2], ["two", 2]], "two of each in a quick run"
    assert all(cell.value == 100 for row in table.rows for cell in row[2:])
    shifted = SimpleNamespace(
        gpu=False, vectors=list, rounds=lambda texts, steps: SimpleNamespace(texts=lambda n: [*texts[1:], ""])
    )
    assert all(
        cell.value < 100 for row in _cuts(Setting(data, quick=True), shifted, given).rows for cell in row[2:]
    )


def test_a_decoder_from_nothing_stands_beside_the_classifier_and_the_ready_made(data, monkeypatch):
    told = ["rain in paris", "snow in rome"]
    places = scratch._HeldOutPlaces(
        Concept.from_terms("place", ["paris", "rome"]), told, 0, told, [("paris",), ("rome",)]
    )
    ones = np.ones((2, 2))

    def written(*rows):
        return SimpleNamespace(recover=lambda vectors: SimpleNamespace(rows=list(rows)))

    class Readers:
        def __init__(self, setting):
            self.encoder = SimpleNamespace(embed=lambda texts: ones)

        def read(self, vectors, search):
            return told

        def score(self, texts, found):
            return score_reconstruction(texts, found, vectors=ones, recovered_vectors=ones)

    monkeypatch.setattr(scratch, "_own_places", lambda setting: places)
    monkeypatch.setattr(scratch, "ReadyMadeReaders", Readers)
    monkeypatch.setattr(
        scratch,
        "Decoder",
        lambda **_: SimpleNamespace(fit=lambda *_: written("rain in paris", "sun in paris")),
    )
    monkeypatch.setattr(scratch, "best_of", lambda *_: written(["paris"], ["rome"]))
    outcome = scratch.from_scratch(Setting(data, quick=True))
    rows = {row[0]: row for row in outcome.tables[0].rows}
    assert [row[1].value for row in rows.values()] == [1.0, 0.5, 1.0]
    assert rows["token classifier"][2] is None and rows["ready-made reader"][4].value == 100
    assert rows["decoder, trained from nothing"][4].value == 50 and outcome.findings[0].same is True


def test_one_made_up_sentence_is_shown_over_its_rounds(data):
    outcome = table_4(Setting(data, quick=True))
    truth, *rounds = outcome.tables[0].rows
    assert truth[0] == "text" and rounds[0][0] == "round 1"
    assert [row[1].value for row in rounds] == sorted(row[1].value for row in rounds)
    assert escape(truth[2].split()[0]) in outcome.figures[0].svg


def test_the_example_took_four_texts_where_one_did():
    assert _chosen([["a", "a"], ["a", "b", "c", "d"], ["a", "b", "c", "d"]], [True, False, True]) == 2
    assert _chosen([["a", "a"], ["a", "b", "b"]], [True, False]) == 1


def test_words_out_of_order_are_marked():
    found = dict(marked("the quick brown fox", "the brown quick cat"))
    assert found["the"] and not found["cat"] and found["quick"] + found["brown"] == 1
    assert marked("rule for forty years", "rule forty years")[1] == (GAP, False), "a word is missing there"
    assert marked("one two", "one two") == [("one", True), ("two", True)]
    drawn = draw_rounds("a < b", [(0, 0.5, "a > b")])
    assert "&lt;" in drawn and "1 (0.50)" in drawn and "line-through" in drawn


def test_a_verdict_on_rounds_follows_the_differences():
    low, high = np.linspace(10, 20, 40), np.linspace(30, 40, 40)
    found = _rounds_findings({"0 steps": scored(low), "1 step": scored(high), "5 steps": scored(high + 5)})
    assert [each.same for each in found] == [True]
    fallen = {"0 steps": scored(low), "1 step": scored(high), "5 steps": scored(low)}
    assert _rounds_findings(fallen)[0].same is False
    exact = np.repeat([0.0, 1.0], 20)
    beams = {
        "0 steps": scored(low),
        "1 step": scored(high),
        "5 steps": scored(high + 5),
        "50 steps": scored(high + 6, exact),
        "50 steps, beam 8": scored(high[:30] + 9, np.ones(30)),
    }
    wide = _rounds_findings(beams)[1]
    assert wide.same is True and "33.3 % without, 100.0 % with" in wide.ours


def test_close_and_wrong_texts_are_counted():
    bleu, cosine = np.linspace(0, 100, 50), np.linspace(0.5, 1, 50)
    assert _figure_5_finding({"20 steps": scored(bleu, cosine=cosine)}).same is True
    odd = _figure_5_finding({"20 steps": scored(bleu[::-1], cosine=cosine)})
    assert odd.same is False and "10.0% are close and wrong" in odd.ours


def test_feedback_is_judged_on_the_same_sentences():
    better, same = np.repeat([0.0, 1.0], 10), np.zeros(20)
    found = {
        (label, point): scored(np.full(20, 20.0 + (label == WITH) * 5 * point), exact)
        for point in (0, 1)
        for label, exact in ((WITH, better), (WITHOUT, same))
    }
    assert [each.same for each in _feedback_findings([0, 1], found)] == [True, True, True]


def test_noise_is_judged_by_what_is_left():
    clean = np.full(20, 40.0)
    told = {(0.0, False): scored(clean), (0.01, False): scored(clean * 0.8), (0.01, True): scored(clean)}
    kept = {"quora": {0.01: 0.99, 0.1: 0.02}, "fiqa": {0.01: 0.94, 0.1: 0.3}}
    assert [each.same for each in _noise_findings(told, kept)] == [False, False, False]
    told[0.01, False] = scored(clean * 0.1)
    kept["fiqa"] = {0.01: 0.96, 0.1: 0.0}
    assert [each.same for each in _noise_findings(told, kept)] == [True, True, True]


def test_retrieval_sets_are_made_of_pairs_and_of_questions(data, tmp_path):
    pairs = quora_searches(data, 5)
    assert len(pairs.queries) == 5 and len(pairs.documents) == len(SENTENCES)
    assert pairs.documents[next(iter(pairs.judged[2]))] == f"{pairs.queries[2]} Indeed."
    write_rows(
        tmp_path / "squad_dev", "contexts.jsonl.gz", [{"context_id": n, "context": n * 2} for n in "ab"]
    )
    asked = [{"id": 1, "context_id": "b", "question": "of b?"}]
    write_rows(tmp_path / "squad_dev", "questions.jsonl.gz", asked)

    found = squad_searches(tmp_path, 9, 0)
    assert (found.documents, found.queries, found.judged) == (["aa", "bb"], ["of b?"], [{1: 1.0}])
    fewer = _smaller(pairs, 2)
    assert len(fewer.documents) == 2 and all(at < 2 for judged in fewer.judged for at in judged)
