"""Neighbours, probe and noise figures on cases with known answers."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import VectorError
from sfumato.evaluation import measure_noise
from sfumato.mechanisms import Identity, Laplace, Polar, Projection
from sfumato.metrics import neighbours_kept, probe_accuracy
from sfumato.randomness import generator
from tests.contracts.mechanism_cases import unit_vectors


def test_neighbours_kept():
    vectors = unit_vectors(300, 16)
    assert neighbours_kept(vectors, vectors) == 1.0
    assert neighbours_kept(vectors, vectors * 3.0) == 1.0
    # Unrelated vectors share neighbours by chance alone: k/(n - 1).
    assert neighbours_kept(vectors, unit_vectors(300, 16, seed=9), k=10) == pytest.approx(10 / 299, abs=0.02)
    shuffled = np.eye(4)[[1, 0, 3, 2]]
    assert neighbours_kept(np.eye(4), shuffled, k=3) == 1.0
    # Brute force on a small case.
    after = vectors + 0.2 * generator(3).standard_normal(vectors.shape)
    unit = after / np.linalg.norm(after, axis=1, keepdims=True)

    def nearest(rows, row):
        order = np.argsort(-(rows @ rows[row]))
        return set(order[order != row][:5].tolist())

    wanted = np.mean([len(nearest(vectors, row) & nearest(unit, row)) / 5 for row in range(300)])
    assert neighbours_kept(vectors, after, k=5) == pytest.approx(wanted)
    with pytest.raises(VectorError):
        neighbours_kept(vectors, vectors[:5])


def test_probe_reads_what_is_there_and_nothing_else():
    rng = generator(0)
    labels = rng.random(4000) < 0.5
    noise = rng.standard_normal((4000, 20))
    assert probe_accuracy(noise, labels) == pytest.approx(0.5, abs=0.06)
    noise[:, 3] += np.where(labels, 3.0, -3.0)
    assert probe_accuracy(noise, labels) > 0.99
    with pytest.raises(VectorError):
        probe_accuracy(noise, labels.astype(int))
    with pytest.raises(VectorError):
        probe_accuracy(noise, np.ones(4000, bool))


def test_measured_noise_matches_the_prediction():
    vectors = unit_vectors(4000, 128)
    for mechanism in (Laplace(epsilon=200.0), Polar(epsilon=200.0), Projection(epsilon=200.0), Identity()):
        figures = measure_noise(mechanism, vectors, mechanism.privatize(vectors))
        assert figures.ratio_measured == pytest.approx(figures.ratio_predicted, rel=0.03, abs=1e-3)
        assert figures.cosine_measured == pytest.approx(figures.cosine_predicted, abs=0.02)
    with pytest.raises(VectorError):
        measure_noise(Laplace(epsilon=1.0), vectors, vectors[:3])
