"""Records of bytes in a store: they come back as they were, and nothing beside them says anything."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.sealing import records as module
from sfumato.sealing.records import CONTENT_FIELD, Records, travelling, vectors_of
from sfumato.stores import Memory


def test_records_come_back_and_go():
    store = Records(Memory())
    ids = [f"id {row}" for row in range(1203)]
    contents = [bytes([row % 256]) * (row % 7) for row in range(1203)]
    store.put(ids, contents)
    assert len(store) == 1203
    assert store.get([*ids, "absent"]) == dict(zip(ids, contents, strict=True)) == dict(store.scan())
    store.delete([*ids[:1000], "absent"])
    assert set(store.get(ids)) == set(ids[1000:])
    store.put([], [])
    assert store.get([]) == {}


def test_a_vector_is_a_function_of_the_id_alone():
    first, second = Memory(), Memory()
    Records(first).put(["a", "b"], [b"one", b"two"])
    Records(second).put(["b"], [b"another content, of another length"])
    assert np.array_equal(first.get(["b"]).vectors, second.get(["b"]).vectors)
    many = vectors_of([f"id {row}" for row in range(2000)])
    assert np.allclose(np.linalg.norm(many, axis=1), 1, atol=1e-6)
    assert len(np.unique(many, axis=0)) == 2000 and np.abs(many.mean(axis=0)).max() < 0.1


def test_what_is_no_record_is_left_out():
    store = Memory()
    Records(store).put(["good"], [b"content"])
    vector = vectors_of(["x"])
    store.add(["none"], vector, [{}])
    store.add(["number"], vector, [{CONTENT_FIELD: 7}])
    store.add(["letters"], vector, [{CONTENT_FIELD: "not base64 at all!"}])
    store.add(["foreign"], vector, [{CONTENT_FIELD: "ü"}])
    assert Records(store).get(["good", "none", "number", "letters", "foreign"]) == {"good": b"content"}
    assert dict(Records(store).scan()) == {"good": b"content"}


def test_what_is_longer_than_any_record_is_left_out(monkeypatch):
    store = Records(Memory())
    store.put(["short", "long"], [bytes(300), bytes(301)])
    monkeypatch.setattr(module, "LONGEST", 400)
    assert set(store.get(["short", "long"])) == {"short"}


@pytest.mark.parametrize(("count", "size", "batches"), [(1200, 10, 3), (5, 3 << 20, 3), (2, 9 << 20, 2)])
def test_batches_are_what_a_product_bears(count, size, batches, monkeypatch):
    store, seen = Memory(), []
    add = store.add
    monkeypatch.setattr(store, "add", lambda ids, *rest: (seen.append(len(ids)), add(ids, *rest)))
    Records(store).put([f"{row}" for row in range(count)], [bytes(size)] * count)
    assert len(seen) == batches and sum(seen) == count == len(store)


def test_what_travels_is_counted_as_it_is_written():
    store = Memory()
    for size in (0, 1, 2, 3, 452):
        Records(store).put(["one"], [bytes(size)])
        assert travelling(size) == len(store.get(["one"]).metadata[0][module.CONTENT_FIELD])
