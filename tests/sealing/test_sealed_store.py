"""A sealed collection finds as well as a plain one, changes as told, and shows nothing."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import sfumato
from sfumato.embedders import Fake
from sfumato.errors import InputError, ParameterError, RandomnessError
from sfumato.sealing.client.contents import LARGEST_ROW
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.store import SealedStore
from sfumato.stores import Memory
from tests.sealing.collections import (
    DIM,
    ENCODER,
    brute_force,
    contents,
    key_in,
    metadata,
    names,
    notes,
    sealed,
)

ROWS = 600
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    with sealed(tmp_path_factory.mktemp("full"), tables=2) as store:
        assert store.add(IDS, TEXTS, FIELDS) == ROWS
        yield store


def test_it_is_the_one_at_the_root():
    assert sfumato.SealedStore is SealedStore


def test_rows_that_were_added_come_back(full):
    assert len(full) == ROWS
    found = full.get([IDS[7], "absent", IDS[3]])
    assert [(row.id, row.text, row.metadata) for row in found] == [
        (IDS[row], TEXTS[row], FIELDS[row]) for row in (7, 3)
    ]
    everything = [row for part in full.iterate(100) for row in part]
    assert [row.id for row in everything] == IDS and [row.text for row in everything] == TEXTS


def test_a_search_keeps_what_was_asked_of_clean_search(full):
    queries = notes(150, seed=5)
    results = full.search(queries, 10)
    kept = [
        len({IDS[row] for row in rows} & {hit.id for hit in result.hits})
        for rows, result in zip(brute_force(TEXTS, queries, 10), results, strict=True)
    ]
    assert sum(kept) >= 0.97 * 1500
    assert full.measured is not None and full.measured.holds and full.measured.target == 0.99
    for result in results:
        scores = [hit.score for hit in result.hits]
        assert result.complete and result.faults == () and scores == sorted(scores, reverse=True)
        assert len(scores) == 10 and result.candidates < ROWS * 2


def test_scores_are_cosines_and_texts_and_metadata_come_with_them(full):
    vectors = ENCODER.embed(TEXTS)
    for row in (0, 17, 599):
        result = full.search(TEXTS[row], 3)
        assert (result.hits[0].id, result.hits[0].text) == (IDS[row], TEXTS[row])
        assert result.hits[0].metadata == FIELDS[row]
        for hit in result.hits:
            assert hit.score == pytest.approx(float(vectors[IDS.index(hit.id)] @ vectors[row]), abs=0.01)


def test_every_probe_is_asked_whatever_the_query(full, monkeypatch):
    """As many requests, cells and texts for each query, also for one that nothing is near to."""
    asked = []
    get = full.store.get
    monkeypatch.setattr(full.store, "get", lambda ids: (asked.append(list(ids)), get(ids))[1])
    shapes = set()
    for query in (TEXTS[0], "", "zzzzzz qqqqqq", "1" * 5000):
        asked.clear()
        result = full.search(query, 5)
        assert asked[-1] == sorted(asked[-1])
        shapes.add((len(asked), len(asked[-1]), result.texts))
    assert shapes == {(2, 32, 32)}
    for k, texts in ((1, 32), (32, 32), (33, 64), (100, 128)):
        assert full.search(TEXTS[0], k).texts == texts


def test_decoys_are_other_rows_each_time(full, monkeypatch):
    asked = []
    get = full.store.get
    monkeypatch.setattr(full.store, "get", lambda ids: (asked.append(set(ids)), get(ids))[1])
    for _ in range(12):
        full.search(TEXTS[5], 1)
    rounds = asked[1::2]
    assert all(len(each) == 32 for each in rounds) and len(set.intersection(*rounds)) == 1
    assert len(set.union(*rounds)) > 200


def test_filters_hold_at_the_client(full):
    result = full.search(TEXTS[4], 10, where={"ward": "ward 1"})
    assert result.texts == 256 and len(result.hits) == 10
    assert all(hit.metadata["ward"] == "ward 1" for hit in result.hits)
    assert full.search(TEXTS[4], 10, where={"row": [4, 5]}).hits[0].id == IDS[4]
    assert full.search(TEXTS[4], 10, where={"unheard_of": 1}).hits == []


def test_vectors_may_be_given(tmp_path):
    vectors = 3 * ENCODER.embed(TEXTS[:200])
    with sealed(tmp_path, embedder=None, precision="float32") as store:
        store.add(IDS[:200], TEXTS[:200], vectors=vectors)
        (result,) = store.search(vectors=vectors[9:10], k=2)
        assert result.hits[0].id == IDS[9] and result.hits[0].score == pytest.approx(1, abs=1e-6)
        with pytest.raises(InputError, match="no embedder"):
            store.search("text")
        with pytest.raises(InputError, match="no embedder"):
            store.add(["x"], ["text"])
        assert store.add(IDS[:200], TEXTS[:200], vectors=vectors) == 0
        vectors[0] *= -1
        assert store.add(IDS[:200], TEXTS[:200], vectors=vectors) == 1


@pytest.mark.parametrize("precision", ["int8", "float16", "float32"])
def test_precisions(precision, tmp_path):
    with sealed(tmp_path, precision=precision) as store:
        store.add(IDS[:80], TEXTS[:80])
        assert [store.search(text, 1).hits[0].id for text in TEXTS[:5]] == IDS[:5]
    with pytest.raises(ParameterError, match="precision"):
        sealed(tmp_path, precision="int4")


def test_an_empty_collection_and_one_row(tmp_path):
    with sealed(tmp_path) as store:
        assert len(store) == 0 and list(store.iterate()) == [] and store.get(["x"]) == []
        assert store.search("anything").hits == [] and store.search("anything").complete
        assert store.search([]) == [] and store.delete(["x"]) == 0 and store.erase(["x"]) is None
        assert store.add([], []) == 0
        store.relearn()
        store.add(["only"], [""], [{"a": True}])
        result = store.search("anything", 10)
        assert [hit.id for hit in result.hits] == ["only"] and result.complete and result.texts == 1


def test_many_rows_of_one_text(tmp_path):
    with sealed(tmp_path) as store:
        store.add(names(300), ["the same text"] * 300, metadata(300))
        result = store.search("the same text", 300)
        assert sorted(hit.id for hit in result.hits) == sorted(names(300)) and result.complete
        assert store.delete(names(299)) == 299
        assert [hit.id for hit in store.search("the same text").hits] == [names(300)[299]]


def test_a_text_of_a_megabyte(tmp_path):
    long = "A sentence about the harbour and its lanterns. " * 22_000
    with sealed(tmp_path) as store:
        store.add(["long", "short"], [long, "gout"])
        assert store.get(["long"])[0].text == long
        assert store.search("harbour lanterns", 1).hits[0].id == "long"
        with pytest.raises(InputError, match="Row 1 has .* bytes") as caught:
            store.add(["other", "longer"], ["fine", "x" * LARGEST_ROW])
        assert "xxxx" not in str(caught.value)
        assert len(store) == 2 and store.get(["other"]) == []


def test_an_update_replaces_a_row_and_its_records(tmp_path):
    with sealed(tmp_path) as store:
        store.add(IDS[:100], TEXTS[:100], FIELDS[:100])
        before = contents(store.store)
        assert store.update([IDS[4]], ["wholly other words"], [{"new": 1}]) == 1
        assert len(store) == 100 and store.get([IDS[4]])[0].metadata == {"new": 1}
        assert store.search("wholly other words", 1).hits[0].id == IDS[4]
        after = contents(store.store)
        # Its records are gone and others are there; the counter alone is at its place.
        assert len(after) == len(before) and len(set(before) - set(after)) == 2
        assert sum(before[name] != after[name] for name in set(before) & set(after)) == 1
        with pytest.raises(InputError, match="Row 1 of `ids` must be in the collection"):
            store.update([IDS[4], "absent"], ["a", "b"])


def test_the_same_again_is_no_change(tmp_path):
    with sealed(tmp_path) as store:
        store.add(IDS[:100], TEXTS[:100], FIELDS[:100])
        before = contents(store.store)
        assert store.add(IDS[:100], TEXTS[:100], FIELDS[:100]) == 0
        assert contents(store.store) == before
        assert store.add(IDS[:100], TEXTS[:100], [{**FIELDS[0], "row": -1}, *FIELDS[1:100]]) == 1


def test_nothing_occurs_twice_and_there_are_few_sizes(full):
    held = contents(full.store)
    assert len(held) > 3 * ROWS and len(set(held.values())) == len(held)
    assert len({len(content) for content in held.values()}) <= 8
    assert len({content[:40] for content in held.values()}) == len(held)


def test_ids_that_are_written_come_in_their_own_order(tmp_path, monkeypatch):
    store, order = Memory(), []
    add = store.add
    monkeypatch.setattr(store, "add", lambda ids, *rest: (order.extend(ids), add(ids, *rest)))
    with sealed(tmp_path, store) as collection:
        collection.add(IDS, TEXTS)
        assert len(order) > 2 * ROWS and order == sorted(order)
        order.clear()
        collection.relearn()
        assert len(order) > 2 * ROWS and order == sorted(order)


def test_single_rows_may_wait_for_others(tmp_path):
    with sealed(tmp_path, buffer=50) as store:
        for row in range(20):
            store.add([IDS[row]], [TEXTS[row]])
        assert len(store.store) == 0 and store.waiting == 41
        assert [store.search(text, 1).hits[0].id for text in TEXTS[:20]] == IDS[:20]
        store.update([IDS[3]], ["changed while it waits"])
        store.delete([IDS[4]])
        assert store.search("changed while it waits", 1).hits[0].id == IDS[3]
        for row in range(20, 30):
            store.add([IDS[row]], [TEXTS[row]])
        store.flush()
        assert store.waiting == 0 and len(store.store) == 2 * 29 + 1
        assert store.search(TEXTS[4], 29).complete


def test_cells_are_learned_anew_as_the_collection_grows(tmp_path):
    with sealed(tmp_path) as store:
        epochs = []
        for start in range(0, 600, 60):
            store.add(IDS[start : start + 60], TEXTS[start : start + 60])
            epochs.append(store.settings.epoch)
        assert epochs[0] == 0 and epochs[-1] == 3 and store.settings.learned == 480
        assert all(
            store.search(text, 1).hits[0].id == name
            for text, name in zip(TEXTS[::40], IDS[::40], strict=True)
        )


def test_relearning_moves_every_record(tmp_path):
    with sealed(tmp_path) as store:
        store.add(IDS[:300], TEXTS[:300], FIELDS[:300])
        before = contents(store.store)
        store.relearn()
        after = contents(store.store)
        assert len(set(before) & set(after)) == 1 and not set(before.values()) & set(after.values())
        assert [row.metadata for part in store.iterate() for row in part] == FIELDS[:300]
        assert store.search(TEXTS[9], 1).hits[0].id == IDS[9]


def test_rows_may_be_changed_while_they_are_gone_through(tmp_path):
    with sealed(tmp_path) as store:
        store.add(IDS[:50], TEXTS[:50])
        seen = 0
        for part in store.iterate(10):
            store.update([row.id for row in part], [f"{row.text} Seen." for row in part])
            store.add([f"another {part[0].id}"], ["a new one"])
            seen += len(part)
        assert seen == 50 and len(store) == 55
        assert all(row.text.endswith("Seen.") for row in store.get(IDS[:50]))


def test_cells_may_be_learned_before_there_are_rows(tmp_path):
    with sealed(tmp_path) as store:
        store.fit(notes(300, seed=9))
        assert max(store._client.state.codebook().cells) > 50
        store.add(IDS[:100], TEXTS[:100])
        assert store.settings.epoch == 0 and store.search(TEXTS[5], 1).hits[0].id == IDS[5]
        with pytest.raises(InputError, match="100 rows"):
            store.fit(TEXTS)


def test_long_texts_are_found_by_their_sentences(tmp_path):
    texts = [" ".join(notes(8, seed=row)) for row in range(200)]
    with sealed(tmp_path) as store:
        store.add(IDS[:200], texts)
        assert all(len(each.places) > 1 for part in store._client.state.walk(50) for each in part)
        sentence = texts[42].split(". ")[5]
        assert IDS[42] in [hit.id for hit in store.search(sentence, 10).hits]


def test_it_opens_again_with_everything(tmp_path):
    store = Memory(tmp_path / "rows")
    with sealed(tmp_path, store) as first:
        first.add(IDS[:100], TEXTS[:100], FIELDS[:100])
    with sealed(tmp_path, Memory(tmp_path / "rows")) as second:
        assert len(second) == 100 and second.search(TEXTS[3], 1).hits[0].id == IDS[3]
        assert second.settings.encoder == ENCODER.model_id and second.settings.dim == DIM


REFUSED = {
    "another key": (lambda folder: {"key": SealingKey.create(folder / "other")}, "does not open the state"),
    "another tenant": (lambda folder: {"tenant": "somebody else"}, "does not open the state"),
    "another encoder": (lambda folder: {"embedder": Fake(dim=16)}, "encoder"),
    "another handle": (lambda folder: {"handle": "tags"}, "handle"),
    "no probes": (lambda folder: {"probes": 0}, "probes"),
    "too many tables": (lambda folder: {"tables": 99}, "tables"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_belong_to_the_collection_is_refused(name, tmp_path):
    make, message = REFUSED[name]
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        store.add(IDS[:5], TEXTS[:5])
    with pytest.raises(InputError, match=message) as caught:
        sealed(tmp_path, Memory(tmp_path / "rows"), **make(tmp_path))
    assert "\n" not in str(caught.value)
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        assert len(store) == 5


def test_rows_that_the_state_does_not_know_are_refused(tmp_path):
    store = Memory()
    store.add(["foreign"], np.ones((1, 2)))
    with pytest.raises(InputError, match="has to be empty"):
        sealed(tmp_path, store)
    with pytest.raises(InputError, match="There is no state"):
        SealedStore(Memory(), key=key_in(tmp_path), folder=tmp_path / "nowhere", create=False)
    assert not (tmp_path / "nowhere").exists()


def test_two_clients_share_one_state(tmp_path):
    store = Memory()
    with sealed(tmp_path, store) as one, sealed(tmp_path, store) as two:
        one.add(IDS[:100], TEXTS[:100])
        assert two.search(TEXTS[3], 1).hits[0].id == IDS[3]
        two.add(IDS[100:150], TEXTS[100:150])
        one.delete(IDS[:10])
        assert len(one) == len(two) == 140
        two.relearn()
        result = one.search(TEXTS[120], 1)
        assert result.complete and result.hits[0].id == IDS[120]


def test_neither_key_nor_text_shows(full, tmp_path):
    shown = repr(full)
    assert key_in(tmp_path).fingerprint not in shown and "SealedStore(memory:" in shown
    for secret in (full._client, full._client.state):
        with pytest.raises(RandomnessError):
            copy.copy(secret)


def test_less_may_be_asked_of_a_search(full, tmp_path):
    """One row that is looked for needs fewer records than ten neighbours of it."""
    with sealed(tmp_path, keep="ndcg@10=0.95", tables=2) as store:
        store.add(IDS, TEXTS, FIELDS)
        assert store.measured.metric == "ndcg@10" and store.settings.probes < full.settings.probes
        assert store.search(TEXTS[9], 1).hits[0].id == IDS[9]
    with pytest.raises(ParameterError, match="keep"):
        sealed(tmp_path, keep="cosine=0.9")
    # A collection keeps what it was made with.
    with sealed(tmp_path, store=Memory(), keep="recall@10=0.5", tables=5) as store:
        assert (store.settings.keep, store.settings.tables) == ("ndcg@10=0.95", 2)
