"""Ids, values and names that would be code in a store's own language: they stay values, in every store."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.stores import open_store
from tests.contracts.store_cases import addresses

HOSTILE = [
    "x'] or id != 'y' or id in ['z",  # handed to Milvus's own client as an id to delete, it deletes every row
    '"] or id != ["',
    "'] or id != ['",
    'x" or id >= "',
    "x' OR '1'='1",
    '"); DROP TABLE notes; --',
    '" in ["x"] or 1 == 1 or "',
    "\\",
    '\\"',
    "\\' or 1 == 1 or \\'",
    "a\nb\r\tc",
    "\x01\x7f",
    "*",
    "_all",
    "%",
    "{x}",
    "$meta",
    '{"index": {"_index": "other", "_id": "1"}}\n',
    "sha256-" + "0" * 64,
    "ü" * 512,
    "💥",
]
"""Ids and values both."""
NAMES = [
    "in",
    "not",
    "like",
    "and",
    "null",
    "true",
    "exists",
    "a-b",
    "fields",
    "metadata",
    "document",
    "_source",
]
ROWS = np.eye(len(HOSTILE) + 2, dtype=np.float32) + 0.01


@pytest.fixture(scope="module", params=["sqlite", "milvus", "redis", "elasticsearch", "opensearch"])
def address(request, tmp_path_factory):
    with addresses(request.param, tmp_path_factory.mktemp("store")) as found:
        yield found


@pytest.fixture
def store(address, request):
    name = "".join(letter for letter in request.node.name.lower() if letter.isalpha())[:30]
    with open_store(address.format(name=name, options="")) as made:
        made.add(
            [*HOSTILE, "plain", "other"],
            ROWS,
            [{"word": value} for value in HOSTILE] + [{"word": "plain"}, {"word": "other"}],
        )
        yield made


def listed(store, size=3):
    names = [name for rows in store.batches(size) for name in rows.ids]
    assert len(names) == len(set(names))
    return set(names)


def test_each_is_got_found_and_listed_as_itself(store):
    assert listed(store) == {*HOSTILE, "plain", "other"}
    for row, name in enumerate(HOSTILE):
        got = store.get([name])
        assert got.ids == [name] and got.metadata == [{"word": name}]
        (hits,) = store.search(ROWS[row : row + 1], 30, where={"word": name})
        assert [hit.id for hit in hits] == [name]


def test_deleting_one_deletes_no_other(store):
    left = {*HOSTILE, "plain", "other"}
    for name in HOSTILE:
        store.delete([name])
        left.remove(name)
        assert len(store) == len(left)
    assert listed(store) == left == {"plain", "other"}


def test_updating_and_replacing_one_touches_no_other(store):
    before = {name: store.get([name]).metadata[0] for name in ("plain", "other")}
    store.update(HOSTILE, ROWS[: len(HOSTILE)], {"mark": '"; --'})
    store.add(HOSTILE[:3], ROWS[:3], [{}] * 3)
    assert store.get(HOSTILE).metadata == [{}] * 3 + [{"word": each, "mark": '"; --'} for each in HOSTILE[3:]]
    assert {name: store.get([name]).metadata[0] for name in before} == before and len(store) == len(ROWS)


def test_words_of_the_language_as_names_of_fields(address):
    with open_store(address.format(name="words", options="")) as store:
        store.add(["a", "b"], ROWS[:2], [dict.fromkeys(NAMES, "yes"), dict.fromkeys(NAMES, "no")])
        for name in NAMES:
            assert [hit.id for hit in store.search(ROWS[:1], 5, where={name: "yes"})[0]] == ["a"], name
            assert store.search(ROWS[:1], 5, where={name: True})[0] == [], name


def test_true_is_not_one_and_a_number_is_no_text(address):
    with open_store(address.format(name="kinds", options="")) as store:
        values = [True, 1, "1", "true", 0, False, 2**60, 2**60 + 1, -3.5, 1e-9, "1e-09"]
        store.add([str(row) for row in range(len(values))], ROWS[: len(values)], [{"v": v} for v in values])
        for row, value in enumerate(values):
            hits = store.search(ROWS[:1], len(values), where={"v": value})[0]
            assert [hit.id for hit in hits] == [str(row)], value
