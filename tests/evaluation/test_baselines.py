"""Every baseline keeps one contract, and does what it says."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.attacks import fresh_releases
from sfumato.concepts import Concept
from sfumato.errors import InputError, ParameterError
from sfumato.evaluation import BASELINES, Sample, fit_baselines, fit_undo
from sfumato.evaluation.compression import Quantised, Truncated
from sfumato.evaluation.erasure import Leace
from sfumato.evaluation.keyed_baselines import Ironcore, Privrag, Rotation
from sfumato.evaluation.noise_baselines import LaplaceNoise, SparseNoise
from sfumato.evaluation.text_baselines import NearestTerm, RandomWord, Removal
from sfumato.mechanisms import Mahalanobis
from sfumato.metrics import classify
from sfumato.randomness import generator
from sfumato.sensitivity import Mask
from tests.evaluation.places import PLACES, place_sample, sentences

TESTED = sentences(40, seed=9)


def cosines(one, other):
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return np.vecdot(one, other) / lengths


@pytest.fixture(scope="module")
def sample() -> Sample:
    return place_sample()


@pytest.mark.parametrize("name", BASELINES.names())
def test_every_baseline_keeps_the_contract(name, sample):
    kind = BASELINES.get(name)
    assert kind.name == name
    defences = kind().fit(sample)
    vectors = sample.embedder.embed(TESTED)
    assert len({defence.label for defence in defences}) == len(defences) >= 1
    for defence in defences:
        assert defence.name == name
        released = defence.release(TESTED, vectors, seed=1)
        assert released.dtype == np.float32 and len(released) == 40 and np.isfinite(released).all()
        # What an adaptive attacker trains on comes from the same law: same shape, fresh noise.
        ready = defence.prepare(TESTED, vectors, seed=1)
        assert ready.shape == vectors.shape
        fresh = fresh_releases(defence.victim, seed=1)(ready)
        assert fresh.shape == released.shape
        noisy = not np.array_equal(defence.release(TESTED, vectors), defence.release(TESTED, vectors))
        if noisy and name not in ("ironcore", "privrag"):
            assert np.array_equal(released, defence.release(TESTED, vectors, seed=1))
            if defence.rewrite is None:
                assert not np.allclose(fresh, released)
        elif not noisy:
            assert np.array_equal(fresh, released)
        assert defence.guarantee.proof in ("none", "proved", "conditional")
        filtered = defence.queries(TESTED, vectors, mode="filtered", seed=1)
        assert filtered.shape == released.shape
        assert defence.queries(TESTED, vectors, mode="noisy", seed=1).shape == released.shape


def test_the_table_in_one_call(sample):
    heard = []
    defences = fit_baselines(sample, ["rotation", "laplace"], on_step=heard.append)
    assert heard == ["rotation", "laplace"] and [defence.name for defence in defences][0] == "rotation"
    assert {defence.setting for defence in defences[1:]} == {f"noise ratio {r}" for r in (0.7, 1.4, 2.8)}
    with pytest.raises(ParameterError, match="baseline"):
        fit_baselines(sample, ["laplaze"])


def test_noise_is_as_long_as_asked(sample):
    vectors = sample.embedder.embed(sentences(2000, seed=4))
    for defence in LaplaceNoise(noise_ratios=(0.5, 2.0)).fit(sample):
        noise = defence.release(sentences(2000, seed=4), vectors, seed=2) - vectors
        ratio = defence.parameters["noise_ratio"]
        assert np.linalg.norm(noise, axis=1).mean() == pytest.approx(ratio, rel=0.05)


def test_a_given_mask_is_used(sample):
    mask = Mask(np.eye(48)[3])
    (defence,) = SparseNoise(noise_ratios=(1.0,), mask=mask).fit(sample)
    assert isinstance(defence.mechanism, Mahalanobis)
    moved = np.abs(defence.release(TESTED, seed=0) - sample.embedder.embed(TESTED)).mean(axis=0)
    assert moved.argmax() == 3 and moved[3] > 100 * np.delete(moved, 3).max()


def test_texts_are_rewritten(sample):
    starred, removed = Removal().fit(sample)
    embed = sample.embedder.embed
    text, plain = "a nurse left New York, then Rome by train", "a nurse left home"
    seen = starred.prepare([text, plain])
    assert np.array_equal(seen, embed(["a nurse left *, then * by train", plain]))
    assert np.array_equal(removed.release([text]), embed([sample.concept.remove(text)]))
    (random,) = RandomWord().fit(sample)
    written = random.rewrite([text, plain], None, generator(0))
    assert written[1] == plain and not sample.concept.find(written[0])
    assert written[0].startswith("a nurse left ") and written[0].endswith(" by train")
    assert not np.array_equal(random.prepare([text], seed=1), random.prepare([text], seed=2))
    assert np.array_equal(random.prepare([text], seed=1), random.prepare([text], seed=1))


def test_the_nearest_term_stands_in(sample):
    (defence,) = NearestTerm().fit(sample)
    vectors = sample.embedder.embed(PLACES).astype(float)
    likeness = vectors @ vectors.T
    np.fill_diagonal(likeness, -1)
    for row, place in enumerate(PLACES):
        written = defence.rewrite([f"in {place} today"], None, generator(0))
        assert written == [f"in {PLACES[int(likeness[row].argmax())]} today"]
    spans = Concept.from_spans("CITY")
    labelled = Sample(["in Rome", "in Oslo"], np.eye(2), spans, sample.embedder, [[(3, 7, "CITY")]] * 2)
    (by_label,) = NearestTerm().fit(labelled)
    # A city that is not listed gets the likest listed one.
    assert by_label.rewrite(["in Romes"], [[(3, 8, "CITY")]], generator(0)) == ["in Rome"]


def test_erasure_blinds_a_linear_reader(sample):
    has = np.array([bool(sample.concept.find(text)) for text in sample.texts])
    term = np.array([(sample.concept.terms_in(text) or [""])[0] for text in sample.texts])
    presence, terms = Leace().fit(sample)
    for defence, labels in ((presence, has), (terms, term)):
        before = classify(sample.vectors, labels, sample.vectors, labels, c=100.0)
        erased = defence.release(sample.texts, sample.vectors)
        after = classify(erased, labels, erased, labels, c=100.0)
        # On the rows it was fitted to nothing linear is left (Belrose et al. 2023): the majority's accuracy.
        assert before.accuracy > after.majority + 0.2
        assert after.accuracy == pytest.approx(after.majority, abs=0.03)
    assert presence.parameters["rank"] == 1 < terms.parameters["rank"] <= len(PLACES)


def test_compression(sample):
    eight, one = Quantised().fit(sample)
    vectors = sample.vectors
    step = (vectors.max(axis=0) - vectors.min(axis=0)) / 255
    rounded = eight.release(sample.texts, vectors)
    assert (np.abs(rounded - vectors) <= step / 2 + 1e-6).all()
    assert all(len(np.unique(column)) <= 256 for column in rounded.T)
    signs = one.release(sample.texts, vectors)
    assert np.array_equal(signs > 0, vectors >= 0) and len(np.unique(signs)) == 2
    assert np.linalg.norm(signs, axis=1) == pytest.approx(np.ones(len(signs)))
    half, *_, least = Truncated().fit(sample)
    assert np.array_equal(half.release(sample.texts, vectors), vectors[:, :24])
    assert least.parameters["dimensions"] == 6
    with pytest.raises(ParameterError, match="filtered"):
        half.queries(sample.texts, vectors, mode="clean")


def test_a_rotation_falls_to_leaked_pairs(sample):
    (defence,) = Rotation().fit(sample)
    released = defence.release(sample.texts, sample.vectors)
    assert cosines(released, sample.vectors).mean() < 0.3
    assert released @ released.T == pytest.approx(sample.vectors @ sample.vectors.T, abs=1e-5)
    few, enough = (fit_undo(sample.vectors[:k], released[:k], defence.key) for k in (8, 60))
    others = slice(100, None)
    read = [cosines(undo(released[others]), sample.vectors[others]).mean() for undo in (few, enough)]
    assert read[0] < 0.9 and read[1] == pytest.approx(1.0, abs=1e-5)
    again, another = Rotation().fit(sample)[0], Rotation().fit(place_sample(seed=1))[0]
    assert np.array_equal(again.release(sample.texts, sample.vectors), released)
    assert not np.allclose(another.release(sample.texts, sample.vectors), released)
    with pytest.raises(ParameterError, match="filtered"):
        defence.queries(TESTED, sample.embedder.embed(TESTED), mode="clean")


@pytest.mark.parametrize(("kind", "pairs"), [(Ironcore, 40), (Privrag, 100)])
def test_rivals_fall_to_leaked_pairs(kind, pairs, sample):
    defence = kind().fit(sample)[0]
    released = defence.release(sample.texts, sample.vectors)
    undo = fit_undo(sample.vectors[:pairs], released[:pairs], defence.key)
    others = slice(pairs, None)
    assert cosines(released, sample.vectors)[others].mean() < 0.4
    assert cosines(undo(released[others]), sample.vectors[others]).mean() > 0.9
    # Search still works among them, which is what they are for.
    near = (released @ released.T - 9 * np.eye(len(released))).argmax(axis=1)
    truly = (sample.vectors @ sample.vectors.T - 9 * np.eye(len(released))).argmax(axis=1)
    assert (near == truly).mean() > 0.5


def test_any_linear_map_can_be_undone(sample):
    rng = generator(3)
    released = sample.vectors @ rng.standard_normal((48, 64))
    undo = fit_undo(sample.vectors[:150], released[:150], "linear", ridge=1e-9)
    assert cosines(undo(released[150:]), sample.vectors[150:]).min() > 0.999
    with pytest.raises(InputError, match="Use linear"):
        fit_undo(sample.vectors, released, "rotation")
    with pytest.raises(ParameterError, match="kind"):
        fit_undo(sample.vectors, released, "magic")
    with pytest.raises(InputError, match="row by row"):
        fit_undo(sample.vectors, released[:3], "linear")


def test_refused(sample):
    with pytest.raises(InputError, match="one text a vector"):
        Sample(["a"], np.eye(2), sample.concept, sample.embedder)
    with pytest.raises(InputError, match="single text"):
        Sample("ab", np.eye(2), sample.concept, sample.embedder)
    alone = Concept.from_terms("place", ["Rome"])
    with pytest.raises(ParameterError, match="two terms"):
        NearestTerm().fit(Sample(["in Rome"], np.eye(1), alone, sample.embedder))
    with pytest.raises(InputError, match="hold the concept"):
        Leace().fit(Sample(["a", "b"], np.eye(2), alone, sample.embedder))
    with pytest.raises(InputError, match="a word"):
        RandomWord().fit(Sample(["1 2"], np.eye(1), alone, sample.embedder))
