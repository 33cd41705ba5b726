"""The token channel: what it promises, and that it is the channel it says it is."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ive
from scipy.stats import chi2

from sfumato.errors import ParameterError
from sfumato.mechanisms import Laplace, Mahalanobis, Polar
from sfumato.randomness import InsecureSeedWarning, RowKeys, Source
from sfumato.text import Channel, WordVectors
from sfumato.text.vocabulary import UNKNOWN
from sfumato.verification.cases import covariance
from sfumato.verification.report import ALPHA
from sfumato.verification.tokens import count_words, distances, small_vocabulary, worst_excess
from tests.text.small import vocabulary


def circle(words=24, dim=2):
    vectors = small_vocabulary(dim, words)
    return WordVectors([f"w{number}" for number in range(words)], vectors)


@pytest.mark.parametrize("mechanism", ["polar", "laplace", "purkayastha", "polar+radius"])
@pytest.mark.parametrize("dim", [2, 3])
def test_no_word_says_more_than_epsilon_times_its_distance(mechanism, dim):
    """False alarms: one in 1e9, over all pairs and outputs together."""
    made = circle(dim=dim)
    channel = Channel(made, mechanism)
    epsilon = 2.0
    counts = count_words(lambda words: channel.sample(words, epsilon), len(made), 4000)
    claims = epsilon * distances(made.vectors.astype(np.float64), channel.mechanism(1.0).guarantee.metric)
    if mechanism == "polar+radius":
        claims = claims + epsilon * np.abs(made.radii[:, None] - made.radii[None])
    proved, claimed = worst_excess(counts, claims + 1e-6)
    assert proved <= claimed


def test_the_check_catches_a_channel_with_twice_the_epsilon():
    made = circle()
    channel = Channel(made, lambda epsilon: Polar(epsilon=2 * epsilon))
    counts = count_words(lambda words: channel.sample(words, 2.0), len(made), 20_000)
    proved, claimed = worst_excess(counts, 2.0 * distances(made.vectors.astype(np.float64), "chordal"))
    assert proved > claimed


def test_the_channel_on_a_circle_is_the_integral_of_the_von_mises_density():
    """kappa is epsilon, not epsilon/pi: exact cell masses, chi-square at 1e-9."""
    made, epsilon, draws = circle(12), 3.0, 40_000
    angles = np.unwrap(np.arctan2(made.vectors[:, 1], made.vectors[:, 0]).astype(np.float64))
    edges = (angles + np.roll(angles, -1) + np.where(np.arange(12) == 11, 2 * math.pi, 0)) / 2
    fine = np.linspace(0, 2 * math.pi, 200_001)[:-1]

    def masses(kappa):
        density = np.exp(kappa * (np.cos(fine - angles[0]) - 1)) / (2 * math.pi * ive(0, kappa))
        cells = np.searchsorted(np.sort(edges % (2 * math.pi)), fine) % 12
        order = np.argsort(edges % (2 * math.pi))
        owners = (order + 1)[np.arange(12) - 1] % 12
        mass = np.bincount(cells, density, minlength=12) * (fine[1] - fine[0])
        out = np.zeros(12)
        out[owners] = mass
        return out / out.sum()

    found = np.bincount(Channel(made).sample(np.zeros(draws, np.int64), epsilon), minlength=12)

    def p_value(kappa):
        wanted = masses(kappa) * draws
        return chi2.sf(((found - wanted) ** 2 / wanted).sum(), 11)

    assert p_value(epsilon) > ALPHA
    assert p_value(epsilon / math.pi) < ALPHA and p_value(1.1 * epsilon) < ALPHA


def test_every_unknown_word_has_the_same_law():
    channel = Channel(circle(8))
    stand_in = channel.sample(np.full(20_000, UNKNOWN), 2.0)
    again = channel.sample(np.full(20_000, UNKNOWN), 2.0)
    first, second = np.bincount(stand_in, minlength=8), np.bincount(again, minlength=8)
    assert chi2.sf(((first - second) ** 2 / (first + second)).sum(), 7) > ALPHA


def test_budgets_are_mixed_word_by_word():
    channel = Channel(vocabulary())
    numbers = np.tile([0, 1], 2000)
    epsilons = np.tile([1000.0, 0.01], 2000)
    drawn = channel.sample(numbers, epsilons)
    assert (drawn[::2] == 0).all()
    assert (drawn[1::2] == 1).mean() < 0.2
    kept = channel.kept([0, 1, 0], [1000.0, 0.01, 1000.0], draws=200)
    assert kept[0] == kept[2] == 1.0 and kept[1] < 0.2


def test_a_seed_repeats_and_secure_noise_does_not(monkeypatch):
    channel = Channel(vocabulary())
    numbers = np.arange(30)
    with pytest.warns(InsecureSeedWarning):
        first, second = (channel.sample(numbers, 5.0, Source.seeded(3)) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(channel.sample(numbers, 5.0), channel.sample(numbers, 5.0))
    monkeypatch.setattr("sfumato.text.channel._CHUNK", 7)
    assert channel.sample(numbers, 1000.0).tolist() == list(range(30))


@pytest.mark.parametrize(
    ("mechanism", "match"),
    [
        ("identity", "needs more than an epsilon"),
        ("gaussian", "not set by an epsilon"),
        ("suppression", "needs more|no promise"),
        ("mahalanobis", "needs more than an epsilon"),
        ("projection", "must keep 16 dimensions"),
        ("polarr", "Did you mean `polar`"),
    ],
)
def test_mechanisms_that_do_not_fit_are_refused(mechanism, match):
    with pytest.raises(ParameterError, match=match):
        Channel(vocabulary(), mechanism)


def test_a_mechanism_of_one_s_own_is_taken():
    shape = covariance(16)
    channel = Channel(vocabulary(), lambda epsilon: Mahalanobis(epsilon=epsilon, shape=shape))
    assert channel.name == "mahalanobis" and channel.sample([0], 1e3).tolist() == [0]
    assert Channel(vocabulary(), lambda epsilon: Laplace(epsilon=epsilon)).sample([2], 1e3).tolist() == [2]


def test_bad_words_and_keys_are_refused():
    channel = Channel(vocabulary())
    for number in (-2, len(channel.vocabulary)):
        with pytest.raises(ParameterError, match="numbers from"):
            channel.sample([number], 1.0)
    with pytest.raises(ParameterError, match="no keys"):
        channel.sample([0], 1.0, RowKeys(np.zeros((1, 32), np.uint8)))
    assert channel.sample([], 1.0).shape == (0,)


def test_draws_show_the_vectors_behind_the_words(monkeypatch):
    monkeypatch.setattr("sfumato.text.channel._CHUNK", 4)
    parts = [(rows.copy(), words) for rows, words in Channel(vocabulary()).draw([0, UNKNOWN, 2] * 3, 5.0)]
    assert [len(words) for _, words in parts] == [4, 4, 1]
    for rows, words in parts:
        assert np.array_equal((rows @ vocabulary().vectors.T).argmax(axis=1), words)
