"""Utility figures beside outside implementations of the same definitions."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy.stats import pearsonr, spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, ndcg_score

from sfumato.errors import InputError, VectorError
from sfumato.evaluation.calibrate import Keep
from sfumato.metrics import (
    Resampling,
    classify,
    compare_means,
    compare_retrieval,
    compare_sts,
    judgements,
    retrieval,
    retrieve,
    sts,
)
from sfumato.metrics.similarity import pair_cosines
from sfumato.randomness import generator
from tests.contracts.mechanism_cases import unit_vectors


def test_sts_is_scipys():
    rng = generator(0)
    first, second = unit_vectors(300, 20), 3.0 * unit_vectors(300, 20, seed=1)
    gold = np.round(rng.random(300) * 5)  # many ties
    figures = sts(first, second, gold)
    cosines = np.vecdot(first, second / 3.0)
    assert figures.cosines == pytest.approx(cosines, abs=1e-6)
    assert figures.pearson == pytest.approx(pearsonr(figures.cosines, gold)[0], abs=1e-12)
    assert figures.spearman == pytest.approx(spearmanr(figures.cosines, gold)[0], abs=1e-12)
    assert sts(first, first, gold + 1).pearson == pytest.approx(0.0, abs=0.2)  # cosines all 1
    assert sts(first, second, np.ones(300)).pearson == 0.0


def judged(rng, queries, documents, most=4):
    return [
        {int(row): float(rng.integers(1, 4)) for row in rng.choice(documents, rng.integers(1, most), False)}
        for _ in range(queries)
    ]


@pytest.mark.parametrize("k", [1, 3, 10, 100])
def test_ndcg_is_sklearns_ties_included(k):
    rng = generator(k)
    # Few distinct directions, so that most documents tie with others.
    documents = np.eye(6)[rng.integers(0, 6, 40)] * rng.choice([1.0, 2.0], (40, 1))
    queries = rng.standard_normal((25, 6))
    relevant = judged(rng, 25, 40)
    gains = np.zeros((25, 40))
    for row, known in enumerate(relevant):
        gains[row, list(known)] = list(known.values())
    unit = documents / np.linalg.norm(documents, axis=1, keepdims=True)
    cosines = (queries / np.linalg.norm(queries, axis=1, keepdims=True)) @ unit.T
    wanted = [ndcg_score(gains[[row]], cosines[[row]].round(12), k=k) for row in range(25)]
    assert retrieve(queries, documents, relevant, k=k).ndcg == pytest.approx(wanted, abs=1e-9)


def test_all_orders_of_a_tie_count_the_same():
    documents = np.array([[1.0, 0], [1, 1], [1, 1], [2, 2], [0, 1], [1, 1]])
    query = np.array([[1.0, 0.1]])
    relevant = {2: 3.0, 3: 1.0, 4: 2.0}
    cosines = documents @ query[0] / np.linalg.norm(documents, axis=1)
    for k in (1, 2, 3, 4, 6):
        found = retrieve(query, documents, [relevant], k=k)
        figures = []
        for order in permutations(range(6)):
            ranking = sorted(order, key=lambda row: -round(cosines[row], 9))
            at = [rank for rank, row in enumerate(ranking) if row in relevant]
            gained = sum(relevant[ranking[rank]] / np.log2(rank + 2) for rank in at if rank < k)
            ideal = sum(g / np.log2(rank + 2) for rank, g in enumerate((3.0, 2.0, 1.0)[:k]))
            first = at[0]
            figures.append(
                (gained / ideal, sum(r < k for r in at) / 3, 1 / (first + 1) if first < k else 0.0)
            )
        exact = np.mean(figures, axis=0)
        assert [found.ndcg[0], found.recall[0], found.reciprocal_rank[0]] == pytest.approx(exact, abs=1e-12)


def test_search_in_blocks_is_the_same_search(monkeypatch):
    rng = generator(2)
    documents, queries = rng.standard_normal((90, 8)), rng.standard_normal((30, 8))
    relevant, own = judged(rng, 30, 90), rng.integers(-1, 90, 30)
    whole = retrieve(queries, documents, relevant, exclude=own)
    monkeypatch.setattr(retrieval, "_PAIRS", 7)
    monkeypatch.setattr(retrieval, "AT_ONCE", 77)
    pieces = retrieve(queries, documents, relevant, exclude=own)
    for name in ("ndcg", "recall", "reciprocal_rank"):
        assert np.array_equal(getattr(whole, name), getattr(pieces, name))


def test_what_is_excluded_is_never_shown():
    documents = unit_vectors(50, 8)
    relevant = [{(row + 1) % 50: 1.0} for row in range(50)]
    shown = retrieve(documents, documents, relevant, k=1)
    assert shown.ndcg.max() == 0.0  # every row finds itself
    hidden = retrieve(documents, documents, relevant, k=49, exclude=range(50))
    cosines = documents.astype(float) @ documents.T.astype(float)
    np.fill_diagonal(cosines, -9)
    ranks = (cosines > cosines[np.arange(50), (np.arange(50) + 1) % 50][:, None]).sum(axis=1)
    assert hidden.ndcg == pytest.approx(1 / np.log2(ranks + 2))
    # An excluded document is not missed either.
    alone = retrieve(documents[:1], documents, [{0: 5.0, 7: 1.0}], k=49, exclude=[0])
    assert alone.recall[0] == 1.0


def test_queries_with_nothing_to_find_are_left_out():
    documents = np.eye(4)
    found = retrieve(documents[:3], documents, [{0: 1}, {}, {2: 0, 3: 1}], k=1)
    assert found.rows.tolist() == [0, 2] and found.ndcg.tolist() == [1.0, 0.0]
    # The three others tie behind the query's own.
    deeper = retrieve(documents[:3], documents, [{}, {}, {3: 1}], k=2)
    assert deeper.means() == pytest.approx({"ndcg@2": 1 / np.log2(3) / 3, "recall@2": 1 / 3, "mrr@2": 1 / 6})


def test_judgements_by_name():
    assert judgements(["a", "b"], ["x", "y"], [("b", "y", 2), ("b", "x", 1)]) == [{}, {1: 2.0, 0: 1.0}]
    with pytest.raises(InputError, match="Judgement 0"):
        judgements(["a"], ["x"], [("a", "z", 1)])


def test_classifier_is_sklearns():
    rng = generator(5)
    labels = rng.integers(0, 4, 400).astype(str)
    vectors = rng.standard_normal((400, 12)) + 2.0 * np.eye(12)[labels.astype(int)]
    train, test = slice(0, 300), slice(300, 400)
    found = classify(vectors[train], labels[train], vectors[test], labels[test], c=0.5)
    theirs = LogisticRegression(C=0.5, tol=1e-8, max_iter=2000).fit(vectors[train], labels[train])
    named = theirs.predict(vectors[test])
    assert found.accuracy == pytest.approx((named == labels[test]).mean(), abs=1e-12)
    assert found.macro_f1 == pytest.approx(f1_score(labels[test], named, average="macro"), abs=1e-12)
    assert found.accuracy > 0.65 > 2 * found.majority
    noise = classify(rng.standard_normal((300, 12)), labels[train], vectors[test], labels[test])
    assert noise.accuracy < 0.45


def test_logistic_weights_are_sklearns():
    from sfumato.metrics.probe import _logistic

    rng = generator(6)
    target = rng.integers(0, 3, 200)
    vectors = rng.standard_normal((200, 5)) + np.eye(5)[target]
    weights = _logistic(vectors, target, 3, 1.0, 500)
    theirs = LogisticRegression(tol=1e-10, max_iter=5000).fit(vectors, target)
    centred = weights[-1] - weights[-1].mean()
    assert weights[:-1].T == pytest.approx(theirs.coef_, abs=1e-3)
    assert centred == pytest.approx(theirs.intercept_ - theirs.intercept_.mean(), abs=1e-3)


def test_what_is_kept():
    rng = generator(1)
    clean = rng.random(300)
    kept = compare_means("accuracy", clean, clean / 2)
    assert kept.kept == pytest.approx(0.5) and kept.interval == pytest.approx((0.5, 0.5))
    assert compare_means("accuracy", np.zeros(5), clean[:5]).kept is None
    first, gold = unit_vectors(200, 16), rng.random(200)
    near = first + 0.3 * (1 - gold)[:, None] * rng.standard_normal(first.shape)
    noisy = near + 0.5 * rng.standard_normal(first.shape)
    before, after = sts(first, near, gold), sts(first, noisy, gold)
    for metric in ("pearson", "spearman"):
        same = compare_sts(before, before, metric)
        assert same.kept == 1.0 and same.interval == pytest.approx((1.0, 1.0))
        less = compare_sts(before, after, metric)
        assert (less.clean, less.released) == pytest.approx((getattr(before, metric), getattr(after, metric)))
        assert less.interval[0] < less.kept < less.interval[1] < 1.0


def test_correlations_are_drawn_again_as_scipy_would():
    rng = generator(3)
    first, second, gold = unit_vectors(60, 8), unit_vectors(60, 8, seed=2), rng.random(60)
    figures = sts(first, second, gold)
    released = sts(first, second + 0.5 * first * gold[:, None], gold)
    found = compare_sts(released, figures, how=Resampling(resamples=2000, seed=1))
    draws = rng.integers(60, size=(2000, 60))
    ratios = [
        pearsonr(figures.cosines[d], gold[d])[0] / pearsonr(released.cosines[d], gold[d])[0] for d in draws
    ]
    assert found.interval == pytest.approx(np.quantile(ratios, [0.025, 0.975]), abs=0.06)


def test_searches_compared():
    documents, rng = unit_vectors(80, 16), generator(4)
    relevant = [{row: 1.0, (row + 3) % 80: 2.0} for row in range(80)]
    clean = retrieve(documents, documents, relevant)
    noisy = retrieve(documents, documents + 0.2 * rng.standard_normal(documents.shape), relevant)
    kept = compare_retrieval(clean, noisy)
    assert kept.metric == "ndcg@10" and kept.released == pytest.approx(noisy.ndcg.mean())
    assert kept.interval[0] < kept.kept < kept.interval[1] and kept.kept < 1.0
    assert compare_retrieval(clean, noisy, "reciprocal_rank").metric == "mrr@10"
    with pytest.raises(InputError, match="same k"):
        compare_retrieval(clean, retrieve(documents, documents, relevant, k=5))


def test_neighbour_wishes_still_read():
    vectors = unit_vectors(60, 8)
    assert Keep.parse("ndcg@5=0.9").measure(vectors, vectors) == pytest.approx(1.0)
    shuffled = np.concatenate([vectors[30:], vectors[:30]])
    assert Keep.parse("ndcg@5=0.9").measure(vectors, shuffled) < 0.4


def test_refused():
    documents = np.eye(3)
    with pytest.raises(VectorError, match="one space"):
        retrieve(np.eye(2), documents, [{0: 1}, {0: 1}])
    with pytest.raises(InputError, match="judgements for every query"):
        retrieve(documents, documents, [{0: 1}])
    with pytest.raises(InputError, match="rows from 0 to 2"):
        retrieve(documents[:1], documents, [{3: 1}])
    with pytest.raises(InputError, match="relevant document"):
        retrieve(documents[:1], documents, [{}])
    with pytest.raises(InputError, match="exclude"):
        retrieve(documents[:1], documents, [{0: 1}], exclude=[5])
    with pytest.raises(VectorError, match="finite"):
        retrieve(np.array([[np.nan, 0, 0]]), documents, [{0: 1}])
    with pytest.raises(VectorError, match="row by row"):
        sts(documents, documents[:2], [1, 2])
    with pytest.raises(InputError, match="Gold scores"):
        sts(documents, documents, [1, 2])
    with pytest.raises(InputError, match="two classes"):
        classify(documents, [1, 1, 1], documents, [1, 1, 1])
    with pytest.raises(InputError, match="one a row"):
        classify(documents, [1, 2], documents, [1, 1, 1])
    with pytest.raises(InputError, match="same rows"):
        compare_means("x", [1.0], [1.0, 2.0])


def test_cosine_of_rows():
    assert pair_cosines([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0], [1.0, 0.0]]) == pytest.approx([0.5**0.5, 0.0])
    with pytest.raises(InputError):
        pair_cosines([[1.0, 0.0]], [[1.0]])
