"""A store that fails at any moment of any operation: one clear line, nothing lost, and later it goes on."""

from __future__ import annotations

import pytest

from sfumato.errors import StoreError
from sfumato.stores import Memory
from tests.sealing.collections import Failing, contents, metadata, names, notes, sealed

ROWS = 40
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)
BEFORE = dict(zip(IDS, TEXTS, strict=True))
NEW = {**BEFORE, IDS[3]: "another text", IDS[4]: "yet another"}
WITHOUT = {name: text for name, text in BEFORE.items() if name not in IDS[:6]}


def rows_of(store):
    return {row.id: row.text for part in store.iterate() for row in part}


def copied(store, folder):
    with sealed(folder / "new", Memory(folder / "new rows")) as other:
        store.copy_to(other)
        assert rows_of(other) == rows_of(store)


CHANGES = {
    "add": (lambda store: store.add(["new"], ["a new text"]), {**BEFORE, "new": "a new text"}),
    "update": (lambda store: store.update(IDS[3:5], ["another text", "yet another"]), NEW),
    "delete": (lambda store: store.delete(IDS[:6]), WITHOUT),
    "erase": (lambda store: store.erase(IDS[:6]), WITHOUT),
    "relearn": (lambda store: store.relearn(), BEFORE),
}
READS = {
    "search": lambda store, folder: store.search(TEXTS[7], 3),
    "filter": lambda store, folder: store.search(TEXTS[7], 3, {"ward": "ward 1"}),
    "get": lambda store, folder: store.get(IDS[:4]),
    "vectors": lambda store, folder: store.vectors(IDS[:4]),
    "iterate": lambda store, folder: list(store.iterate(10)),
    "copy_to": copied,
}


@pytest.fixture
def store(tmp_path):
    (tmp_path / "new").mkdir()
    with sealed(tmp_path, Failing()) as made:
        made.add(IDS, TEXTS, FIELDS)
        yield made
        made.store.left = 10**9


def whole(store, expected):
    """Exactly these rows, found, with a record for each posting and text and nothing left over."""
    assert rows_of(store) == expected and len(store) == len(expected) and store.waiting == 0
    for name in list(expected)[::7]:
        found = store.search(expected[name], 1)
        assert found.complete and found.hits[0].id == name, found.faults
    members = [each for part in store._client.state.walk(100) for each in part]
    assert len(contents(store.store)) == sum(len(each.places) for each in members) + len(expected) + 1
    assert store._client.state.to_shred() == []


def attempt(act, store, left, late):
    """Whether it failed, in one line that quotes nothing."""
    store.store.left, store.store.late = left, late
    try:
        act()
    except StoreError as error:
        assert "hunter2" not in str(error) and "\n" not in str(error)
        assert not [word for word in ("Note", *IDS[:7]) if word in str(error)]
        return True
    finally:
        store.store.left = 10**9
    return False


@pytest.mark.parametrize("late", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_fails_in_its_middle_is_there_whole_or_not_at_all(name, late, tmp_path):
    act, after = CHANGES[name]
    failed = 0
    for left in range(20):
        folder = tmp_path / str(left)
        folder.mkdir()
        with sealed(folder, Failing()) as store:
            store.add(IDS, TEXTS, FIELDS)
            if not attempt(lambda store=store: act(store), store, left, late):
                break
            failed += 1
            there = rows_of(store)
            assert there in (BEFORE, after)
            assert all(store.search(text, 1).complete for text in list(there.values())[::9])
            act(store)
            whole(store, after)
    assert 2 <= failed < 20


@pytest.mark.parametrize("name", READS)
def test_a_read_that_fails_in_its_middle_changes_nothing(name, store, tmp_path):
    failed = 0
    for left in range(40):
        if not attempt(lambda: READS[name](store, tmp_path), store, left, False):
            break
        failed += 1
    assert 1 <= failed < 40
    whole(store, BEFORE)


def test_a_store_that_fails_while_it_is_closed_or_copied_loses_nothing(tmp_path):
    rows = Failing()
    store = sealed(tmp_path, rows, buffer=1000)
    store.add(IDS, TEXTS, FIELDS)
    assert store.waiting > 0 and len(rows) == 0
    for number, act in enumerate((store.flush, lambda: store.backup(tmp_path / "copy"), store.close)):
        assert attempt(act, store, number, late=True)
    assert not (tmp_path / "copy").exists()
    with sealed(tmp_path, rows) as store:
        whole(store, BEFORE)
