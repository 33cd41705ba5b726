"""The window in a collection's store: it shows what is asked for, and changes nothing."""

from __future__ import annotations

from typing import cast

import pytest

from sfumato.embedders import Fake
from sfumato.sealing import SealingKey
from sfumato.sealing.following import records_of
from sfumato.sealing.store import SealedStore
from sfumato.server.collections.watching import WatchedStore, content_of
from sfumato.stores import Memory, Store


@pytest.fixture
def sealed(tmp_path):
    window = WatchedStore(Memory())
    key = SealingKey.create(tmp_path / "key")
    made = SealedStore(cast(Store, window), key=key, folder=tmp_path / "state", embedder=Fake(dim=32))
    made.add([f"d{n}" for n in range(40)], [f"town {n * 7} by the sea" for n in range(40)])
    with made:
        yield made, window


def test_what_is_asked_for_is_seen_while_somebody_watches(sealed):
    store, window = sealed
    with window.watching() as seen:
        result = store.search("town 21", k=3)
    assert [len(each.ids) for each in seen] == [result.candidates + 1, result.texts]
    assert all(set(each.ids) == set(each.contents) and all(each.contents.values()) for each in seen)
    assert not any(b"town" in content for each in seen for content in each.contents.values())
    store.search("town 21")
    assert len(seen) == 2


def test_a_search_by_the_store_is_seen_too(sealed):
    _, window = sealed
    with window.watching() as seen:
        (hits,) = window.search([[1.0, 0.0]], 4)
    assert seen[0].ids == [hit.id for hit in hits] and len(seen[0].contents) == 4


def test_a_row_can_be_followed_by_its_client_alone(sealed):
    store, window = sealed
    found = records_of(store, ["d3", "nowhere", "d4"])
    assert found[1] == [] and len(found[0]) >= 2 and not set(found[0]) & set(found[2])
    every = {each for row in records_of(store, [f"d{n}" for n in range(40)]) for each in row}
    held = {name for rows in window.batches() for name in rows.ids}
    assert every < held and len(held - every) == 1  # the count of changes is no row's


def test_what_is_no_record_is_empty():
    assert content_of({}) == content_of({"sealed": "no base64!"}) == content_of({"sealed": 7}) == b""
    assert content_of({"sealed": "AQI="}) == b"\x01\x02"
