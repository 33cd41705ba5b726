"""Denoising on planted signals: as good as whoever knows where they lie, and worth what it says it is."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import fresh_releases
from sfumato.attacks.known_texts.clouds import LEAST
from sfumato.attacks.known_texts.denoising import Denoising, DenoisingReader, Observed
from sfumato.attacks.known_texts.shrinkage import LinearShrinkage, risks
from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.mechanisms import Gaussian, Identity, Laplace, Purkayastha
from sfumato.metrics.intervals import mean_interval
from sfumato.metrics.similarity import pair_cosines, unit_rows
from sfumato.randomness import generator
from sfumato.release import Release
from sfumato.sensitivity import Background

DIM, COUNT = 48, 2500
LAPLACE = Laplace.from_noise_ratio(1.0, dim=DIM, max_norm=20.0)


def flat(seed, count=COUNT):
    """A normal signal in six of the directions, the same ones for every seed, and its covariance."""
    basis = np.linalg.qr(generator(1).standard_normal((DIM, DIM)))[0][:, :6] * [2, 1.5, 1.2, 1, 0.8, 0.6]
    rows = generator(seed).standard_normal((count, 6)) @ basis.T
    return rows + 0.3, basis @ basis.T


def noisy(mechanism, rows, seed=9):
    return np.asarray(fresh_releases(mechanism, seed)(rows.astype(np.float32)), np.float64)


def reader(mechanism, rows):
    return Denoising().fit([f"text {row}" for row in range(len(rows))], rows, mechanism)


def errors(guessed, rows):
    return np.square(guessed - rows).sum(axis=1)


def reaches(found, best):
    """Whether the mean of paired differences from the best, in shares of its own mean, is small or nothing.

    A rule learned from n rows instead of known costs a share of about (parameters / n); 3 % is room for that.
    """
    low, _ = mean_interval(found / best.mean() - best / best.mean() - 0.03)
    return low <= 0 and found.mean() < 1.05 * best.mean()


@pytest.mark.parametrize(
    "noise", [Gaussian(sigma=0.5, max_norm=20.0), LAPLACE.scaled(epsilon=14.0)], ids=repr
)
def test_a_flat_signal_is_denoised_as_well_as_by_whoever_knows_its_spread(noise):
    rows, spread = flat(0)
    released = noisy(noise, rows)
    made = reader(noise, flat(5, 300)[0])
    found, how = made.denoise(released)
    covariance = noise.noise_covariance(DIM)
    best = (released - 0.3) @ np.linalg.solve(spread + covariance, spread) + 0.3
    assert reaches(errors(found, rows), errors(best, rows))
    assert errors(found, rows).mean() < 0.35 * errors(released, rows).mean()
    # Without a clean row it knows its own error.
    low, high = mean_interval(errors(found, rows) / np.trace(covariance))
    assert low - 0.01 < how["risk"] < high + 0.01


@pytest.mark.parametrize("laplace", [False, True])
def test_clusters_are_denoised_as_well_as_by_whoever_knows_them(laplace):
    """The best guess of one of ten points, the noise's density known, is their mean by posterior."""
    rng = generator(3)
    points = 3.0 * unit_rows(rng.standard_normal((10, DIM)))
    rows = points[rng.integers(10, size=COUNT)]
    noise = LAPLACE.scaled(epsilon=12.0) if laplace else Gaussian(sigma=0.6, max_norm=20.0)
    released = noisy(noise, rows)
    found, how = reader(noise, rows[:300]).denoise(released)
    odds = noise.log_densities(released, points)
    odds = np.exp(odds - odds.max(axis=1, keepdims=True))
    best = (odds / odds.sum(axis=1, keepdims=True)) @ points
    scale = np.trace(noise.noise_covariance(DIM))
    assert how["denoiser"].endswith("clusters")
    assert errors(found, rows).mean() - errors(best, rows).mean() < 0.02 * scale
    linear = (released - rows.mean(0)) @ _wiener(rows, noise) + rows.mean(0)
    assert errors(found, rows).mean() < 0.5 * errors(linear, rows).mean()
    assert abs(how["risk"] - errors(found, rows).mean() / scale) < 0.02


def _wiener(rows, noise):
    spread = np.cov(rows.T)
    return np.linalg.solve(spread + noise.noise_covariance(DIM), spread)


def test_the_risk_of_an_affine_denoiser_is_exact_for_laplace_noise():
    """Only the covariance of the noise counts, not its law: over many rows the mean is the true error."""
    noise = Laplace(epsilon=np.sqrt(DIM + 1), max_norm=100.0)  # unit variance in each direction
    rows = 2 * generator(0).standard_normal((20_000, DIM)) @ np.diag(np.linspace(0, 1, DIM))
    released = noisy(noise, rows)
    axes = np.linalg.qr(generator(2).standard_normal((DIM, DIM)))[0]
    denoiser = LinearShrinkage(axes, np.linspace(0.9, 0.1, DIM))
    low, high = mean_interval(risks(denoiser, released) - errors(denoiser(released), rows))
    assert low < 0 < high and high - low < 1.0


def test_noise_without_a_signal_is_left_with_nothing():
    noise = Gaussian(sigma=1.0, max_norm=20.0)
    rows = np.full((600, DIM), 0.5)
    found, _ = reader(noise, rows).denoise(noisy(noise, rows))
    assert errors(found, rows).mean() < 0.05 * DIM


def clustered(count, seed=4):
    rng = generator(seed)
    centres = unit_rows(generator(8).standard_normal((12, DIM)))
    names = rng.integers(12, size=count)
    return unit_rows(centres[names] + 0.05 * rng.standard_normal((count, DIM))).astype(np.float32), names


def protector_like():
    public = clustered(400, 1)[0]
    return Release(Laplace.from_noise_ratio(1.2, dim=DIM), Background.fit(public), normalise=True)


@pytest.mark.parametrize(
    "release",
    [
        Release(Laplace.from_noise_ratio(1.2, dim=DIM), normalise=False),
        Release(Laplace.from_noise_ratio(1.2, dim=DIM)),
        protector_like(),
        Release(Purkayastha.from_noise_ratio(1.2, dim=DIM)),
    ],
    ids=["plain", "unit length", "filtered", "on the sphere"],
)
def test_denoised_vectors_are_closer_whatever_the_release(release):
    public, stolen = clustered(600, 1)[0], clustered(1500, 2)[0]
    released = noisy(release, stolen)
    made = Denoising().fit([f"{row}" for row in range(600)], public, release)
    found, how = made.denoise(released)
    before = made.observed.rows(released)
    assert pair_cosines(found, stolen).mean() > pair_cosines(before, stolen).mean() + 0.1
    assert how["risk"] < 0.6


def test_a_reader_of_clean_vectors_reads_more():
    words = ["ash", "birch", "cedar", "elm"]
    rng = generator(6)
    centres = unit_rows(rng.standard_normal((4, DIM)))
    names = rng.integers(4, size=2400)
    rows = unit_rows(centres[names] + 0.1 * rng.standard_normal((2400, DIM))).astype(np.float32)
    texts = [f"{words[name]} {row}" for row, name in enumerate(names)]
    noise = Laplace.from_noise_ratio(4.0, dim=DIM)
    attack = Denoising(reader=TokenClassifier(vocabulary=words, hidden=(), epochs=20))
    made = attack.fit(texts[:1200], rows[:1200], noise)
    released = noisy(noise, rows[1200:])

    def right(found):
        return np.mean([row[0] == words[name] for row, name in zip(found.rows, names[1200:], strict=True)])

    assert right(made.recover(released)) > right(made.reader.recover(unit_rows(released)))
    assert made.control is not None and made.control.metric == "leakage" and made.control.value > 0.95
    clean = attack.fit(texts[:1200], rows[:1200]).recover(rows[1200:])
    assert right(clean) > 0.99 and clean.details["denoiser"] == "none"


def test_same_seed_same_result_also_after_saving(tmp_path):
    release = protector_like()
    public, stolen = clustered(300, 1)[0], clustered(500, 2)[0]
    texts = [f"public {row}" for row in range(300)]
    made = Denoising(most=400, seed=3).fit(texts, public, release)
    released = noisy(release, stolen)
    first = made.recover(released)
    assert Denoising(most=400, seed=3).fit(texts, public, release).recover(released).rows == first.rows
    made.save(tmp_path / "kept")
    again = DenoisingReader.load(tmp_path / "kept")
    assert again.recover(released).rows == first.rows and again.control == made.control
    kept = artifacts.load(tmp_path / "kept", DenoisingReader.kind)
    for config, tensors in (
        ({**kept.config, "most": None}, kept.tensors),
        ({**kept.config, "reader": {"class": "os:system", "config": {}}}, kept.tensors),
        (kept.config, {**kept.tensors, "noise": np.ones(3)}),
    ):
        artifacts.save(tmp_path / "other", DenoisingReader.kind, config, tensors)
        with pytest.raises((ArtifactError, ParameterError)):
            DenoisingReader.load(tmp_path / "other")


def test_what_cannot_be_denoised_is_refused():
    assert ATTACKS.get("denoising") is Denoising
    rows = clustered(100)[0]
    made = reader(Gaussian(sigma=0.1), rows)
    with pytest.raises(InputError, match=f"{LEAST} releases or more"):
        made.recover(rows[: LEAST - 1])
    with pytest.raises(InputError, match="dimension 48"):
        made.recover(rows[:, :7])
    with pytest.raises(InputError, match="public texts"):
        Denoising().fit([], np.zeros((0, 4)))
    with pytest.raises(ParameterError, match="most"):
        Denoising(most=1)
    assert Observed.of(Release(Identity()), rows, 0)[0].noise is None
