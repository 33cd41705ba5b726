"""What a sealed collection is in every framework: whole rows, honest scores, no secret, no blocked loop."""

from __future__ import annotations

import asyncio
import json
import pickle
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sfumato.adapters.sealed import IncompleteResultWarning
from sfumato.errors import InputError, ParameterError, SfumatoError, StoreError
from sfumato.stores import Memory, open_store
from tests.adapters.sealed.cases import CASES
from tests.contracts.store_cases import CASES as STORES
from tests.contracts.store_cases import addresses
from tests.sealing.collections import brute_force, contents, metadata, names, notes, sealed

ROWS = 120
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)
ODD = {
    "two words": "a name that no store takes",
    "nested": {"list": [1, 2.5, None, {"deep": True}]},
    "none": None,
    "empty": [],
    "big": 1 << 80,
    "zero": "a\0b",
    "_rest": "the name of our own field",
    "ward": "ward 1",
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture
def store(case, tmp_path):
    with sealed(tmp_path) as collection:
        made = case.make(collection, strict=True)
        case.add(made, IDS, TEXTS, FIELDS)
        yield made


def records(made):
    """The store below."""
    return made._front._sealed.store


def test_rows_are_found_whole_with_the_cosine_as_score(case, store):
    for row in (0, 50, ROWS - 1):
        found = case.find(store, TEXTS[row], 10)
        assert (found[0].id, found[0].text, found[0].metadata) == (IDS[row], TEXTS[row], FIELDS[row])
        assert found[0].score == pytest.approx(1, abs=0.01)
        assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)
        expected = {IDS[at] for at in brute_force(TEXTS, [TEXTS[row]], 10)[0]}
        assert len(expected & {each.id for each in found}) >= 9
    assert case.get(store, [IDS[3], "absent", IDS[5]])[1].text == TEXTS[5]
    case.clear(store)
    assert case.find(store, TEXTS[0], 5) == [] and case.get(store, IDS) == []
    case.add(store, IDS[:2], TEXTS[:2], FIELDS[:2])
    assert [each.id for each in case.find(store, TEXTS[1], 1)] == [IDS[1]]


def test_metadata_of_any_shape_comes_back_as_it_was(case, store):
    case.add(store, ["odd"], ["a very odd row"], [ODD])
    (found,) = case.find(store, "a very odd row", 1)
    assert found.metadata == ODD and case.get(store, ["odd"])[0].metadata == ODD
    assert type(found.metadata["nested"]["list"][0]) is int


@pytest.mark.parametrize(
    "wrong", [{"when": object()}, {"number": float("nan")}, {1: "one"}, {"pair": (1, 2)}]
)
def test_metadata_that_would_change_is_refused_and_not_shown(case, store, wrong):
    with pytest.raises((InputError, ValueError)) as caught:
        case.add(store, ["wrong"], ["a text"], [{**wrong, "secret": ["hunter2"]}])
    if isinstance(caught.value, SfumatoError):  # some frameworks look first
        assert "row 0 must be what JSON can hold" in str(caught.value) and "hunter2" not in str(caught.value)
    assert case.get(store, ["wrong"]) == []


def test_filters_hold(case, store):
    case.add(store, ["odd"], [f"{TEXTS[7]} and more"], [ODD])
    found = case.find(store, TEXTS[7], 20, "ward", "ward 1")
    assert len(found) == 20 and {each.metadata["ward"] for each in found} == {"ward 1"}
    # The value of a field that is sealed as JSON.
    assert [each.id for each in case.find(store, TEXTS[7], 20, "two words", ODD["two words"])] == ["odd"]
    assert case.find(store, TEXTS[7], 20, "ward", "no such") == []
    assert case.find(store, TEXTS[7], 20, "absent", "x") == []


def test_a_filter_asks_the_store_for_no_more_than_any_other(case, store):
    """The number of records that are asked for says nothing about how many rows pass."""
    asked = []
    get = Memory._get
    records(store)._get = lambda ids: (asked.append(len(ids)), get(records(store), ids))[1]
    sizes = []
    for value in ("ward 1", "no such"):
        asked.clear()
        case.find(store, TEXTS[7], 5, "ward", value)
        sizes.append(list(asked))
    assert sizes[0] == sizes[1] and sum(sizes[0]) > 0


def test_nothing_of_it_can_be_read_in_the_store(case, store):
    case.add(store, ["Quetzalcoatl"], ["Zanzibar"], [{"name": "Zanzibar", "more": ["Zanzibar"]}])
    written = json.dumps(contents(records(store)))
    # With what stands around short words: four letters alone stand in sealed bytes by chance, now and then.
    words = ("Zanzibar", "Quetzalcoatl", "asthma", "ward ", " ward", '"name')
    assert not [word for word in words if word in written]


def test_no_secret_in_what_is_shown_or_written_down(case, store, tmp_path, caplog):
    key = (tmp_path / "key").read_text().split()[1]
    shown = [repr(store), str(store), *caplog.messages]
    shown += [json.dumps(store.__dict__, default=repr)]
    with pytest.raises((SfumatoError, TypeError)):  # it holds a key, and a lock
        pickle.dumps(store)
    for text in shown:
        assert key not in text and bytes.fromhex(key).decode("latin-1") not in text
        assert not [word for word in ("asthma", "Note 7", IDS[7]) if word in text]


def test_a_loss_is_a_warning_or_an_error_that_shows_no_text(case, tmp_path):
    with sealed(tmp_path) as collection:
        lenient, strict = case.make(collection), case.make(collection, strict=True)
        case.add(lenient, IDS[:40], TEXTS[:40], FIELDS[:40])
        state = collection._client.state
        number = state.find([IDS[7]])[IDS[7]].number
        collection.store.delete([state.ids().text(number)])
        line = f"a text of row {number} is missing"
        with pytest.warns(IncompleteResultWarning, match=line) as told:
            found = case.find(lenient, TEXTS[7], 5)
        assert len(found) == 4 and IDS[7] not in [each.id for each in found]
        assert len(told) == 1 and "Note" not in str(told[0].message)
        with pytest.raises(StoreError, match=line) as caught:
            case.find(strict, TEXTS[7], 5)
        assert "Note" not in str(caught.value) and "\n" not in str(caught.value)


def test_a_search_that_waits_for_the_store_does_not_block_the_loop(case, store):
    """The store answers only once the loop has done something else."""
    released = threading.Event()
    get = Memory._get

    def slow(ids):
        assert released.wait(20)
        return get(records(store), ids)

    records(store)._get = slow

    async def both():
        found = asyncio.create_task(case.find_async(store, TEXTS[7], 3))
        await asyncio.sleep(0.05)
        assert not found.done()
        released.set()
        return await found

    assert asyncio.run(both())[0].id == IDS[7]


def test_many_threads_search_and_write_at_once(case, store):
    """The store in memory is not for several threads; the adapter has them take turns."""

    def work(number):
        case.add(store, [f"new-{number}"], [f"a new text {number}"], [{}])
        return case.find(store, TEXTS[number], 1)[0].id

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(24))) == IDS[:24]
    assert len(case.get(store, [f"new-{number}" for number in range(24)])) == 24


@pytest.mark.parametrize("product", [name for name in STORES if name != "memory"])
def test_threads_over_every_store(product, tmp_path):
    """Frameworks call from threads other than the one that opened the store."""
    case = CASES["langchain"]
    with addresses(product, tmp_path) as address:
        with sealed(tmp_path, open_store(address.format(name="notes", options=""))) as collection:
            made = case.make(collection, strict=True)

            async def ask():
                await made.aadd_texts(TEXTS[:20], FIELDS[:20], ids=IDS[:20])
                return await asyncio.gather(*(case.find_async(made, text, 1) for text in TEXTS[:8]))

            assert [found[0].id for found in asyncio.run(ask())] == IDS[:8]


def test_erased_rows_open_no_more(case, store, tmp_path):
    roots = {path.name for path in (tmp_path / "state").glob("shred-root-*")}
    state = store._front._sealed._client.state
    number = state.find([IDS[3]])[IDS[3]].number
    case.erase(store, IDS[:5])
    assert case.get(store, IDS[:5]) == [] and state.salts([number]) == [None]
    assert roots and not roots & {path.name for path in (tmp_path / "state").glob("shred-root-*")}


def test_two_adapters_of_one_collection_take_turns(tmp_path):
    with sealed(tmp_path) as collection:
        first, second = (each.make(collection) for each in list(CASES.values())[:2])
        assert first._front._turn is second._front._turn


def test_nothing_one_row_duplicates_and_a_megabyte(case, tmp_path):
    with sealed(tmp_path) as collection:
        made = case.make(collection, strict=True)
        assert case.find(made, "anything", 5) == [] and case.get(made, ["a"]) == []
        assert case.find(made, "anything", 5, "ward", "x") == []
        case.add(made, ["one"], ["the only row"], [{}])
        assert [each.id for each in case.find(made, "something else", 5)] == ["one"]
        case.add(made, IDS[:80], [TEXTS[0]] * 80, FIELDS[:80])
        found = case.find(made, TEXTS[0], 80)
        assert {each.id for each in found} == set(IDS[:80]) and {each.text for each in found} == {TEXTS[0]}
        large = "naïve words " * 90_000
        case.add(made, ["large"], [large], [{"more": ["x" * (1 << 20)]}])
        (kept,) = case.get(made, ["large"])
        assert kept.text == large and len(kept.metadata["more"][0]) == 1 << 20
        case.add(made, ["large"], ["no longer large"], [{}])
        assert case.find(made, "no longer large", 1)[0].id == "large"


def test_what_is_no_collection_is_refused(case, tmp_path):
    for wrong in (None, Memory(), "memory:"):
        with pytest.raises(ParameterError, match="SealedStore"):
            case.make(wrong)


def test_real_meaning_with_minilm(case, tmp_path):
    from sfumato.embedders import load_embedder
    from tests.adapters.sealed import cases

    encoder = load_embedder("minilm")
    facts = {
        "cat": "The cat sleeps on the warm windowsill.",
        "loan": "The bank raised its interest rate on mortgages.",
        "fever": "The child had a high temperature and a sore throat.",
        "chess": "She sacrificed her queen and won the match.",
    }
    with sealed(tmp_path, embedder=encoder) as collection:
        made = case.make(collection, strict=True)
        if case is CASES["llama-index"]:
            made.add(cases.nodes(list(facts), list(facts.values()), [{}] * 4, encoder))
        else:
            case.add(made, list(facts), list(facts.values()), [{}] * 4)
        for query, name in (("a sick boy", "fever"), ("borrowing money for a house", "loan")):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = case.find(made, query, 2)
            assert found[0].id == name and found[0].text == facts[name]
            exact = float(np.dot(*encoder.embed([query, facts[name]])))
            assert found[0].score == pytest.approx(exact, abs=0.01)
