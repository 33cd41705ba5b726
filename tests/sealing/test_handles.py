"""Every handle finds as it was measured, shows what it says and no more, and takes rows out whole."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from sfumato.embedders import Fake
from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import Gaussian, Laplace
from sfumato.protector import Protector
from sfumato.release import Release
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.crypto.padding import padded
from sfumato.sealing.handles import HANDLES
from sfumato.sealing.handles.codes import codebook
from sfumato.sealing.multimap import RecordIds
from sfumato.sealing.records import DressedRecord
from sfumato.stores import Memory
from tests.sealing.collections import DIM, ENCODER, brute_force, metadata, names, notes, sealed

ROWS = 400
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)
RANKED = ("codes", "noise")


@pytest.fixture(params=HANDLES.names())
def handle(request):
    return request.param


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """One collection a handle."""
    made = {}
    for name in HANDLES.names():
        made[name] = sealed(tmp_path_factory.mktemp(name), handle=name)
        made[name].add(IDS, TEXTS, FIELDS)
    yield made
    for store in made.values():
        store.close()


def rows_of(store):
    """What the store holds, by id: vector and fields."""
    return {
        name: (vector, fields)
        for rows in store.batches()
        for name, vector, fields in zip(rows.ids, rows.vectors, rows.metadata, strict=True)
    }


def shown_of(store):
    """What the store sees of the rows that have a vector to rank, at unit length, by number."""
    ids = store._client.state.ids()
    held = {ids.number(name): vector for name, (vector, _) in rows_of(store.store).items()}
    return {
        number: vector[:-1] / np.linalg.norm(vector[:-1])
        for number, vector in held.items()
        if number is not None
    }


def test_a_search_keeps_what_was_measured(full, handle):
    store = full[handle]
    queries = notes(100, seed=5)
    found = store.search(queries, 10)
    assert all(each.complete and len(each.hits) == 10 and each.texts == 32 for each in found)
    kept = [
        len({IDS[row] for row in rows} & {hit.id for hit in result.hits})
        for rows, result in zip(brute_force(TEXTS, queries, 10), found, strict=True)
    ]
    assert sum(kept) >= 0.97 * 1000
    assert store.measured.holds and store.measured.target == 0.99 and store.measured.candidates < ROWS
    if handle in RANKED:
        assert {each.candidates for each in found} == {store.settings.probes}
        assert "candidates a query" in store.measured.says


def test_less_is_asked_of_the_store_where_less_is_to_be_kept(full, handle, tmp_path):
    with sealed(tmp_path, handle=handle, keep="ndcg@10=0.8") as store:
        store.add(IDS, TEXTS)
        assert 0 < store.settings.probes < full[handle].settings.probes


def test_what_the_store_holds_is_what_the_handle_says(full, handle):
    store = full[handle]
    held = rows_of(store.store)
    fields = {name for _, each in held.values() for name in each}
    contents = [each["sealed"] for _, each in held.values()]
    assert len(set(contents)) == len(contents) and len(held) == 2 * ROWS + 1
    assert fields == ({"sealed", "tag0"} if handle == "tags" else {"sealed"})
    vectors = np.array([vector for vector, _ in held.values()])
    assert vectors.shape[1] == {"multimap": 2, "tags": 2, "codes": 65, "noise": DIM + 1}[handle]
    assert HANDLES.get(handle).sees and "\n" not in HANDLES.get(handle).sees


def test_tags_are_shared_by_rows_of_one_cell_and_by_no_others(full):
    store = full["tags"]
    state = store._client.state
    ids, members = state.ids(), {each.number: each for part in state.walk(100) for each in part}
    tags = {
        ids.number(name): fields["tag0"]
        for name, (_, fields) in rows_of(store.store).items()
        if "tag0" in fields
    }
    cells = {number: each.places[0][:2] for number, each in members.items()}
    assert len(tags) == ROWS and len(set(tags.values())) == len(set(cells.values())) < ROWS
    assert len({(tags[number], cells[number]) for number in tags}) == len(set(cells.values()))


def test_tags_of_sentences_stand_in_fields_of_their_own(tmp_path):
    texts = [" ".join(notes(8, seed=row)) for row in range(120)]
    with sealed(tmp_path, handle="tags") as store:
        store.add(IDS[:120], texts)
        assert store.settings.options["widest"] > 3
        assert len(store.store) == 2 * 120 + 1
        asked = []
        search = store.store.search
        store.store.search = lambda *given: (asked.append(given), search(*given))[1]
        sentence = texts[42].split(". ")[5]
        assert IDS[42] in [hit.id for hit in store.search(sentence, 10).hits]
        # As many requests whatever is asked.
        store.search("zzzz", 1)
        assert len(asked) == 2 * store.settings.options["widest"]


def test_codes_show_as_many_bits_as_they_say(full, tmp_path):
    shown = shown_of(full["codes"])
    assert len(shown) == ROWS
    values = np.unique(np.abs(np.array(list(shown.values()))))
    assert np.ptp(values) < 1e-6  # a sign each, and nothing else
    with sealed(tmp_path, handle="codes", bits=7) as store:
        store.add(IDS[:90], TEXTS[:90])
        assert store.store.dim == 8 and len({each.tobytes() for each in shown_of(store).values()}) <= 2**7
        assert store.search(TEXTS[3], 1).hits[0].id == IDS[3]


def test_a_query_for_codes_shows_few_steps(full, monkeypatch):
    store, asked = full["codes"], []
    search = store.store.search
    monkeypatch.setattr(
        store.store, "search", lambda *given: (asked.append(given[0][0, :-1]), search(*given))[1]
    )
    store.search(notes(20, seed=8))
    for vector in asked:
        assert len(np.unique(np.round(7 * vector / np.abs(vector).max(), 3))) <= 15
    assert len(asked) == 20


def test_a_state_of_before_there_were_handles_opens(tmp_path):
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        store.add(IDS[:50], TEXTS[:50])
        state = store._client.state
        old = {
            key: value for key, value in asdict(state.settings).items() if key not in ("handle", "options")
        }
        sealed_settings = state.envelope.seal(
            padded(json.dumps(old).encode().ljust(250)), state._bounds("settings", [("", 0)], "")[0]
        )
        state.file.run("INSERT OR REPLACE INTO facts VALUES ('settings', ?)", (sealed_settings,))
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        assert store.settings.handle == "multimap" and store.search(TEXTS[3], 1).hits[0].id == IDS[3]


def test_the_codebook_is_public_and_always_the_same():
    centre, planes = codebook(64, 48, "")
    assert not centre.any() and planes.shape == (48, 64)
    again = codebook.__wrapped__(64, 48, "")[1]
    assert (planes == again).all() and np.abs(planes[:, :48].T @ planes[:, :48] - np.eye(48)).max() < 1e-5
    # The very first numbers, so that no library can change what rows of today were filed by.
    assert planes[0, :3] == pytest.approx([-0.20016515, 0.04563788, -0.04567143], abs=1e-6)


def test_noise_shows_releases_at_the_ratio_that_was_asked_for(tmp_path):
    vectors = ENCODER.embed(TEXTS)
    cosines = {}
    for ratio in (0.5, 3.0):
        folder = tmp_path / str(ratio)
        folder.mkdir()
        with sealed(folder, handle="noise", release=ratio, probes=50) as store:
            store.add(IDS, TEXTS)
            shown, state = shown_of(store), store._client.state
            members = {each.id: each.number for part in state.walk(500) for each in part}
            cosines[ratio] = [float(shown[members[IDS[row]]] @ vectors[row]) for row in range(ROWS)]
            ids = [state.ids().row(number) for number in members.values()]
            # The coordinate beside it, which sets other records apart, is the same for all.
            assert np.ptp(store.store.get(ids).vectors[:, -1]) < 1e-6
    for ratio, found in cosines.items():
        assert np.mean(found) == pytest.approx(1 / np.hypot(1, ratio), abs=0.06)


def test_the_noise_of_a_row_is_the_same_whenever_it_is_sealed(tmp_path):
    """Otherwise an average over epochs, or over deleted and added rows, would be the row itself."""
    with sealed(tmp_path, handle="noise") as store:
        store.add(IDS, TEXTS)

        def by_row():
            shown = shown_of(store)
            return {each.id: shown[each.number] for part in store._client.state.walk(500) for each in part}

        before = by_row()
        store.relearn()
        after = by_row()
        store.delete(IDS[:5])
        store.add(IDS[:5], TEXTS[:5])
        assert all((before[name] == after[name]).all() for name in IDS)
        assert all((before[name] == by_row()[name]).all() for name in IDS[:5])
    for key in ("a", "b"):
        (tmp_path / key).mkdir()
        with sealed(tmp_path / key, handle="noise") as store:
            store.add(IDS, TEXTS)
            other = by_row()
            assert not any((before[name] == other[name]).all() for name in IDS)


RELEASES = {
    "a mechanism": lambda: Laplace.from_noise_ratio(1.0, dim=DIM),
    "a release": lambda: Release(Gaussian.from_noise_ratio(1.0, dim=DIM)),
    "a protector": lambda: Protector(Laplace.from_noise_ratio(1.0, dim=DIM), Fake(dim=DIM)),
}


@pytest.mark.parametrize("kind", RELEASES)
def test_any_release_of_the_library_will_do_and_must_be_given_again(kind, tmp_path):
    place = tmp_path / "rows"
    options = {"handle": "noise", "release": RELEASES[kind]()}
    with sealed(tmp_path, Memory(place), **options) as store:
        store.add(IDS, TEXTS)
        assert store.measured.holds and store.search(TEXTS[3], 1).hits[0].id == IDS[3]
    with sealed(tmp_path, Memory(place), release=RELEASES[kind]()) as store:
        assert store.search(TEXTS[9], 1).hits[0].id == IDS[9]
    for release in (None, 1.0, Laplace.from_noise_ratio(1.1, dim=DIM)):
        with pytest.raises(InputError, match="release") as caught:
            sealed(tmp_path, Memory(place), release=release)
        assert "\n" not in str(caught.value)
    (tmp_path / "new").mkdir()
    with pytest.raises(ParameterError, match="release"):
        sealed(tmp_path / "new", handle="noise", release="laplace")


def test_neutral_texts_of_a_protector_stand_in_for_what_it_hides(tmp_path):
    from sfumato.concepts.concept import Concept

    hidden = Concept.from_terms("illness", ["asthma", "gout", "mumps"])
    made = Protector(Laplace.from_noise_ratio(0.05, dim=DIM), Fake(dim=DIM), concepts=(hidden,))
    texts = ["She has asthma now.", "She has gout now.", "A bicycle."]
    with sealed(tmp_path, handle="noise", release=made) as store:
        store.add(["a", "b", "c"], texts)
        members = {each.id: each.number for part in store._client.state.walk(9) for each in part}
        shown = shown_of(store)
        first, second, third = (shown[members[name]] for name in "abc")
        # One vector and one noise, since what was embedded is the same; the sealed vectors still differ.
        assert (first == second).all() and not np.allclose(first, third, atol=0.1)
        assert [store.search(text, 1).hits[0].text for text in texts] == texts


def test_a_deleted_row_that_the_store_hands_over_again_is_left_out(tmp_path):
    for name in RANKED:
        (tmp_path / name).mkdir()
        with sealed(tmp_path / name, handle=name) as store:
            store.add(IDS[:40], TEXTS[:40])
            number = store._client.state.find([IDS[3]])[IDS[3]].number
            record = store._client.state.ids().row(number)
            vector, fields = rows_of(store.store)[record]
            store.delete([IDS[3]])
            store.store.add([record], vector[None], [fields])
            result = store.search(TEXTS[3], 40)
            assert IDS[3] not in [hit.id for hit in result.hits]


def test_a_store_that_hands_over_too_few_is_told_of(full):
    for name in RANKED:
        store = full[name]
        search = store.store.search
        store.store.search = lambda vectors, k, search=search: [each[: k // 2] for each in search(vectors, k)]
        result = store.search(TEXTS[3], 5)
        store.store.search = search
        assert not result.complete and "candidates that it was asked for" in result.faults[0]


def test_rows_that_wait_are_found(handle, tmp_path):
    with sealed(tmp_path, handle=handle, buffer=500) as store:
        for row in range(20):
            store.add([IDS[row]], [TEXTS[row]])
        assert len(store.store) == 0 and store.waiting == 41
        assert [store.search(text, 1).hits[0].id for text in TEXTS[:20]] == IDS[:20]
        store.update([IDS[3]], ["changed while it waits"])
        store.delete([IDS[4]])
        assert store.search("changed while it waits", 1).hits[0].id == IDS[3]
        assert store.search(TEXTS[4], 20).complete and len(store.search(TEXTS[4], 20).hits) == 19
        store.flush()
        assert len(store.store) == 2 * 19 + 1 and store.search(TEXTS[5], 1).hits[0].id == IDS[5]
        store.delete([IDS[6]])
        assert len(store.store) == 2 * 19 + 1
        found = store.search(TEXTS[6], 20)
        assert found.complete and len(found.hits) == 18 and IDS[6] not in [hit.id for hit in found.hits]


def test_two_clients_that_began_together_share_one_state(handle, tmp_path):
    rows = Memory()
    with sealed(tmp_path, rows, handle=handle) as one, sealed(tmp_path, rows) as two:
        one.add(IDS[:100], TEXTS[:100])
        two.delete(IDS[:10])
        two.add(IDS[100:150], TEXTS[100:150])
        for store in (one, two):
            assert len(store) == 140 and store.search(TEXTS[120], 1).hits[0].id == IDS[120]
            assert store.search(TEXTS[5], 140).complete


def test_more_candidates_are_asked_for_as_the_collection_grows(tmp_path):
    with sealed(tmp_path, handle="codes") as store:
        store.add(IDS[:250], TEXTS[:250])
        first = store.search(TEXTS[0]).candidates
        store.add(IDS[250:], TEXTS[250:])
        assert store.settings.epoch == 0
        assert store.search(TEXTS[0]).candidates == pytest.approx(first * ROWS / 250, abs=2)


def test_vectors_may_be_given_under_every_handle(handle, tmp_path):
    vectors = 5 * ENCODER.embed(TEXTS)
    with sealed(tmp_path, handle=handle, embedder=None) as store:
        store.add(IDS, TEXTS, vectors=vectors)
        (result,) = store.search(vectors=vectors[9:10], k=2)
        assert result.hits[0].id == IDS[9]


def test_erasing_takes_a_row_out_of_copies_of_the_store(handle, tmp_path):
    with sealed(tmp_path, handle=handle) as store:
        store.add(IDS, TEXTS)
        before, member = rows_of(store.store), store._client.state.find([IDS[7]])[IDS[7]]
        records = [*store._client.handle.records(member), store._client.state.ids().text(member.number)]
        assert set(records) <= set(before)
        assert store.erase([IDS[7]]) is not None
        assert not set(records) & set(rows_of(store.store))
        for name in records:
            store.store.add([name], before[name][0][None], [before[name][1]])
        assert store._client.texts([member.number]) == [None]
        assert store._client.vectors([member])[1] == [member.number]
        assert IDS[7] not in [hit.id for hit in store.search(TEXTS[7], 20).hits]


def test_ids_of_rows_read_back_and_only_their_own(tmp_path):
    key = SealingKey.create(tmp_path / "key")
    ids = RecordIds(key, "t", "c", epoch=3)
    made = [ids.row(number) for number in (0, 1, 2**63)]
    assert [ids.number(name) for name in made] == [0, 1, 2**63] and len(set(made)) == 3
    for other in (RecordIds(key, "t", "d", epoch=3), RecordIds(key, "t", "c", epoch=4)):
        assert [other.number(name) for name in made] == [None] * 3
    for name in (ids.text(1), ids.posting(0, 0, 0), "", "x" * 36, made[0].upper(), made[0][:-1] + "ü"):
        assert ids.number(name) is None


def test_records_are_dressed_and_undressed():
    for record in (
        DressedRecord(b"\x01content"),
        DressedRecord(b"\x01content", np.array([1.0, -0.5], np.float32)),
        DressedRecord(b"", tags=(b"a" * 16, b"b" * 16)),
    ):
        back = DressedRecord.from_bytes(record.to_bytes())
        assert (back.content, back.tags) == (record.content, record.tags)
        assert (back.vector is None) == (record.vector is None)
        assert record.vector is None or (back.vector == record.vector).all()
    assert DressedRecord.from_bytes(b"\x01plain").content == b"\x01plain"


def test_settings_that_no_handle_takes_are_refused(tmp_path):
    for options in (
        {"handle": "codes", "bits": 1},
        {"handle": "codes", "bits": 0},
        {"handle": "codes", "bits": 10**6},
        {"handle": "noise", "release": 0.0},
        {"handle": "noise", "release": float("nan")},
        {"handle": "unheard"},
        {"handle": "tags", "filters": ["year"]},
        {"handle": "codes", "filters": ["year"]},
        {"handle": "codes", "release": 1.0},
        {"bits": 64},
    ):
        with pytest.raises(ParameterError) as caught:
            sealed(tmp_path, **options)
        assert "\n" not in str(caught.value)
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("handle", ["tags", "codes", "noise"])
def test_several_writers_need_the_multimap(tmp_path, handle):
    """Signatures vouch for records that are asked for by id; what a store ranks is not among them."""
    with pytest.raises(ParameterError, match="need the handle multimap"):
        sealed(tmp_path, handle=handle, signed=True)
    with sealed(tmp_path, handle=handle) as store:
        store.add(names(3), notes(3))
        with pytest.raises(ParameterError, match="need the handle multimap"):
            store.export_reader(tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()
