"""The informed attacker against what is known exactly: the best possible guess between two inputs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import gamma

from sfumato.attacks.base import fresh_releases
from sfumato.attacks.terms.informed import Informed, InformedReader, guess, guess_all
from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, InputError, ParameterError, VectorError
from sfumato.mechanisms import (
    Gaussian,
    Identity,
    Laplace,
    Mahalanobis,
    Mechanism,
    Polar,
    Projection,
    Purkayastha,
    Suppression,
)
from sfumato.metrics.intervals import share
from sfumato.metrics.ranking import ranks
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.release import Release, as_release
from sfumato.sensitivity import Background, Mask

DIM = 24
PLACES = ("Ashford", "Brinlow", "Calder", "Dunmere", "Eastvale", "Fenwick")
TEXTS = [f"the {who} wrote from {place} again" for who in ("nurse", "baker", "team") for place in PLACES]


def planted(seed=0):
    """Two unit vectors a tenth apart."""
    rng = generator(seed)
    one = rng.standard_normal(DIM)
    pair = np.stack([one, one + 0.5 * rng.standard_normal(DIM)])
    return (pair / np.linalg.norm(pair, axis=1, keepdims=True)).astype(np.float32)


def laplace_optimum(distance, dim):
    """P(right) between two inputs: the noise is normal with a gamma-distributed variance (see Laplace)."""
    law = gamma((dim + 1) / 2)

    def right(v):
        return law.pdf(v) * ndtr(distance / 2 / np.sqrt(2 * v))

    return quad(right, law.ppf(1e-12), law.ppf(1 - 1e-12), limit=200)[0]


def cases():
    pair = planted().astype(np.float64)
    gap = pair[1] - pair[0]
    variances = np.linspace(0.2, 1.8, DIM)
    return {
        "laplace": (Laplace(epsilon=14.0), laplace_optimum(14.0 * np.linalg.norm(gap), DIM)),
        "mahalanobis": (
            Mahalanobis(epsilon=12.0, shape=variances),
            laplace_optimum(12.0 * np.linalg.norm(gap / np.sqrt(variances)), DIM),
        ),
        "gaussian": (Gaussian(sigma=0.3), ndtr(np.linalg.norm(gap) / 0.6)),
    }


@pytest.mark.parametrize("name", ["laplace", "mahalanobis", "gaussian"])
def test_success_between_two_is_the_integrated_optimum(name):
    mechanism, best = cases()[name]
    pair, rounds = planted(), 3000
    truth = np.arange(rounds) % 2
    released = fresh_releases(mechanism, 5)(pair[truth])
    posteriors = np.stack(guess_all(released, [pair] * rounds, mechanism))
    figure = share("right", int((posteriors.argmax(axis=1) == truth).sum()), rounds, z=2.6)
    assert 0.6 < best < 0.95
    assert figure.low <= best <= figure.high
    # The posterior means what it says: it is right as often as it claims.
    assert posteriors.max(axis=1).mean() == pytest.approx(best, abs=0.02)


@pytest.mark.parametrize("name", ["laplace", "mahalanobis", "gaussian"])
def test_the_shortcut_is_the_mechanisms_own_density(name):
    mechanism, _ = cases()[name]
    inputs = np.concatenate([planted(seed) for seed in range(4)]).astype(np.float64)
    released = fresh_releases(mechanism, 1)(inputs.astype(np.float32)).astype(np.float64)
    table = as_release(mechanism).log_likelihood(released, inputs)
    own = np.stack([mechanism.log_density(row[None], inputs) for row in released])
    difference = table - own
    assert difference == pytest.approx(np.full_like(table, difference[0, 0]), abs=1e-8)


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(epsilon=3.0),
        Gaussian(sigma=0.6),
        Mahalanobis(epsilon=3.0, shape=np.array([[2.0, 0.6], [0.6, 0.4]])),
    ],
    ids=lambda mechanism: mechanism.name,
)
@pytest.mark.parametrize("filtered", [False, True])
def test_normalised_releases_have_the_density_of_their_direction(mechanism, filtered):
    """In the plane the integral over the length can be checked against how often each angle comes out."""
    background = (
        Background(np.array([0.2, -0.1]), np.array([[0.5, 0.2], [0.2, 0.3]]), 10) if filtered else None
    )
    release = Release(mechanism, background)
    inputs = np.array([[0.8, 0.6], [0.6, -0.8]])
    turns = np.linspace(-np.pi, np.pi, 2000, endpoint=False)
    around = np.column_stack([np.cos(turns), np.sin(turns)])
    density = np.exp(release.log_likelihood(around, inputs))
    # One constant for every release and input, which is the condition for comparing candidates.
    totals = density.sum(axis=0) * (turns[1] - turns[0])
    assert totals[0] == pytest.approx(totals[1], rel=1e-3)
    released = release.fresh(3)(np.repeat(inputs[:1].astype(np.float32), 20_000, axis=0))
    found = np.histogram(np.arctan2(released[:, 1], released[:, 0]), bins=20, range=(-np.pi, np.pi))[0]
    wanted = density[:, 0].reshape(20, 100).sum(axis=1) / density[:, 0].sum()
    assert found / 20_000 == pytest.approx(wanted, abs=0.012)


def test_a_filter_that_is_undone_changes_nothing():
    mechanism, _ = cases()["mahalanobis"]
    pair = planted()
    spread = np.cov(generator(0).standard_normal((DIM, 200)))
    release = Release(mechanism, Background(np.full(DIM, 0.1), spread, 200), normalise=False)
    raw = mechanism.privatize(pair[:1])
    matrix = release.filter_matrix
    filtered = (raw - 0.1) @ matrix.T + 0.1
    assert guess(filtered, pair, release) == pytest.approx(guess(raw, pair, mechanism), abs=1e-3)


@pytest.mark.parametrize(
    "mechanism",
    [
        Purkayastha(epsilon=60.0),
        Polar(epsilon=60.0),
        Polar(epsilon=60.0, radius_epsilon=5.0),
        Projection(epsilon=400.0, sensitivity="orthonormal", components=16),
        Suppression(epsilon=20.0, mask=Mask(np.arange(1.0, DIM + 1)), share=0.5),
        Identity(),
    ],
    ids=lambda mechanism: mechanism.name,
)
@pytest.mark.parametrize("normalise", [False, True])
def test_every_mechanism_is_weighed_and_a_far_candidate_is_left(mechanism, normalise):
    rng = generator(3)
    inputs = rng.standard_normal((8, DIM))
    inputs = (inputs / np.linalg.norm(inputs, axis=1, keepdims=True)).astype(np.float32)
    victim = Protector(mechanism, normalise=True, neutral=0) if normalise else mechanism
    truth = np.arange(40) % 8
    released = fresh_releases(victim, 0)(inputs[truth])
    posteriors = np.stack(guess_all(released, [inputs] * 40, victim))
    assert posteriors.sum(axis=1) == pytest.approx(np.ones(40))
    assert (posteriors.argmax(axis=1) == truth).mean() > 0.9


class NoDensity(Mechanism):
    """Additive noise that says nothing about its density."""

    name, paper = "uniform", "none"

    @property
    def guarantee(self):
        return Identity().guarantee

    def parameters(self):
        return {}

    def noise_sd(self, dim):
        return 0.2

    def noise_ratio(self, dim=None):
        return 1.0

    def _release(self, vectors, draws, step):
        words = draws.words(vectors.shape[1])
        return (vectors + (words.astype(np.float64) / 2.0**64 - 0.5) * 0.7) / step


def test_without_a_density_releases_are_simulated():
    pair, truth = planted(), np.arange(400) % 2
    released = fresh_releases(NoDensity(), 2)(pair[truth])
    posteriors = np.stack(guess_all(released, [pair] * 400, NoDensity()))
    right = (posteriors.argmax(axis=1) == truth).mean()
    assert right > 0.8
    assert posteriors.max(axis=1).mean() == pytest.approx(right, abs=0.1)


def test_a_prior_counts_and_is_checked():
    pair = planted()
    released = (pair[0] + pair[1]) / 2
    even = guess(released, pair, Gaussian(sigma=0.3))
    assert even == pytest.approx([0.5, 0.5], abs=1e-4)
    assert guess(released, pair, Gaussian(sigma=0.3), prior=[3, 1]) == pytest.approx([0.75, 0.25], abs=1e-4)
    assert guess(pair[0], pair, prior=[0, 1]).tolist() == [0.0, 1.0]
    for bad in ([1.0], [-1.0, 2.0], [0.0, 0.0], [np.nan, 1.0]):
        with pytest.raises(ParameterError, match="prior"):
            guess(released, pair, prior=bad)
    with pytest.raises(VectorError, match="dimension"):
        guess(released[:-1], pair)
    with pytest.raises(InputError, match="one release"):
        guess(pair, pair)


def attack(**changes):
    return Informed(concept=Concept.from_terms("place", PLACES), embedder=Fake(dim=64), **changes)


def truth_of(texts):
    return [next(place for place in PLACES if place in text) for text in texts]


def test_clean_vectors_give_the_term_away():
    vectors = Fake(dim=64).embed(TEXTS)
    reader = attack().fit(TEXTS, vectors, Identity())
    figures = {figure.metric: figure for figure in reader.measure(reader.recover(vectors), truth_of(TEXTS))}
    assert figures["top-1"].value >= 0.99 and figures["posterior of the truth"].value >= 0.99
    assert figures["rank"].value == 1.0
    assert reader.control.value >= 0.99 and reader.control.rows == len(TEXTS)
    found = reader.recover(vectors)
    assert [row[0].title() for row in found.rows] == truth_of(TEXTS)


def test_noise_hides_it_and_the_control_still_works():
    vectors = Fake(dim=64).embed(TEXTS)
    strong = Laplace(epsilon=2.0)
    reader = attack().fit(TEXTS, vectors, strong)
    found = reader.recover(fresh_releases(strong, 0)(vectors))
    assert reader.measure(found, truth_of(TEXTS))[0].value < 0.5
    assert found.details["probabilities"].max() < 0.5
    assert reader.control.value >= 0.99


def test_neutral_texts_leave_a_pure_guess_with_ties_broken_by_chance():
    protector = Protector(
        Laplace(epsilon=40.0), Fake(dim=64), (Concept.from_terms("place", PLACES),), neutral=4
    )
    prepared = protector.prepare(TEXTS)
    ready = prepared.vectors
    reader = attack().fit(TEXTS, ready, protector)
    found = reader.recover(protector.protect(ready, matched=prepared.matched))
    posteriors = found.details["probabilities"]
    assert posteriors == pytest.approx(np.full_like(posteriors, 1 / len(PLACES)), abs=1e-9)
    assert reader.control is None  # clean vectors are not among the candidates, so they prove nothing
    # Not the first, not the true one: any of them, and others with another seed.
    firsts = [row[0] for row in found.rows]
    assert len(set(firsts)) > 2
    again = protector.protect(ready, matched=prepared.matched)
    other = attack(seed=1).fit(TEXTS, ready, protector).recover(again)
    assert [row[0] for row in other.rows] != firsts
    hits = [
        ranks(np.log(posteriors), np.arange(len(TEXTS)) % len(PLACES), seed=seed) == 0 for seed in range(200)
    ]
    assert np.mean(hits) == pytest.approx(1 / len(PLACES), abs=0.02)
    # The same protector without neutral texts, for comparison.
    bare = replace(protector, neutral=0)
    vectors = bare.prepare(TEXTS).vectors
    clear = attack().fit(TEXTS, vectors, bare)
    assert clear.measure(clear.recover(bare.protect(vectors)), truth_of(TEXTS))[0].value > 0.5


def test_texts_without_exactly_one_term_are_not_asked():
    texts = ["the nurse wrote from Calder", "nothing here", "from Calder to Fenwick", "Calder and Calder"]
    vectors = Fake(dim=64).embed(texts)
    reader = attack().fit(texts, vectors)
    found = reader.recover(vectors)
    assert found.details["asked"].tolist() == [True, False, False, True]
    assert found.rows[1] == [] and found.rows[0][0] == "calder" and found.scores[2] == 0.0
    with pytest.raises(InputError, match="in their order"):
        reader.recover(vectors[:2])
    with pytest.raises(InputError, match="exactly one term"):
        attack().fit(texts[1:2], vectors[1:2])
    with pytest.raises(ParameterError, match="concept"):
        Informed(embedder=Fake(dim=64)).fit(texts, vectors)
    with pytest.raises(ParameterError, match="embedder"):
        Informed(concept=PLACES).fit(texts, vectors)


def test_saved_and_loaded_it_guesses_the_same(tmp_path):
    protector = Protector(
        Mahalanobis(epsilon=30.0, shape=np.linspace(0.5, 1.5, 64)),
        "fake:64",
        background=Background.fit(Fake(dim=64).embed(TEXTS)),
        neutral=0,
    )
    vectors = Fake(dim=64).embed(TEXTS)
    reader = attack(prior={"ashford": 2.0, **dict.fromkeys(map(str.lower, PLACES[1:]), 1.0)}).fit(
        TEXTS, vectors, protector
    )
    released = protector.protect(vectors)
    assert reader.save(tmp_path / "attack")
    again = InformedReader.load(tmp_path / "attack")
    one, two = (each.recover(released).details["probabilities"] for each in (reader, again))
    assert np.array_equal(one, two) and again.control == reader.control
    with pytest.raises(ArtifactError):
        InformedReader.load(tmp_path)
