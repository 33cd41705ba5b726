"""A defence as attacks and searches see it: what enters its mechanism, and what leaves it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.errors import BudgetError, InputError, ParameterError
from sfumato.evaluation import Defence
from sfumato.mechanisms import Laplace, Projection
from sfumato.mechanisms.transform import Transform
from sfumato.protector import Protector
from sfumato.release import as_release
from sfumato.sensitivity import Background
from tests.evaluation.places import place_sample, sentences

TEXTS = sentences(30, seed=3)


@pytest.fixture(scope="module")
def protector() -> Protector:
    sample = place_sample()
    return Protector(
        Laplace.from_noise_ratio(0.5, dim=sample.dim),
        embedder=sample.embedder,
        concepts=(sample.concept,),
        background=Background.fit(sample.vectors),
    )


def test_a_protector_seen_as_a_defence(protector):
    defence = Defence.from_protector(protector)
    clean = place_sample().embedder.embed(TEXTS)
    ready = protector.prepare(TEXTS)
    # Neutral texts enter in the place of those with a concept, whatever vectors are handed over.
    assert np.array_equal(defence.prepare(TEXTS, clean), ready.vectors)
    assert not np.array_equal(ready.vectors, clean)
    first, second = defence.release(TEXTS, seed=4), defence.release(TEXTS, seed=4)
    assert np.array_equal(first, second) and not np.array_equal(first, defence.release(TEXTS))
    assert np.linalg.norm(first, axis=1) == pytest.approx(np.ones(30), abs=1e-5)
    assert defence.guarantee.mechanism == "laplace"


def test_filtered_queries_are_the_filter_alone(protector):
    defence = Defence.from_protector(protector)
    ready, mean = protector.prepare(TEXTS).vectors, protector.background.mean
    wanted = (ready - mean) @ protector.as_release().filter_matrix.T + mean
    found = defence.queries(TEXTS, mode="filtered")
    assert found == pytest.approx(wanted / np.linalg.norm(wanted, axis=1, keepdims=True), abs=1e-5)
    # The mean of many noisy queries points the same way.
    many = np.mean([defence.mechanism.privatize(ready) for _ in range(400)], axis=0)
    average = (many - mean) @ protector.as_release().filter_matrix.T + mean
    assert average == pytest.approx(wanted, abs=0.02)
    clean = place_sample().embedder.embed(TEXTS)
    assert np.array_equal(defence.queries(TEXTS, clean, mode="clean"), clean)
    assert np.array_equal(defence.queries(TEXTS, mode="clean"), clean)


def test_nothing_is_spent_on_an_evaluation(protector, tmp_path):
    secret = Secret.generate()
    ledger = Ledger(tmp_path / "ledger.db", secret=secret, ceiling=1e-9)
    kept = replace(protector, secret=secret, ledger=ledger)
    with pytest.raises(BudgetError):
        kept.embed(TEXTS[:1])
    defence = Defence.from_protector(kept)
    assert not np.array_equal(defence.release(TEXTS), defence.release(TEXTS))  # and no sticky noise


def test_documents_queries_and_attackers_share_no_noise():
    vectors = place_sample().embedder.embed(TEXTS)
    mechanism = Laplace.from_noise_ratio(1.0, dim=48)
    defence = Defence(name="laplace", mechanism=mechanism)
    with pytest.warns(UserWarning, match="seed"):
        attacker = mechanism.privatize(vectors, 5) - vectors
    document = defence.release(TEXTS, vectors, seed=5) - vectors
    query = defence.queries(TEXTS, vectors, seed=5) - vectors
    for one, other in ((document, query), (document, attacker), (query, attacker)):
        assert abs(np.corrcoef(one.ravel(), other.ravel())[0, 1]) < 0.15


def test_queries_of_a_projection():
    sample = place_sample()
    projection = Projection.from_noise_ratio(0.5, dim=48, components=20)
    defence = Defence(name="projection", mechanism=projection, embedder=sample.embedder)
    filtered = defence.queries(TEXTS, mode="filtered")
    assert filtered == pytest.approx(sample.embedder.embed(TEXTS) @ projection.matrix(48), abs=1e-6)
    with pytest.raises(ParameterError, match="filtered"):
        defence.queries(TEXTS, mode="clean")
    with pytest.raises(ParameterError, match="mode"):
        defence.queries(TEXTS, mode="loud")


def test_a_transform_is_a_mechanism_without_a_promise():
    half = Transform("halved", lambda rows: rows / 2, note="halves", settings={"by": 2})
    vectors = place_sample().vectors[:5]
    assert np.array_equal(half.privatize(vectors), vectors / 2)
    assert not half.guarantee.is_private and half.guarantee.notes == ("halves",)
    assert half.parameters() == {"label": "halved", "by": 2}
    scores = as_release(half).log_likelihood(vectors[:1] / 2, vectors)[0]
    assert scores.argmax() == 0 and abs(scores[0]) < 1e-6 and scores[1] < -100
    noisy = Transform("noisy", lambda rows: rows, note="", noisy=True)
    with pytest.raises(ParameterError, match="density"):
        noisy.log_density(vectors, vectors)
    with pytest.raises(ParameterError, match="noise"):
        half.noise_ratio(48)
    with pytest.raises(InputError, match="finite"):
        half.privatize(np.full((1, 3), np.nan))
    with pytest.raises(InputError, match="must return shape"):
        Transform("cut", lambda rows: rows[:, :2], note="").privatize(vectors)


def test_refused():
    bare = Defence(name="bare")
    with pytest.raises(InputError, match="no embedder"):
        bare.release(TEXTS)
    with pytest.raises(InputError, match="one text a vector"):
        bare.release(TEXTS, np.eye(2))
    with pytest.raises(InputError, match="single text"):
        bare.release("text", np.eye(4))
    rewriting = Defence(name="rewriting", rewrite=lambda texts, spans, rng: list(texts))
    with pytest.raises(InputError, match="must have an embedder"):
        rewriting.release(TEXTS, np.ones((30, 2)))
