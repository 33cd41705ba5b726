"""The sealed study: the same cells on a device, a simulator that has sizes alone, attacks that can win."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from sfumato.attacks.known_texts.structure import bipartite
from sfumato.embedders.fake import Fake
from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.sealing.cells.filing import Filed
from sfumato.sealing.records import Records
from sfumato.stores import Memory
from sfumato_research.sealed import on_device, search
from sfumato_research.sealed import study as study_module
from sfumato_research.sealed.cases import SearchCase, filled_up, further_sentences, pool_case
from sfumato_research.sealed.corpus import two_corpora
from sfumato_research.sealed.curves import measured_curves, read_curve, text_bytes
from sfumato_research.sealed.equality import drawn_difference, prepared, snapshot_outcome
from sfumato_research.sealed.files import StoreFiles, plain_files, sealed_files, simulated_files
from sfumato_research.sealed.following import followed, kept_ids
from sfumato_research.sealed.graphs import PublicGraph
from sfumato_research.sealed.views import NOBODY, seal_rows, sealed_store, seen, simulated
from sfumato_research.sealed.watching import request_log
from sfumato_research.studies import Setting, load_study

SYLLABLES = [one + two for one in "bdfgklmnprstvz" for two in "aeiou"]
SUBJECTS = [f"{one}{two}" for one, two in zip(SYLLABLES[::2], SYLLABLES[1::2], strict=True)]


def write(path, lines):
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as handle:
        handle.write("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("data"), generator(1)

    def sentence(subject=0, words=9):
        own = [f"{SUBJECTS[subject]}{each}" for each in rng.choice(SYLLABLES, 3)]
        return " ".join([*own, *("".join(rng.choice(SYLLABLES, 5)) for _ in range(words))]) + "."

    rows = [f"source{row % 3}\t{sentence(row % 3)}" for row in range(1400)]
    write(folder / "sentences" / "sentences.tsv.gz", ["source\ttext", *rows])
    news = [f"{1 + row % 4}\t{sentence(4 + row % 4)}" for row in range(200)]
    write(folder / "ag_news" / "ag_news.tsv.gz", ["label\ttext", *news])
    pairs = []
    for row in range(80):
        text = sentence(9)
        pairs.append(f"{row % 2}\t{text}\t{text[:-1]} again.")
    write(folder / "quora_pairs" / "quora_pairs.tsv.gz", ["is_duplicate\tquestion1\tquestion2", *pairs])
    long = [f"reuters\t{' '.join(sentence(10 + row % 3) for _ in range(4))}" for row in range(60)]
    write(folder / "paragraphs" / "paragraphs.tsv.gz", ["source\ttext", *long])
    notes = []
    for _ in range(30):
        text = " ".join(sentence(14) for _ in range(12))
        notes.append(json.dumps({"text": text, "spans": [{"label": "NAME", "start": 0, "end": 4}]}))
    write(folder / "pii_medical_notes" / "notes.jsonl.gz", notes)
    for name in ("sts12", "sts13", "sts14"):
        lines = [f"{row % 6}\t{(text := sentence(row % 3))}\t{text[:-1]} too." for row in range(60)]
        write(folder / name / f"{name}.tsv.gz", ["score\tsentence1\tsentence2", *lines])
    for name in ("scifact", "cranfield", "fiqa_mini"):
        texts = [" ".join(sentence(row % 5) for _ in range(3)) for row in range(40)]
        place = folder / f"retrieval_{name}"
        corpus = [json.dumps({"_id": str(row), "text": text}) for row, text in enumerate(texts)]
        write(place / "corpus.jsonl.gz", corpus)
        asked = [json.dumps({"_id": f"q{row}", "text": texts[row].split(".")[0]}) for row in range(20)]
        write(place / "queries.jsonl.gz", asked)
        write(
            place / "qrels.tsv.gz",
            ["query-id\tcorpus-id\tscore\tsplit", *(f"q{row}\t{row}\t1\ttest" for row in range(20))],
        )
    return folder


@pytest.fixture
def setting(data, tmp_path, monkeypatch):
    for module in (search, study_module):
        monkeypatch.setattr(module, "encoder", lambda setting, model: Fake(dim=48))
    return Setting(data=data, quick=True, cache=tmp_path)


@pytest.fixture(scope="module")
def embedder():
    return Fake(dim=48)


def test_cells_on_a_device_are_the_products():
    rows = unit(generator(0).standard_normal((900, 16)).astype(np.float32))
    ours = on_device.learned(rows, 2, generator(3), "cpu")
    product = Codebook.learn(rows, tables=2, rng=generator(3))
    assert ours.to_bytes() == product.to_bytes()
    filed = Filed(rows, np.arange(len(rows)), len(rows))
    assert on_device.places(filed, ours, "cpu") == filed.places(product)


def test_a_curve_ends_where_all_cells_are_asked_for_and_says_its_bytes():
    rows = unit(generator(0).standard_normal((300, 16)).astype(np.float32))
    case = SearchCase(
        "made", [f"text {row}" for row in range(300)], ["?"] * 50, [{row: 1.0} for row in range(50)]
    )
    asked = rows[:50] + 0.3 * generator(1).standard_normal((50, 16)).astype(np.float32)
    filed = Filed(rows, np.arange(300), 300)
    one, _, three = measured_curves(case, rows, asked, filed, filing="own vector")
    assert one.points[-1].ndcg == 1 and one.points[-1].recall == 1 and one.points[-1].postings == 300
    assert one.points[0].recall < three.points[0].recall < 1
    assert three.postings_a_row == 3 and three.stored_a_row - one.stored_a_row == 2 * 124
    texts = text_bytes(case.texts)
    assert one.points[-1].bytes == pytest.approx(300 * 124 + 32 * texts[0] + 184, rel=0.02)
    assert read_curve(json.loads(json.dumps(one.to_dict()))) == one
    assert one.fewest(0.99).probes > 1 and one.within(1.0) is None


def test_the_pool_is_filled_up_with_other_sentences_and_runs_of_them(data):
    pool = pool_case(data)
    assert all(row < 200 for each in pool.judged for row in each) and len(pool.queries) == len(pool.judged)
    further, runs = further_sentences(data, pool)
    assert not set(further) & {*pool.texts, *pool.queries} and {len(run) for run in runs} == {2, 3}
    whole = filled_up(pool, further, runs, len(pool.texts) + len(further) + 10)
    assert len(set(whole.texts)) == len(whole.texts) == len(pool.texts) + len(further) + 10
    assert whole.texts[-1] == " ".join(further[each] for each in runs[9])


def test_the_simulator_has_sizes_and_nothing_else(setting, embedder, tmp_path):
    shared = prepared(setting, embedder)
    with sealed_store(Memory(), tmp_path / "state", embedder) as store:
        seal_rows(store, shared.corpus, range(len(shared.corpus)))
        view = seen(store)
        held = dict(Records(store.store).scan())
    made = simulated(view)
    assert sorted(made.sizes()) == sorted(view.sizes()) and made.ids == sorted(made.ids)
    assert not set(made.ids) & set(view.ids) and not set(made.contents) & set(view.contents)
    assert dict(zip(view.ids, view.contents, strict=True)) == held
    assert (view.rows == NOBODY).sum() == 1, "the counter of changes is no row's"
    assert view.is_text.sum() == len(shared.corpus)
    sizes = {row: size for row, size in zip(made.rows[made.is_text], made.sizes()[made.is_text], strict=True)}
    assert sizes == dict(zip(view.rows[view.is_text], view.sizes()[view.is_text], strict=True))


def test_corpora_share_no_text_and_know_their_twins(setting):
    own, public = two_corpora(setting)
    assert not set(own.texts) & set(public.texts) and own.names == public.names
    for one, other in own.twins:
        assert own.texts[other].startswith(own.texts[one][:-1])
    pairs = own.same_person()
    assert len(pairs) and (own.people[pairs[:, 0]] == own.people[pairs[:, 1]]).all()


def test_rows_are_followed_where_ids_stay_and_not_where_they_change(setting, embedder, tmp_path):
    corpus, _ = two_corpora(setting)
    views = []
    for name in ("one", "two"):
        with sealed_store(Memory(), tmp_path / name, embedder) as store:
            seal_rows(store, corpus, range(len(corpus)))
            views.append(seen(store))
    assert followed(views[0], views[0]).mean() == 1
    assert followed(views[0], kept_ids(*views)).mean() == 1
    assert followed(*views).mean() < 0.3


def test_tags_tell_sources_once_some_texts_are_known(setting, embedder):
    shared = prepared(setting, embedder)
    known = np.flatnonzero(shared.known)
    found = shared.graph.attack(bipartite(shared.tags), shared.vectors, known)
    assert found.ranks[~shared.known].mean() < 0.4, "the graph of shared tags puts the true text forward"
    rng = generator(0)
    shuffled = rng.permuted(shared.tags, axis=0)
    noise = shared.graph.attack(bipartite(shuffled), shared.vectors, known)
    assert abs(noise.ranks[~shared.known].mean() - 0.5) < 0.1
    assert isinstance(shared.graph, PublicGraph)


def test_a_difference_holds_zero_where_there_is_none_and_not_where_there_is():
    rng = generator(4)
    shift = rng.standard_normal((12, 1)) * 0.05
    draws = shift + rng.standard_normal((12, 400)) * 0.1
    low, high = drawn_difference(draws[:6], draws[6:])
    assert low < 0 < high
    low, high = drawn_difference(draws[:6] + 0.5, draws[6:])
    assert low > 0


def test_files_of_a_sealed_store_hold_no_word_and_those_of_a_plain_one_do(setting, embedder, tmp_path):
    pytest.importorskip("qdrant_client")
    corpus, _ = two_corpora(setting)
    places = [tmp_path / name for name in ("sealed", "simulated", "plain")]
    for place in places:
        place.mkdir()
    found, view = sealed_files("qdrant", places[0], corpus, 40, embedder)
    made = simulated_files("qdrant", places[1], view.sizes().tolist())
    texts = corpus.texts[:40]
    plain = plain_files("qdrant", places[2], texts, unit(embedder.embed(texts)))
    assert found.words_found(texts).sum() == made.words_found(texts).sum() == 0
    assert plain.words_found(texts).mean() > 0.9
    assert isinstance(found, StoreFiles) and len(found.pages()) and (made.compressed() > 0).all()


def test_the_log_of_requests_is_the_stores(embedder, tmp_path, monkeypatch):
    """Whatever the model of an operator says was asked for together, the product asks for together."""
    rng = generator(2)
    rows = unit(rng.standard_normal((200, 48)).astype(np.float32))
    with sealed_store(Memory(), tmp_path / "state", embedder) as store:
        store.add([str(row) for row in range(200)], ["a text"] * 200, vectors=rows)
        view = seen(store)
        posting = {
            name: int(row)
            for name, row, text in zip(view.ids, view.rows, view.is_text, strict=True)
            if not text
        }
        asked: list[list[str]] = []
        get = Records.get

        def spied(self, ids):
            names = list(ids)
            asked.append(names)
            return get(self, names)

        monkeypatch.setattr(Records, "get", spied)
        book = store._client.state.codebook()
        monkeypatch.setattr(Codebook, "learn", classmethod(lambda *_, **__: book))
        log = request_log(rows, rows[:20], 0).toarray()
        for query in range(20):
            asked.clear()
            store.search(vectors=rows[query][None], k=10)
            fetched = {posting[name] for name in asked[0] if posting.get(name, NOBODY) != NOBODY}
            assert fetched == set(np.flatnonzero(log[:, query]))


def test_every_part_runs_on_made_up_texts(setting, tmp_path):
    parts = {part.name: part for part in load_study("sealed").parts}
    outcome = parts["search"].run(setting)
    assert len(outcome.tables) == 3 and outcome.figures[0].svg.startswith("<svg")
    sealed = snapshot_outcome(setting, Fake(dim=48))
    rows = {(row[0], row[1]): row for row in sealed.tables[0].rows}
    assert len(rows) == 10
    order = rows["order in the store", "correlation with time"]
    assert order[6].value == pytest.approx(1), "the control works"
    late = {row[1]: row for row in sealed.tables[1].rows}
    assert late["correlation with time"][2].value > 0.5, "several calls stand in the order they were made"
    for name in ("following", "files", "watching"):
        assert parts[name].run(setting).tables[0].rows, name
    assert not list(Path(setting.data).rglob("*.npy"))
