"""mteb runs our models on local data, offline, and gets our own figures."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from sfumato.adapters.mteb import EXACT, mteb_encoder, retrieval_task, run_tasks, sts_task
from sfumato.errors import InputError, MissingPackageError
from sfumato.evaluation import BASELINES, Defence
from sfumato.mechanisms import Identity, Laplace
from sfumato.metrics import retrieve, sts
from sfumato.protector import Protector
from sfumato.randomness import generator
from tests.evaluation.places import place_sample, sentences

FIRST = sentences(60, seed=1)
SECOND = FIRST[:20] + sentences(60, seed=2)[20:]  # equal texts tie at a cosine of 1
GOLD = (generator(3).integers(0, 11, 60) / 2).tolist()  # with ties
QUERIES, DOCUMENTS = sentences(25, seed=4), sentences(120, seed=5)
RELEVANT = [
    {int(row): int(generator(number).integers(1, 4)) for row in generator(number).choice(120, 3, False)}
    for number in range(25)
]


@pytest.fixture(scope="module", autouse=True)
def offline():
    def refuse(*arguments):
        raise OSError("a test must not reach the network")

    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex"):
            patch.setattr(socket.socket, name, refuse)
        patch.setattr(socket, "getaddrinfo", refuse)
        yield


@pytest.fixture(scope="module")
def embedder():
    return place_sample().embedder


@pytest.fixture(scope="module")
def scores(embedder):
    tasks = [
        sts_task("LocalPairs", FIRST, SECOND, GOLD),
        retrieval_task("LocalSearch", QUERIES, DOCUMENTS, RELEVANT),
    ]
    return run_tasks(mteb_encoder(embedder), tasks)


def test_sts_is_mtebs(scores, embedder):
    ours = sts(embedder.embed(FIRST), embedder.embed(SECOND), GOLD)
    theirs = scores["LocalPairs"]
    assert theirs["pearson"] == pytest.approx(ours.pearson, abs=1e-9)
    assert theirs["spearman"] == pytest.approx(ours.spearman, abs=1e-9)
    assert theirs["cosine_pearson"] == pytest.approx(ours.pearson, abs=1e-9)
    assert theirs["cosine_spearman"] == pytest.approx(ours.spearman, abs=1e-9)


def test_retrieval_is_mtebs(scores, embedder):
    ours = retrieve(embedder.embed(QUERIES), embedder.embed(DOCUMENTS), RELEVANT).means()
    theirs = scores["LocalSearch"]
    assert 0.05 < ours["ndcg@10"] < 0.95
    assert theirs[EXACT] == pytest.approx(ours["ndcg@10"], abs=1e-9)
    assert theirs["mrr_at_10"] == pytest.approx(ours["mrr@10"], abs=1e-9)
    # mteb rounds these to five digits.
    assert theirs["ndcg_at_10"] == pytest.approx(ours["ndcg@10"], abs=5.1e-6)
    assert theirs["recall_at_10"] == pytest.approx(ours["recall@10"], abs=5.1e-6)


def test_protectors_and_baselines_are_models(embedder):
    task = [sts_task("LocalPairs", FIRST, SECOND, GOLD)]
    clean = run_tasks(mteb_encoder(embedder), task)["LocalPairs"]["pearson"]
    still = run_tasks(mteb_encoder(Protector(Identity(), embedder=embedder)), task)
    assert still["LocalPairs"]["pearson"] == pytest.approx(clean, abs=1e-6)
    rotated = BASELINES.get("rotation")().fit(place_sample())[0]
    model = mteb_encoder(rotated)
    assert model.mteb_model_meta.name == "sfumato/rotation"
    assert run_tasks(model, task)["LocalPairs"]["pearson"] == pytest.approx(clean, abs=1e-6)


def texts_of(model, texts, role=None):
    return model.encode(
        [{"text": texts[:7]}, {"text": texts[7:]}],
        task_metadata=None,
        hf_split="test",
        hf_subset="default",
        prompt_type=role,
    )


def test_queries_may_differ_from_documents(embedder):
    noise = Laplace.from_noise_ratio(1.0, dim=48)
    defence = Defence(name="laplace", mechanism=noise, embedder=embedder)
    clean = embedder.embed(QUERIES)
    plain = mteb_encoder(defence, queries="clean")
    assert np.array_equal(texts_of(plain, QUERIES, "query"), clean)
    assert not np.allclose(texts_of(plain, QUERIES, "document"), clean)
    noisy = mteb_encoder(defence, seed=1)
    first, second = (texts_of(noisy, QUERIES, role) - clean for role in ("query", "document"))
    third = texts_of(noisy, QUERIES) - clean
    # Repeatable as a whole, and yet no two calls share their noise.
    assert np.array_equal(first, texts_of(mteb_encoder(defence, seed=1), QUERIES, "query") - clean)
    for one, other in ((first, second), (second, third)):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.15


def test_similarity_is_cosine(embedder):
    model, vectors = mteb_encoder(embedder), 2 * embedder.embed(FIRST)
    table = model.similarity(vectors[:3], vectors).numpy()
    assert table == pytest.approx(vectors[:3] @ vectors.T / 4, abs=1e-5)
    pairs = model.similarity_pairwise(vectors, vectors[::-1]).numpy()
    assert pairs == pytest.approx(np.vecdot(vectors, vectors[::-1]) / 4, abs=1e-5)


def test_refused(monkeypatch, embedder):
    with pytest.raises(InputError, match="score each"):
        sts_task("x", FIRST, SECOND, [1.0])
    with pytest.raises(InputError, match="judgements for every query"):
        retrieval_task("x", QUERIES, DOCUMENTS, [])
    with pytest.raises(InputError, match="whole numbers"):
        retrieval_task("x", ["q"], ["d"], [{0: 0.5}])
    monkeypatch.setattr("sfumato.adapters.mteb.find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match=r"sfumato\[mteb\]"):
        mteb_encoder(embedder)
