"""The fewest probes that keep a share of exact search, against searches carried out."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.metrics.retrieval import retrieve
from sfumato.randomness import generator
from sfumato.sealing.cells.codebook import Codebook, unit
from sfumato.sealing.cells.filing import Filed
from sfumato.sealing.cells.measuring import fewest, own_queries, queries_needed
from sfumato.sealing.cells.reaching import exact, reached


def collection(rows: int = 1200, dim: int = 12, tables: int = 2, seed: int = 0):
    rng = generator(seed)
    middles = rng.normal(size=(60, dim))
    vectors = unit(middles[rng.integers(60, size=rows)] + 0.5 * rng.normal(size=(rows, dim)))
    book = Codebook.learn(vectors, tables=tables, rng=rng)
    places = [set(enumerate(cells)) for cells in book.assign(vectors).tolist()]
    asked = vectors[:400]
    queries = unit(asked + 0.3 * rng.normal(size=asked.shape))
    return vectors, places, book, queries


def searched(vectors, places, book, query, probes, k):
    """A search as a client does it: fetch cells, count records, rank again."""
    asked = {
        (table, int(cell)) for table, cells in enumerate(book.route(query[None], probes)[0]) for cell in cells
    }
    records = sum(len(each & asked) for each in places)
    rows = np.array([row for row, each in enumerate(places) if each & asked], np.intp)
    return records, rows[np.argsort(-(vectors[rows] @ query))[:k]]


def test_the_curve_is_what_searches_find():
    vectors, places, book, queries = collection()
    curve = fewest(vectors, places, book, queries[:120], "recall@10=0.9").curve
    for point in (curve[0], curve[3], curve[10]):
        got, records = [], []
        for query in queries[:120]:
            count, rows = searched(vectors, places, book, query, point.probes, 10)
            got.append(len(set(rows) & set(np.argsort(-(vectors @ query))[:10])) / 10)
            records.append(count)
        assert point.kept == pytest.approx(np.mean(got), abs=2e-3)
        assert point.candidates == pytest.approx(np.mean(records)) and point.most == max(records)
        assert point.low <= point.kept


def test_the_fewest_probes_are_found_and_hold_for_other_queries():
    vectors, places, book, queries = collection()
    found = fewest(vectors, places, book, queries, "recall@10=0.95", record_bytes=100)
    assert found.holds and found.chosen.low >= 0.95
    before = [each for each in found.curve if each.probes < found.probes]
    assert before and all(each.low < 0.95 for each in before)
    assert found.bytes == round(100 * found.candidates)
    others = unit(vectors[400:800] + 0.3 * generator(9).normal(size=(400, 12)))
    again = {each.probes: each for each in fewest(vectors, places, book, others, "recall@10=0.95").curve}
    assert again[found.probes].kept > 0.94


def test_curves_rise():
    vectors, places, book, queries = collection()
    curve = fewest(vectors, places, book, queries, "ndcg@5=0.9").curve
    for name in ("probes", "kept", "candidates", "low"):
        values = [getattr(each, name) for each in curve]
        assert values == sorted(values)


def test_judged_queries_are_scored_as_the_metrics_do():
    vectors, places, book, queries = collection()
    rng = generator(3)
    relevant = [{int(row): float(rng.integers(1, 4)) for row in rng.integers(400, size=2)} for _ in range(80)]
    relevant = [{row: 2.0, **extra} for row, extra in enumerate(relevant)]
    found = fewest(vectors, places, book, queries[:80], "ndcg@10=0.9", relevant=relevant)
    clean = retrieve(queries[:80], vectors, relevant, k=10).ndcg
    for point in (found.curve[0], found.curve[2]):
        sealed = []
        for query, gains in zip(queries[:80], relevant, strict=True):
            _, rows = searched(vectors, places, book, query, point.probes, 10)
            worth = sum(gains.get(int(row), 0.0) / np.log2(place + 2) for place, row in enumerate(rows))
            best = sum(g / np.log2(p + 2) for p, g in enumerate(sorted(gains.values(), reverse=True)))
            sealed.append(worth / best)
        assert point.kept == pytest.approx(np.mean(sealed) / clean.mean(), rel=2e-3)


def test_the_row_a_query_is_of_does_not_count():
    vectors, places, book, _ = collection()
    rows = np.arange(200)
    with_itself = fewest(vectors, places, book, vectors[:200], "recall@1=0.9")
    without = fewest(vectors, places, book, vectors[:200], "recall@1=0.9", own=rows)
    assert with_itself.curve[0].kept == 1.0 > without.curve[0].kept
    assert (exact(vectors[:200], vectors, 5, rows) != rows[:, None]).all()


def test_few_queries_show_little():
    vectors, places, book, _ = collection()
    found = fewest(vectors, places, book, vectors[:30], "recall@1=0.99", most_probes=8)
    assert found.chosen.kept == 1.0 and not found.holds and found.chosen.low < 0.9
    assert f"at least {queries_needed(0.99)} queries" in found.says
    assert queries_needed(0.99) == 381 and queries_needed(0.9) == 35


def test_what_cannot_be_kept_is_said():
    vectors, places, book, queries = collection()
    found = fewest(vectors, places, book, queries, "recall@10=0.98", most_probes=1)
    assert not found.holds and found.probes == 1 and "not shown" in found.says
    assert found.to_dict()["holds"] is False and len(found.to_dict()["curve"]) == 1


@pytest.mark.parametrize("rows", [1, 2, 3, 9])
def test_tiny_collections_are_searched_whole(rows):
    vectors = unit(generator(rows).normal(size=(rows, 6)))
    book = Codebook.learn(vectors, rng=generator(0))
    places = [set(enumerate(cells)) for cells in book.assign(vectors).tolist()]
    found = fewest(vectors, places, book, vectors, "recall@10=1.0")
    assert found.holds and found.chosen.kept == 1.0 and found.probes <= max(book.cells)


def test_cells_after_the_last_are_empty():
    places = [{(0, 0), (1, 1)}, {(0, 0), (1, 0)}]
    routed = np.array([[[0, 1, 2], [1, 0, 2]]])
    found_at, fetched = reached(np.array([[0, 1]]), places, routed, [1, 2])
    assert found_at.tolist() == [[1, 1]] and fetched.tolist() == [[3, 4, 4]]


def test_queries_of_a_collection_are_sentences_that_are_near_to_their_row():
    own = unit(generator(0).normal(size=(3, 8)))
    away = unit(generator(1).normal(size=(4, 8)))
    sentences = unit(
        np.vstack([own[0] + 0.1 * away[0], away[1], own[2] + 0.1 * away[2], own[2] + 0.2 * away[3], -own[2]])
    )
    rows = Filed(np.vstack([own, sentences]), np.array([0, 1, 2, 0, 0, 2, 2, 2]), 3)
    seen = {row: set() for row in range(3)}
    for seed in range(40):
        vectors, of = own_queries(rows, 2, generator(seed))
        assert len(vectors) == len(set(of)) == 2
        for vector, row in zip(vectors, of, strict=True):
            seen[int(row)].add(int(np.flatnonzero((rows.vectors == vector).all(axis=1))[0]))
    assert seen == {0: {3}, 1: {1}, 2: {5, 6}}


def test_what_does_not_fit_is_refused():
    vectors, places, book, queries = collection(rows=100)
    for keep in ("cosine=0.9", "recall@0=0.9", "recall@10=2", "much"):
        with pytest.raises(ParameterError):
            fewest(vectors, places, book, queries[:5], keep)
    with pytest.raises(InputError, match="places"):
        fewest(vectors, places[:-1], book, queries[:5])
    with pytest.raises(InputError, match="row 7"):
        fewest(vectors, [*places[:7], set(), *places[8:]], book, queries[:5])
    with pytest.raises(InputError, match="own"):
        fewest(vectors, places, book, queries[:5], own=np.zeros(4, np.intp))
    with pytest.raises(InputError, match="rows and queries"):
        fewest(vectors, places, book, queries[:0])
    with pytest.raises(InputError, match="find something"):
        fewest(vectors, places, book, queries[:2], relevant=[{}, {}])
