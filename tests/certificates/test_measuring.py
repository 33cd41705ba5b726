"""The informed attacker beside a certificate: never above it, and close for two."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from tests.certificates.simulated import DISTANCE, family

from sfumato.certificates import candidate_success, informed_success, trade_off
from sfumato.certificates.measuring import candidates_apart
from sfumato.errors import ParameterError
from sfumato.mechanisms import Gaussian, Identity, Laplace, Mahalanobis, Suppression
from sfumato.randomness import InsecureSeedWarning

pytestmark = pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")
NAMES = sorted(family(64, 1.0))


@pytest.mark.parametrize("candidates", [2, 10])
@pytest.mark.parametrize("strength", [0.3, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_he_never_gets_more_than_is_certified_and_for_two_nearly_all(name, strength, candidates):
    mechanism, trials = family(64, strength)[name], 2000
    said = candidate_success(trade_off(mechanism, DISTANCE, 64), candidates)
    got = informed_success(mechanism, DISTANCE, candidates=candidates, trials=trials, dim=64, seed=7)
    room = 4.5 * math.sqrt(said * (1 - said) / trials)
    assert got.value <= said + room and got.low <= got.value <= got.high
    if candidates == 2:
        assert got.value >= said - room
    else:
        assert got.value > 1 / candidates  # the attack works


def test_half_the_noise_is_caught():
    """A mechanism that adds less than it says is told by him where the certificate is about what it says."""
    promised, real = (Laplace(epsilon=each * math.sqrt(64) / DISTANCE) for each in (1.0, 2.0))
    said = candidate_success(trade_off(promised, DISTANCE, 64), 2)
    got = informed_success(real, DISTANCE, trials=2000, dim=64, seed=3)
    assert got.low > said


def test_one_noise_for_all_releases_is_caught(monkeypatch):
    """Noise that is shared shows in how he fares: right or wrong about all releases of an input together."""
    mechanism = Laplace(epsilon=math.sqrt(64) / DISTANCE)
    real = Laplace.privatize

    def shared(self, vectors, rng=None, **options):
        clean = np.asarray(vectors)
        noise = real(self, clean[:1], rng, **options) - clean[:1]
        return (clean + noise).astype(np.float32)

    monkeypatch.setattr(Laplace, "privatize", shared)
    said = candidate_success(trade_off(mechanism, DISTANCE, 64), 2)
    found = [informed_success(mechanism, DISTANCE, trials=400, dim=64, seed=seed).value for seed in range(40)]
    honest = math.sqrt(said * (1 - said) / 400)
    assert np.std(found) > 3 * honest  # of releases with noise of their own it is about 1


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("count", [2, 7])
def test_candidates_lie_as_far_apart_as_is_said(name, count):
    mechanism = family(64, 1.0)[name]
    inputs = candidates_apart(mechanism, DISTANCE, count, 64)
    mechanism.check(inputs)
    ellipse = mechanism.ellipse(64)
    if ellipse is not None:
        law = mechanism.loss_law(DISTANCE, 64)
        apart = pdist(ellipse.whiten(mechanism.expected(inputs)))
        assert apart == pytest.approx(law.mu if ellipse.squared else law.largest)
    elif mechanism.guarantee.metric == "angular":
        assert np.arccos(1 - pdist(inputs, "cosine")) == pytest.approx(DISTANCE)
    else:
        assert pdist(inputs) == pytest.approx(DISTANCE)


def test_the_directions_are_those_in_which_the_noise_hides_least():
    """So that candidates of a distance that unit vectors can have do exist."""
    mechanism = Mahalanobis(epsilon=10.0, shape=np.geomspace(1e-3, 1.0, 32))
    inputs = candidates_apart(mechanism, 5.0, 4)
    assert inputs is not None and np.abs(inputs[:, :4]).sum() == pytest.approx(np.abs(inputs).sum())


def test_where_there_are_no_candidates_so_far_apart_nothing_is_measured():
    assert informed_success(Laplace(epsilon=5.0), 3.0, dim=8) is None
    assert informed_success(Laplace(epsilon=5.0), 0.1, dim=8, candidates=9) is None
    assert informed_success(family(8, 1.0)["polar"], 1.9, dim=8, candidates=5) is None
    assert informed_success(Gaussian(sigma=1.0), 0.0, dim=8) is None
    assert informed_success(Laplace(epsilon=5.0), 0.1, dim=8, candidates=10**9) is None
    with pytest.raises(ParameterError, match="trials"):
        informed_success(Laplace(epsilon=5.0), 0.1, dim=8, trials=0)


def test_without_a_law_he_reads_everything():
    for mechanism in (Identity(), Suppression.example(16)):
        assert informed_success(mechanism, 0.2, candidates=4, trials=200, dim=16, seed=1).value == 1


def test_a_seed_repeats_a_run_and_is_loud():
    mechanism = Gaussian(sigma=0.1)
    with pytest.warns(InsecureSeedWarning):
        one = informed_success(mechanism, 0.1, dim=8, trials=300, seed=5)
    assert one == informed_success(mechanism, 0.1, dim=8, trials=300, seed=5)
