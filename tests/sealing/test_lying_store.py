"""A store that lies without touching a row: its count of changes, rows of its own, answers not asked for."""

from __future__ import annotations

import base64
import os

import numpy as np
import pytest

from sfumato.errors import InputError, StoreError
from sfumato.sealing.crypto.keys import SealingKey
from sfumato.sealing.records import CONTENT_FIELD, Records
from sfumato.sealing.store import SealedStore
from sfumato.stores import Memory
from tests.sealing.collections import ENCODER, contents, key_in, metadata, names, notes, overwrite, sealed

ROWS = 60
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)


@pytest.fixture
def store(tmp_path):
    with sealed(tmp_path) as made:
        made.add(IDS, TEXTS, FIELDS)
        yield made


def counter(store):
    return store._client.generation_place().id


def test_a_count_of_changes_that_is_lost_changed_or_another_records_shows(store):
    name, held = counter(store), contents(store.store)
    other = next(content for each, content in held.items() if each != name)
    for wrong in (None, base64.b64encode(os.urandom(80)).decode(), other, "", "no record"):
        if wrong is None:
            store.store.delete([name])
        else:
            store.store.add([name], np.ones((1, 2)), [{CONTENT_FIELD: wrong}])
        found = store.search(TEXTS[7], 3)
        assert found.hits[0].id == IDS[7] and not found.complete
        assert found.faults == ("the store's count of changes is missing or does not open",)
    store.add(["new"], ["a new text"])  # the next change counts again
    assert store.search(TEXTS[7], 3).complete


def test_an_older_count_of_changes_shows(store):
    old = contents(store.store)[counter(store)]
    store.delete(IDS[:2])
    overwrite(store.store, counter(store), old)
    assert store.search(TEXTS[7], 3).faults == ("the store is an older copy: 1 changes are missing in it",)


def test_rows_of_the_stores_own_are_never_asked_for(store):
    held = list(contents(store.store).values())
    for at in range(20):
        store.store.add([f"{at:032x}"], np.ones((1, 2)), [{CONTENT_FIELD: held[at]}])
    found = store.search(TEXTS[7], ROWS)
    assert found.complete and {hit.id for hit in found.hits} == set(IDS) and len(store) == ROWS
    assert [row.id for part in store.iterate() for row in part] == IDS


def test_answers_to_what_was_not_asked_change_nothing(store, monkeypatch):
    whole = {name: base64.b64decode(content) for name, content in contents(store.store).items()}
    wanted = store.search(TEXTS[7], 5)
    get = Records.get
    monkeypatch.setattr(Records, "get", lambda self, ids: whole | get(self, ids) | {"x": b"y"})
    found = store.search(TEXTS[7], 5)
    assert found.hits == wanted.hits and found.complete
    assert [row.text for row in store.get(IDS[:3])] == TEXTS[:3]


def test_what_is_no_record_at_all_is_missing_and_named(store):
    """Numbers, nothing, other fields: whatever a product may hand over in a record's place."""
    state = store._client.state
    place = state.ids().text(state.find([IDS[7]])[IDS[7]].number)
    for fields in ({CONTENT_FIELD: 7}, {CONTENT_FIELD: True}, {}, {"other": "x"}, {CONTENT_FIELD: "ä\n"}):
        store.store.add([place], np.ones((1, 2)), [fields])
        found = store.search(TEXTS[7], 3)
        assert (
            not found.complete
            and "is missing" in found.faults[0]
            and IDS[7] not in [h.id for h in found.hits]
        )


def test_every_record_lost(store):
    store.store.delete(list(contents(store.store)))
    found = store.search(TEXTS[7], 5)
    assert found.hits == [] and not found.complete and len(found.faults) > ROWS
    assert "Note" not in "".join(found.faults)
    store.erase(IDS[:1])
    store.delete(IDS[1:])
    assert len(store) == 0
    store.add(IDS, TEXTS, FIELDS)
    assert store.search(TEXTS[7], 1).hits[0].id == IDS[7] and store.search(TEXTS[7], 1).complete


def reopened(folder, key):
    return SealedStore(Memory(folder / "rows"), key=key, folder=folder / "state", embedder=ENCODER)


def test_a_lost_key_or_state_shows_nothing_and_harms_nothing(tmp_path):
    rows = Memory(tmp_path / "rows")
    with sealed(tmp_path, rows) as store:
        store.add(IDS, TEXTS, FIELDS)
    before = contents(Memory(tmp_path / "rows"))
    (tmp_path / "key").rename(tmp_path / "kept")
    with pytest.raises(InputError, match="cannot be read") as lost:
        reopened(tmp_path, tmp_path / "key")
    with pytest.raises(InputError, match="does not open the state") as other:
        reopened(tmp_path, SealingKey.create(tmp_path / "another"))
    (tmp_path / "state").rename(tmp_path / "kept state")
    with pytest.raises(InputError, match="has to be empty") as stateless:
        reopened(tmp_path, tmp_path / "kept")
    for caught in (lost, other, stateless):
        assert "\n" not in str(caught.value) and "Note" not in str(caught.value)
    assert contents(Memory(tmp_path / "rows")) == before
    (tmp_path / "kept").rename(tmp_path / "key")
    assert not (tmp_path / "state").exists()
    (tmp_path / "kept state").rename(tmp_path / "state")
    with sealed(tmp_path, Memory(tmp_path / "rows")) as store:
        assert store.search(TEXTS[7], 1).hits[0].id == IDS[7]


def test_tenants_of_one_key_and_one_store_read_nothing_of_each_other(tmp_path):
    """The same rows of two tenants: no id and no content is the same, and neither opens the other's."""
    key = key_in(tmp_path)
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with sealed(tmp_path / "one", tenant="one", key=key) as first:
        first.add(IDS, TEXTS, FIELDS)
        held = contents(first.store)
    with sealed(tmp_path / "two", tenant="two", key=key) as second:
        second.add(IDS, TEXTS, FIELDS)
        own = contents(second.store)
        assert not set(held) & set(own) and not set(held.values()) & set(own.values())
        for name, content in zip(own, held.values(), strict=True):
            overwrite(second.store, name, content)
        found = second.search(TEXTS[7], 5)
        assert found.hits == [] and not found.complete


def test_a_full_disk_changes_nothing_and_later_it_goes_on(store):
    file = store._client.state.file
    pages = file.run("PRAGMA page_count")[0][0]
    file.run(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="SQLITE_FULL"):
        store.add([f"new-{row}" for row in range(300)], notes(300, seed=5))
    assert len(store) == ROWS and store.search(TEXTS[7], 1).complete and store.waiting == 0
    file.run("PRAGMA max_page_count = 1073741823")
    assert store.add([f"new-{row}" for row in range(300)], notes(300, seed=5)) == 300
    assert store.search(notes(300, seed=5)[9], 1).hits[0].id == "new-9"
