"""Unpaired alignment on planted clouds: a hidden key is found again; without a shape nothing is."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.attacks.base import fresh_releases
from sfumato.attacks.known_texts.clouds import LEAST, overlay
from sfumato.attacks.known_texts.unpaired import Unpaired, UnpairedReader
from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.mechanisms import Laplace
from sfumato.metrics.leakage import leakage_figure
from sfumato.metrics.similarity import pair_cosines, unit_rows
from sfumato.randomness import generator
from sfumato.trials.running import run_attack
from sfumato.trials.threat import ThreatModel

DIM, COUNT = 24, 1600


def clouds(seed=0):
    """Two disjoint draws from the same uneven clusters, and what to call the rows of the second."""
    rng = generator(seed)
    centres = rng.standard_normal((30, DIM)) * np.linspace(2, 0.5, DIM)
    shares = rng.random(30) ** 2 + 0.02
    of = rng.choice(30, 2 * COUNT, p=shares / shares.sum())
    rows = unit_rows(centres[of] + 0.3 * rng.standard_normal((2 * COUNT, DIM)))
    return rows[:COUNT], rows[COUNT:], [f"public text {row}" for row in range(COUNT)]


def hidden_key(seed=5, dim=DIM):
    return np.linalg.qr(generator(seed).standard_normal((dim, dim)))[0]


def placed(aligned, true, public):
    """How many candidates, others' and public, come before each row's own text."""
    scores = unit_rows(aligned) @ np.concatenate([true, public]).T
    return (scores > np.diagonal(scores)[:, None]).sum(axis=1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_hidden_rotation_is_found_without_a_pair(seed):
    stolen, public, texts = clouds(seed)
    made = Unpaired().fit(texts, public)
    aligned = made.align(stolen @ hidden_key())
    assert pair_cosines(aligned, stolen).mean() > 0.99
    assert (placed(aligned, stolen, public) == 0).mean() > 0.9
    assert made.control is not None and made.control.metric == "top-1" and made.control.value > 0.8
    # The key decides nothing: in the encoder's own space and in the turned one the same text is named.
    assert pair_cosines(made.align(stolen), aligned).mean() > 0.99


def test_a_cloud_without_shape_stays_at_chance():
    rng = generator(3)
    stolen, public = (unit_rows(rng.standard_normal((COUNT, DIM))) for _ in range(2))
    made = Unpaired().fit([f"{row}" for row in range(COUNT)], public)
    ranks = placed(made.align(stolen @ hidden_key()), stolen, public)
    assert (ranks == 0).mean() < 0.01 and (ranks < 0.01 * 2 * COUNT).mean() < 0.06
    assert made.control is not None and made.control.value < 0.05


def test_vectors_of_something_else_are_not_named():
    """Rows whose texts have nothing to do with the vectors: the map may be good, the names are chance."""
    stolen, public, texts = clouds()
    aligned = Unpaired().fit(texts, public).align(stolen @ hidden_key())
    ranks = placed(generator(9).permutation(aligned), stolen, public)
    assert (ranks == 0).mean() < 0.01


def test_signs_of_a_hidden_rotation_are_turned_back():
    stolen, public, texts = clouds()
    codes = np.sign(stolen @ hidden_key(dim=192)[:DIM])
    aligned = Unpaired().fit(texts, public).align(codes)
    assert codes.shape[1] == 192 and set(np.unique(codes)) == {-1.0, 1.0}
    assert (placed(aligned, stolen, public) < 0.05 * 2 * COUNT).mean() > 0.6


def test_noise_under_a_key_is_read_when_the_noise_is_known():
    stolen, public, texts = clouds()
    noise = Laplace.from_noise_ratio(0.5, dim=DIM)
    made = Unpaired().fit(texts, public, noise)
    released = fresh_releases(noise, 8)(stolen) @ hidden_key()
    assert (placed(made.align(released), stolen, public) < 0.05 * 2 * COUNT).mean() > 0.8
    strong = Laplace.from_noise_ratio(40.0, dim=DIM)
    drowned = Unpaired().fit(texts, public, strong).align(fresh_releases(strong, 8)(stolen) @ hidden_key())
    assert (placed(drowned, stolen, public) < 0.05 * 2 * COUNT).mean() < 0.15


def test_terms_are_read_behind_a_key():
    places = Concept.from_terms("place", ["Ashford", "Brinlow", "Calder", "Dunmere"])
    rng = generator(1)
    odds = [0.4, 0.3, 0.2, 0.1]
    drawn = [
        f"{places.terms[rng.choice(4, p=odds)]} {('mon', 'tue', 'wed')[rng.choice(3, p=(0.6, 0.3, 0.1))]} {n}"
        for n in range(2000)
    ]
    encoder = Fake(dim=32)
    public, stolen = drawn[:1000], drawn[1000:]
    attack = Unpaired(reader=TokenClassifier(vocabulary=places, hidden=(32,), epochs=8))
    made = attack.fit(public, encoder.embed(public))
    turned = encoder.embed(stolen) @ hidden_key(dim=32)
    truth = [places.terms_in(text) for text in stolen]

    def leaked(found):
        return leakage_figure(truth, [row[:1] for row in found.rows]).value

    assert leaked(made.recover(turned)) > 0.9
    assert leaked(made.reader.recover(turned)) < 0.6


def test_same_seed_same_result_also_after_saving(tmp_path):
    stolen, public, texts = clouds()
    turned = stolen @ hidden_key()
    noise = Laplace.from_noise_ratio(0.2, dim=DIM)
    made = Unpaired(most=800, seed=4).fit(texts, public, noise)
    first = made.recover(turned)
    assert first.rows == Unpaired(most=800, seed=4).fit(texts, public, noise).recover(turned).rows
    made.save(tmp_path / "kept")
    again = UnpairedReader.load(tmp_path / "kept")
    found = again.recover(turned)
    assert found.rows == first.rows and np.array_equal(found.scores, first.scores)
    assert again.control == made.control and set(first.rows) <= set(texts) and len(first) == COUNT
    kept = artifacts.load(tmp_path / "kept", UnpairedReader.kind)
    for config, tensors in (
        ({**kept.config, "most": None}, kept.tensors),
        ({**kept.config, "reader": {"class": "os:system", "config": {}}}, kept.tensors),
        (kept.config, {**kept.tensors, "spread": np.eye(3)}),
    ):
        artifacts.save(tmp_path / "other", UnpairedReader.kind, config, tensors)
        with pytest.raises((ArtifactError, ParameterError)):
            UnpairedReader.load(tmp_path / "other")


def test_what_cannot_be_matched_is_refused():
    stolen, public, texts = clouds()
    made = Unpaired().fit(texts, public)
    with pytest.raises(InputError, match=f"at least {LEAST} vectors"):
        made.recover(stolen[: LEAST - 1])
    with pytest.raises(InputError, match="public texts or more"):
        Unpaired().fit(texts[:40], public[:40])
    with pytest.raises(InputError, match="one text a vector"):
        Unpaired().fit(texts[:-1], public)
    with pytest.raises(InputError, match="axes"):
        overlay(np.ones((50, 4)) * np.arange(1, 51)[:, None], public, generator(0))
    with pytest.raises(ParameterError, match="most"):
        Unpaired(most=3)
    with pytest.raises(InputError, match="no reader"):
        UnpairedReader(public, None, None).recover(stolen)


class Looked:
    """An encoder that looks its vectors up."""

    def __init__(self, texts, vectors):
        self.known = dict(zip(texts, vectors.astype(np.float32), strict=True))

    def embed(self, texts):
        return np.array([self.known[text] for text in texts])


def test_leaked_pairs_are_not_what_it_learns_from():
    """Given releases beside their texts, it takes clean vectors of one half and no pair of the other."""
    stolen, public, _ = clouds()
    every = np.concatenate([stolen, public])
    texts = [f"{row:04d} {row * 7919 % 3203:04d}" for row in range(len(every))]
    released = every @ hidden_key()
    threat = ThreatModel(texts=texts, released=released, embedder=Looked(texts, every))
    result = run_attack(Unpaired(), threat, control=False)
    assert np.allclose(result.trial.learned_vectors, threat.embedder.embed(result.trial.learned))
    assert not set(result.trial.learned) & {texts[row] for row in result.trial.rows}
    with pytest.raises(InputError, match="learns from clean vectors"):
        run_attack(Unpaired(), ThreatModel(texts=texts, released=released))
