"""What every store promises, asked of each one that is registered, with 10,000 vectors in the product."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError, SfumatoError
from sfumato.randomness import generator
from sfumato.stores import STORES, StoreError, open_store
from sfumato.stores.distances import distances
from tests.contracts.store_cases import APPROXIMATE, CASES, RECORDED, addresses

ROWS, DIM, QUERIES, K = 10_000, 32, 40, 10
GROUPS = ("red", 'it\'s "blue"; --', "grün")
SECRET = "Zanzibar"

pytestmark = [
    pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning"),
]


def made(rows, seed=0):
    return generator(seed).standard_normal((rows, DIM)).astype(np.float32)


VECTORS, ASKED = made(ROWS), made(QUERIES, seed=1)
IDS = [f"row {i}/ü'\"" if i % 3 else str(i) for i in range(ROWS)]
METADATA = [
    {"group": GROUPS[i % 3], "number": i % 100, "share": i / 4, "even": i % 2 == 0} if i % 7 else {}
    for i in range(ROWS)
]


@pytest.fixture(scope="module", params=CASES)
def case(request, tmp_path_factory):
    with addresses(request.param, tmp_path_factory.mktemp("store")) as address:
        yield request.param, address


@pytest.fixture(scope="module")
def address(case):
    return lambda name, options="": case[1].format(name=name, options=options)


@pytest.fixture(scope="module")
def count(case):
    """How many rows there are; a stand-in shows nothing more with many."""
    return 2000 if case[0] in RECORDED else ROWS


@pytest.fixture(scope="module")
def full(address, count):
    """A collection with all rows, opened again after it was filled."""
    with open_store(address("everything")) as store:
        for start in range(0, count, 2500):
            part = slice(start, min(start + 2500, count))
            store.add(IDS[part], VECTORS[part], METADATA[part])
    with open_store(address("everything"), create=False) as store:
        yield store


@pytest.fixture
def small(address, request):
    """A new collection with 50 rows."""
    name = "".join(letter for letter in request.node.name if letter.isalnum())[:40]
    with open_store(address(name)) as store:
        store.add(IDS[:50], VECTORS[:50], METADATA[:50])
        yield store


def test_every_registered_store_has_a_case():
    assert {case.partition("-")[0] for case in CASES} == set(STORES.names())
    assert all(STORES.installed(name) for name in STORES.names())


def test_nearest_rows_are_those_of_brute_force(case, full, count):
    exact = distances(ASKED, VECTORS[:count], "cosine")
    found = full.search(ASKED, K)
    best = np.argsort(exact, axis=1)[:, :K]
    place = {name: row for row, name in enumerate(IDS)}
    assert [len(hits) for hits in found] == [K] * QUERIES
    for row, hits in enumerate(found):
        places = [place[hit.id] for hit in hits]
        given = [hit.distance for hit in hits]
        np.testing.assert_allclose(given, exact[row, places], atol=1e-5)
        assert given == sorted(given)
        assert [hit.metadata for hit in hits] == [METADATA[at] for at in places]
        if case[0] not in APPROXIMATE:
            np.testing.assert_allclose(given, exact[row, best[row]], atol=1e-5)
    assert full.exact == (case[0] not in APPROXIMATE)
    recall = np.mean(
        [len({IDS[at] for at in best[row]} & {hit.id for hit in hits}) for row, hits in enumerate(found)]
    )
    assert recall / K >= 0.95


def test_every_row_is_looked_at_where_that_is_asked(full, count, monkeypatch):
    best = np.sort(distances(ASKED[:3], VECTORS[:count], "cosine"), axis=1)[:, :K]
    place = {name: row for row, name in enumerate(IDS)}
    # Also the way that those would take whose search is exact in any case.
    monkeypatch.setattr(full, "exact", False)
    found = full.search_every(ASKED[:3], K)
    np.testing.assert_allclose([[hit.distance for hit in hits] for hits in found], best, atol=1e-5)
    assert all(hit.metadata == METADATA[place[hit.id]] for hits in found for hit in hits)
    assert full.search_every(np.empty((0, DIM), np.float32)) == []


def test_a_reopened_store_holds_everything(full, count):
    assert len(full) == count and full.dim == DIM and full.metric == "cosine"
    seen = {}
    for rows in full.batches(3000):
        assert (
            len(rows) <= 3000 and rows.vectors.shape == (len(rows), DIM) and rows.vectors.dtype == np.float32
        )
        seen |= {
            name: (vector, fields)
            for name, vector, fields in zip(rows.ids, rows.vectors, rows.metadata, strict=True)
        }
    assert set(seen) == set(IDS[:count])
    for row in range(0, count, 617):
        vector, fields = seen[IDS[row]]
        assert fields == METADATA[row]
        # With cosine a store may keep the direction alone.
        np.testing.assert_allclose(
            vector / np.linalg.norm(vector), VECTORS[row] / np.linalg.norm(VECTORS[row]), atol=1e-6
        )


def test_get_keeps_the_order_and_leaves_out_what_is_not_there(full):
    asked = [IDS[5], "absent", IDS[3], IDS[1900]]
    rows = full.get(asked)
    assert rows.ids == [IDS[5], IDS[3], IDS[1900]] and rows.metadata[2] == METADATA[1900]
    assert len(full.get([])) == 0 and len(full.get(["absent"])) == 0


FILTERS = [
    {"group": "red"},
    {"group": ["red", GROUPS[1]]},
    {"number": 42},
    {"number": [1, 2, 3], "even": True},
    {"even": False, "group": "grün"},
    {"share": 20.5},
]


@pytest.mark.parametrize("where", FILTERS, ids=str)
def test_filters_hold(case, full, count, where):
    allowed = {name: value if isinstance(value, list) else [value] for name, value in where.items()}
    rows = [
        row
        for row, fields in enumerate(METADATA[:count])
        if all(name in fields and fields[name] in values for name, values in allowed.items())
    ]
    exact = distances(ASKED[:5], VECTORS[rows], "cosine")
    wanted = min(K, len(rows))
    assert wanted
    for query, hits in zip(exact, full.search(ASKED[:5], K, where=where), strict=True):
        assert len(hits) == wanted
        for hit in hits:
            assert all(hit.metadata[name] in values for name, values in allowed.items())
        if case[0] not in APPROXIMATE:
            np.testing.assert_allclose([hit.distance for hit in hits], np.sort(query)[:wanted], atol=1e-5)


def test_a_filter_nothing_passes_finds_nothing(full):
    assert full.search(ASKED[:2], K, where={"group": SECRET}) == [[], []]
    assert full.search(ASKED[:2], K, where={"unheard_of": 1}) == [[], []]


def test_deleted_rows_never_return(small, case, address):
    near = small.search(VECTORS[:5], 3)
    assert [hits[0].id for hits in near] == IDS[:5]
    small.delete([*IDS[:20], "absent"])
    assert len(small) == 30 and len(small.get(IDS[:20])) == 0
    gone = set(IDS[:20])
    assert not gone & {hit.id for hits in small.search(VECTORS[:20], 50) for hit in hits}
    assert not gone & {name for rows in small.batches(7) for name in rows.ids}
    small.add(IDS[:1], VECTORS[40:41])
    assert len(small) == 31 and small.get(IDS[:1]).metadata == [{}]


def test_adding_again_replaces_the_row_whole(small):
    small.add(IDS[1:3], VECTORS[100:102], [{"fresh": "yes"}, {}])
    assert len(small) == 50
    rows = small.get(IDS[1:3])
    assert rows.metadata == [{"fresh": "yes"}, {}]
    assert [hits[0].id for hits in small.search(VECTORS[100:102], 1)] == IDS[1:3]
    assert [hits[0].distance < 1e-5 for hits in small.search(VECTORS[1:3], 1)] == [False, False]


def test_texts_are_kept_as_a_field_and_go_with_their_row(small):
    small.add(["with"], VECTORS[:1], [{"document": SECRET, "group": "red"}])
    assert small.get(["with"]).metadata == [{"document": SECRET, "group": "red"}]
    small.add(["with"], VECTORS[:1], [{"group": "red"}])
    assert small.get(["with"]).metadata == [{"group": "red"}]


def test_an_update_gives_new_vectors_and_leaves_the_rest(small):
    small.add(["with"], VECTORS[:1], [{"document": SECRET}])
    before = small.get([*IDS[:4], "with"])
    small.update([*IDS[:4], "with", "absent"], VECTORS[200:206], {"sfumato": "mark"})
    after = small.get([*IDS[:4], "with"])
    assert after.metadata == [{**fields, "sfumato": "mark"} for fields in before.metadata]
    assert len(small) == 51
    assert [hits[0].id for hits in small.search(VECTORS[200:205], 1)] == [*IDS[:4], "with"]
    small.forget()
    assert len(small) == 51 and small.get(IDS[:4]).ids == IDS[:4]


@pytest.mark.parametrize("metric", ["l2", "ip"])
def test_other_metrics(case, address, metric):
    if metric not in STORES.get(case[0].partition("-")[0]).metrics:
        with pytest.raises(ParameterError, match="measures by cosine"):
            open_store(address(f"metric{metric}", f"metric={metric}"))
        return
    with open_store(address(f"metric{metric}", f"metric={metric}")) as store:
        store.add(IDS[:300], 3 * VECTORS[:300])
        store.add(["mine"], ASKED[:1])
    with open_store(address(f"metric{metric}"), create=False) as store:
        assert store.metric == metric
        exact = distances(ASKED[:5], 3 * VECTORS[:300], metric)
        own = distances(ASKED[:5], ASKED[:1], metric)
        best = np.sort(np.concatenate([exact, own], axis=1), axis=1)[:, :K]
        for query, hits in zip(best, store.search(ASKED[:5], K), strict=True):
            np.testing.assert_allclose([hit.distance for hit in hits], query, rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(store.get(IDS[:3]).vectors, 3 * VECTORS[:3], rtol=1e-6)
    with pytest.raises(ParameterError, match="measures by"):
        open_store(address(f"metric{metric}", "metric=cosine"))


def test_more_hits_than_rows(small):
    assert [len(hits) for hits in small.search(ASKED[:2], 400)] == [50, 50]


def test_an_absent_collection_is_empty_or_refused(address):
    with open_store(address("absent")) as store:
        assert len(store) == 0 and store.dim is None and list(store.batches()) == []
        assert store.search(ASKED[:2]) == [[], []] and len(store.get(["x"])) == 0
        store.delete(["x"])
    with pytest.raises(StoreError, match="There is no collection"):
        open_store(address("absent"), create=False)


NAMES = (
    "a", "ab", "a b", "-x-", ".a", "ü" * 5, "x" * 600, "a/b", "a'b", 'a";--', "..", "a..b", "1.2.3.4", "a\tb",
    "sqlite_x",
)  # fmt: skip


def test_a_name_is_taken_or_refused_in_a_line_that_says_why(case, address):
    where, mark, _ = address("plain").rpartition("#")
    if not mark:
        assert case[0].startswith(("memory", "faiss")), "a folder is its own collection"
        return
    taken = 0
    for name in NAMES:
        try:
            with open_store(f"{where}#{name}") as store:
                store.add(["one"], VECTORS[:1])
                assert len(store.get(["one"])) == 1
                taken += 1
        except SfumatoError as error:
            assert isinstance(error, InputError) and " must " in str(error), (name, str(error))
            assert "\n" not in str(error) and len(str(error)) < 300
    assert taken < len(NAMES)


BAD = {
    "wrong dimension": lambda s: s.add(["a"], np.ones((1, DIM + 1))),
    "query of another dimension": lambda s: s.search(np.ones((1, DIM - 1))),
    "not finite": lambda s: s.add(["a"], np.full((1, DIM), np.nan)),
    "zero": lambda s: s.add(["a"], np.zeros((1, DIM))),
    "one id too many": lambda s: s.add(["a", "b"], VECTORS[:1]),
    "an id twice": lambda s: s.add(["a", "a"], VECTORS[:2]),
    "an empty id": lambda s: s.add([""], VECTORS[:1]),
    "a number as id": lambda s: s.add([7], VECTORS[:1]),
    "one text as ids": lambda s: s.add("ab", VECTORS[:2]),
    "NUL in an id": lambda s: s.get(["a\0b"]),
    "a list as a value": lambda s: s.add(["a"], VECTORS[:1], [{"x": [SECRET]}]),
    "infinity as a value": lambda s: s.add(["a"], VECTORS[:1], [{"x": float("inf")}]),
    "a field's name": lambda s: s.add(["a"], VECTORS[:1], [{"x'; DROP TABLE": 1}]),
    "metadata of another length": lambda s: s.add(["a"], VECTORS[:1], []),
    "no hits": lambda s: s.search(VECTORS[:1], 0),
    "a filter on nothing": lambda s: s.search(VECTORS[:1], where={"group": []}),
    "a filter by an object": lambda s: s.search(VECTORS[:1], where={"group": [None]}),
}


def test_bad_input_is_refused_and_changes_nothing(small):
    for name, attempt in BAD.items():
        with pytest.raises(SfumatoError) as caught:
            attempt(small)
        assert SECRET not in str(caught.value) and "\n" not in str(caught.value), name
        assert isinstance(caught.value, InputError), name
    assert len(small) == 50 and len(small.get(["a"])) == 0
