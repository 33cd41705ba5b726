"""The token classifier: reads clean vectors, is calibrated, trains on fresh noise, is kept without pickle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.attacks.base import fresh_releases
from sfumato.attacks.terms import perceptron
from sfumato.attacks.terms.classifier import LINEAR, TokenClassifier, best_of
from sfumato.attacks.terms.perceptron import Perceptron
from sfumato.attacks.terms.reader import TokenReader, platt
from sfumato.concepts.texts.duplicates import split_texts
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, InputError, ParameterError, VectorError
from sfumato.mechanisms import Gaussian, Laplace, Projection
from sfumato.metrics.leakage import count_leaked
from sfumato.metrics.ranking import calibration_error
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.sensitivity import Background
from tests.test_protector import PLACE, PLACES, sentences

FAKE = Fake(dim=64)
TEXTS = sentences(1200)
OTHER = sentences(400, seed=99)
QUICK = TokenClassifier(vocabulary=PLACE, hidden=(64,), epochs=15)

pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.fixture(scope="module")
def vectors():
    return FAKE.embed(TEXTS)


@pytest.fixture(scope="module")
def reader(vectors, few_steps):
    return QUICK.fit(TEXTS, vectors)


def leakage(reader, released):
    truth = [PLACE.terms_in(text) for text in OTHER]
    return count_leaked(truth, reader.top(released, [len(found) for found in truth])).rate


def test_it_reads_clean_vectors_and_says_how_well(reader):
    clean = FAKE.embed(OTHER)
    assert leakage(reader, clean) > 0.9
    assert reader.control.metric == "leakage" and reader.control.value > 0.85 and reader.control.rows > 30
    found = reader.recover(clean)
    assert found.details["vocabulary"] == [place.lower() for place in PLACES]
    assert found.details["probabilities"].shape == (400, len(PLACES))
    assert found.scores == pytest.approx(found.details["probabilities"].max(axis=1))
    assert reader.top(clean, 1) == [row[:1] for row in found.rows]


def test_probabilities_are_calibrated_on_texts_it_has_not_seen(vectors, monkeypatch):
    """Under noise, where there is something to be unsure about."""
    monkeypatch.setattr(perceptron, "SMALLEST_STEPS", 40)  # as it is for everybody
    noise = Gaussian(sigma=0.12)
    made = QUICK.fit(TEXTS, vectors, noise)
    released = fresh_releases(noise, 8)(FAKE.embed(OTHER))
    held = np.array([[place in text for place in PLACES] for text in OTHER])
    given = made.probabilities(released)
    assert 0.3 < leakage(made, released) < 0.95
    assert calibration_error(given, held) < 0.02
    # Also among the forecasts that commit themselves, which the many easy zeros would drown.
    bold = given > 0.2
    assert bold.sum() > 100 and calibration_error(given[bold], held[bold], bins=5) < 0.1


def test_platt_undoes_a_wrong_scale():
    rng = generator(1)
    odds = rng.normal(-2.0, 2.0, (4000, 5))
    held = rng.random(odds.shape) < 1 / (1 + np.exp(-odds))
    slope, shift = platt(3.0 * odds - 1.0, held)
    assert slope == pytest.approx(1 / 3, abs=0.02) and shift == pytest.approx(1 / 3, abs=0.1)
    assert platt(odds, np.zeros_like(held)) == (1.0, 0.0)


def test_training_on_the_noise_beats_training_without(vectors, reader):
    """The adaptive rule: an attacker who knows the filter is not stopped by it."""
    background = Background.fit(vectors)
    protector = Protector(Laplace.from_noise_ratio(1.6, dim=64), background=background, neutral=0)
    released = fresh_releases(protector, 3)(FAKE.embed(OTHER))
    adaptive = QUICK.fit(TEXTS, vectors, protector)
    assert leakage(adaptive, released) > leakage(reader, released) + 0.02
    # Without a look at the directions that the filter made small, training on the noise would not help.
    blind = replace(QUICK, inputs="scaled").fit(TEXTS, vectors, protector)
    assert leakage(adaptive, released) > leakage(blind, released) + 0.02
    # Strong noise leaves little more than chance, while the control shows that the attack works.
    strong = Laplace.from_noise_ratio(8.0, dim=64)
    blurred = QUICK.fit(TEXTS, vectors, strong)
    assert leakage(blurred, fresh_releases(strong, 3)(FAKE.embed(OTHER))) < 0.3
    assert blurred.control.value > 0.85
    assert replace(QUICK, control=False, epochs=1).fit(TEXTS, vectors, strong).control is None


def test_releases_may_have_fewer_dimensions(vectors):
    """A random projection: the network is as wide as what is released, the control as what is clean."""
    mechanism = Projection(epsilon=1e4, components=24)
    made = best_of(QUICK, TEXTS, vectors, mechanism)
    assert made.control.value > 0.85
    assert leakage(made, mechanism.privatize(FAKE.embed(OTHER))) > 0.5


def test_other_terms_put_in_help_where_texts_are_few(vectors):
    few, clean = TEXTS[:40], FAKE.embed(OTHER)
    alone = replace(QUICK, epochs=25).fit(few, vectors[:40])
    asked = replace(QUICK, epochs=25, embedder=FAKE, copies=8).fit(few, vectors[:40])
    assert alone.chosen["copies"] == 0 and asked.chosen["copies"] == 8
    assert leakage(asked, clean) > leakage(alone, clean) + 0.05


def test_neutral_texts_get_no_substitutes():
    """They are the same whatever the term, so they would teach wrong labels."""

    class Refusing:
        def embed(self, texts):
            raise AssertionError("asked")

    protector = Protector(Laplace(epsilon=1000.0), FAKE, (PLACE,), neutral=2)
    ready = protector.prepare(TEXTS[:200]).vectors
    made = replace(QUICK, embedder=Refusing(), epochs=3).fit(TEXTS[:200], ready, protector)
    assert made.leakage < 0.6


def test_same_seed_same_classifier(vectors, reader):
    again = QUICK.fit(TEXTS, vectors)
    assert np.array_equal(again.logits(vectors[:50]), reader.logits(vectors[:50]))
    other = replace(QUICK, seed=1).fit(TEXTS, vectors)
    assert not np.array_equal(other.logits(vectors[:50]), reader.logits(vectors[:50]))


def test_best_of_keeps_what_foretells_best_and_tells_all(vectors):
    noise = Gaussian(sigma=0.12)
    made = best_of(QUICK, TEXTS[:500], vectors[:500], noise)
    assert set(made.tried) == {"both", "network", "linear"}
    assert made.leakage == made.tried[made.chosen["shape"]]
    network = QUICK.fit(TEXTS[:500], vectors[:500], noise)
    linear = replace(QUICK, **LINEAR).fit(TEXTS[:500], vectors[:500], noise)
    assert len(linear.members[0].layers) == 1 and linear.leakage == made.tried["linear"]
    assert made.loss == made.chosen["loss"] <= min(network.loss, linear.loss)


@pytest.mark.parametrize("noise", [None, Laplace.from_noise_ratio(1.6, dim=64)])
def test_the_scaling_is_the_one_that_held_back_rows_ask_for(vectors, noise):
    """Clean or noised alike: the settings do not look at what is attacked, the held-back rows do."""
    made = replace(QUICK, control=False).fit(TEXTS[:500], vectors[:500], noise)
    assert made.search["inputs"] == ["scaled", "white"] and made.search["epochs"] == QUICK.epochs
    fixed = {
        inputs: replace(QUICK, **LINEAR, inputs=inputs, control=False).fit(TEXTS[:500], vectors[:500], noise)
        for inputs in ("scaled", "white")
    }
    assert made.chosen["inputs"] == min(fixed, key=lambda inputs: fixed[inputs].loss)
    assert fixed["white"].search["inputs"] == ["white"]


def test_members_are_averaged(vectors):
    made = replace(QUICK, members=2, epochs=3).fit(TEXTS[:300], vectors[:300])
    assert len(made.members) == 2
    mean = (made.members[0].logits(vectors[:9]) + made.members[1].logits(vectors[:9])) / 2
    assert made.logits(vectors[:9]) == pytest.approx(mean, abs=1e-5)


def test_without_a_vocabulary_it_learns_the_frequent_words(vectors):
    made = replace(QUICK, vocabulary=None, at_least=100, epochs=5).fit(TEXTS, vectors)
    assert "kitchen" in made.vocabulary and "committee" in made.vocabulary and "17" not in made.vocabulary
    assert list(made.vocabulary) == sorted(made.vocabulary)
    few = replace(QUICK, vocabulary=None, most=3, epochs=1).fit(TEXTS[:300], vectors[:300])
    assert len(few.vocabulary) == 3


def test_saved_and_loaded_it_reads_the_same(reader, vectors, tmp_path):
    reader.save(tmp_path / "reader")
    again = TokenReader.load(tmp_path / "reader")
    assert np.array_equal(again.probabilities(vectors[:20]), reader.probabilities(vectors[:20]))
    assert again.vocabulary == reader.vocabulary and again.control == reader.control
    assert sorted(path.name for path in (tmp_path / "reader").iterdir()) == [
        "config.json",
        "tensors.safetensors",
    ]
    broken = TokenReader(reader.vocabulary[:-1], reader.members)
    broken.save(tmp_path / "broken")
    with pytest.raises(ArtifactError, match="same vectors and terms"):
        TokenReader.load(tmp_path / "broken")
    with pytest.raises(ArtifactError, match="layers"):
        Perceptron.from_tensors("member.0", {})
    with pytest.raises(ArtifactError, match="does not fit"):
        Perceptron.from_tensors("m", {"m.0.weights": np.zeros((3, 2)), "m.0.offsets": np.zeros(3)})


def test_near_duplicates_stay_on_one_side():
    letters = "abcdefghijklmnopqrst"
    words = [f"{one}{two}" for one in letters for two in letters]
    texts = [" ".join(words[start : start + 8]) for start in range(0, 400, 8)] * 4
    learn, keep = split_texts(texts, 0.2, generator(0))
    assert 20 <= len(keep) <= 60
    assert not {texts[row] for row in learn} & {texts[row] for row in keep}
    learn, keep = split_texts(["all the same"] * 50, 0.2, generator(0))
    assert len(keep) == 10 and len(learn) == 40


@pytest.mark.parametrize(
    "bad",
    [
        {"epochs": 0},
        {"batch": 0},
        {"dropout": 1.0},
        {"held_back": 0.0},
        {"hidden": (0,)},
        {"members": 0},
        {"inputs": "raw"},
        {"seed": -1},
        {"copies": -1},
    ],
    ids=str,
)
def test_bad_settings_are_refused(bad):
    with pytest.raises(ParameterError):
        replace(QUICK, **bad)


def test_bad_input_is_refused(reader, vectors):
    with pytest.raises(InputError, match="at least 10"):
        QUICK.fit(TEXTS[:4], vectors[:4])
    with pytest.raises(InputError, match="one text a vector"):
        QUICK.fit(TEXTS, vectors[:-1])
    with pytest.raises(InputError, match="none can be learned"):
        replace(QUICK, vocabulary=["Atlantis"]).fit(TEXTS, vectors)
    with pytest.raises(InputError, match="nothing to learn"):
        replace(QUICK, vocabulary=None, at_least=5000).fit(TEXTS, vectors)
    with pytest.raises(VectorError, match="dimension 64"):
        reader.recover(vectors[:, :10])
    with pytest.raises(VectorError, match="counts"):
        reader.top(vectors, [1])
