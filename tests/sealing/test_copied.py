"""A change of key: every row goes into another collection, once, whatever stops it in between."""

from __future__ import annotations

import pytest

from sfumato.embedders import Fake
from sfumato.errors import InputError, StoreError
from sfumato.sealing import store as module
from sfumato.stores import Memory, open_store
from tests.sealing.collections import contents, metadata, names, notes, sealed
from tests.sealing.crash import change
from tests.sealing.test_killed import begin, crash, expected, whole

ROWS = 150
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_COPIED_AT_ONCE", 40)
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
    return tmp_path / "old", tmp_path / "new"


def test_every_row_goes_along_and_nothing_of_it_is_the_same(places):
    with sealed(places[0]) as old, sealed(places[1]) as new:
        old.add(IDS, TEXTS, FIELDS)
        assert old.copy_to(new) == ROWS and old.copy_to(new) == 0
        assert [(r.id, r.text, r.metadata) for part in new.iterate() for r in part] == [
            *zip(IDS, TEXTS, FIELDS, strict=True)
        ]
        assert [hit.id for hit in new.search(TEXTS[7], 3).hits] == [
            hit.id for hit in old.search(TEXTS[7], 3).hits
        ]
        first, second = contents(old.store), contents(new.store)
        assert not set(first) & set(second) and not set(first.values()) & set(second.values())


def test_what_is_stopped_goes_on(places, monkeypatch):
    rows = Memory()
    with sealed(places[0]) as old, sealed(places[1], rows) as new:
        old.add(IDS, TEXTS, FIELDS)
        add, left = rows._add, [6]

        def failing(*given):
            left[0] -= 1
            if left[0] < 0:
                raise ConnectionError
            add(*given)

        monkeypatch.setattr(rows, "_add", failing)
        monkeypatch.setattr("sfumato.sealing.records._AT_ONCE", 25)
        with pytest.raises(StoreError):
            old.copy_to(new)
        assert 40 <= len(new) < ROWS
        left[0] = 10**9
        before = len(new)
        assert old.copy_to(new) == ROWS - before
        assert len(new) == ROWS and new.search(TEXTS[149], 1).complete and new.waiting == 0
        members = [each for part in new._client.state.walk(100) for each in part]
        assert len(contents(rows)) == sum(len(each.places) for each in members) + ROWS + 1


def test_a_collection_is_not_copied_into_itself(places):
    with sealed(places[0]) as store:
        store.add(IDS[:5], TEXTS[:5])
        with pytest.raises(InputError, match="another collection"):
            store.copy_to(store)


def test_another_encoder_is_refused(places):
    with sealed(places[0]) as old, sealed(places[1], embedder=Fake(dim=8)) as new:
        old.add(IDS[:5], TEXTS[:5])
        with pytest.raises(InputError, match="cannot be copied"):
            old.copy_to(new)
        assert len(new) == 0


@pytest.mark.parametrize("when", ["writing", "committed", "inside", "sent"])
def test_a_change_of_key_that_is_killed_goes_on(when, tmp_path, monkeypatch):
    """The old collection stays as it was, and every row is in the new one once."""
    monkeypatch.setattr(module, "_COPIED_AT_ONCE", 50)
    begin(f"memory:{tmp_path}/store", tmp_path)
    new, url = tmp_path / "new", f"memory:{tmp_path}/new/store"
    new.mkdir()
    crash(url, new, "copy", when)
    with sealed(new, open_store(url)) as store:
        assert len(store) in (0, 50)
        change(store, "copy")
        whole(store, expected("copy", True))
    with sealed(tmp_path, open_store(f"memory:{tmp_path}/store")) as store:
        whole(store, expected("copy", True))
