"""The attack on private text works where there is something to find, and falls where there is not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.text.small import Pattern, vocabulary

from sfumato.errors import InputError, ParameterError
from sfumato.randomness import generator
from sfumato.text import Budgets, Channel, Rewriter, WordVectors
from sfumato.text.vocabulary import UNKNOWN
from sfumato_research.text.attack import (
    TokenAttack,
    _summary,
    measure_leakage,
    sensitive_words,
    unigram_prior,
)
from sfumato_research.text.context import ContextModel, numbered

CITIES = ["paris", "rome", "oslo", "lima"]
HINTS = ["seine", "tiber", "fjord", "andes"]
FILLER = "the we saw it near and then went home by train".split()
PLACES = WordVectors(CITIES + HINTS + FILLER, generator(3).standard_normal((19, 12)))


def texts(count, seed, linked=0.9):
    """Sentences in which a river or mountain gives its city away."""
    rng = generator(seed)
    made = []
    for _ in range(count):
        city = int(rng.integers(4))
        hint = city if rng.random() < linked else int(rng.integers(4))
        made.append(f"then we saw {CITIES[city]} near the {HINTS[hint]} and went home")
    return made


def leakage(epsilon, count=200, context=True):
    channel = Channel(PLACES)
    found = texts(count, 1)
    machine = Rewriter(PLACES, Budgets(epsilon, epsilon, 400, 400), sensitive=[Pattern("|".join(CITIES))])
    sources, written, places = sensitive_words(found, machine.rewrite(found), machine.channel)
    candidates = np.arange(4)
    public = texts(500, 2)
    model = ContextModel.fit(PLACES, public, weight=1.0) if context else None
    prior = unigram_prior([numbered(PLACES, text) for text in public], candidates)
    attack = TokenAttack(channel, candidates, prior, epsilon, draws=100, context=model)
    return measure_leakage(attack, sources, written, places, resamples=200)


def test_the_bayes_guess_is_as_good_as_the_channel_allows():
    """Recovery is held against the sum of max P(x) P(o | x), five standard errors either way."""
    channel, rng = Channel(vocabulary()), generator(0)
    size, count = len(vocabulary()), 2000
    prior = np.linspace(1, 4, size) / np.linspace(1, 4, size).sum()
    rates = []
    for epsilon in (0.5, 5.0, 50.0):
        attack = TokenAttack(channel, np.arange(size), prior, epsilon, draws=100)
        words = rng.choice(size, count, p=prior)
        rate = (attack.recover(channel.sample(words, epsilon)) == words).mean()
        assert abs(rate - attack.vulnerability()) < 5 * np.sqrt(0.25 / count) + 0.03
        rates.append(rate)
    assert rates[0] < 0.15 < rates[1] < rates[2] and rates[2] > 0.9


@pytest.mark.parametrize("mechanism", ["polar", "laplace", "purkayastha"])
def test_the_sampled_channel_is_the_channel_that_is_counted(mechanism):
    """Estimates of P(o | x) against counts; five standard errors of both."""
    channel, epsilon = Channel(vocabulary(dim=3), mechanism), 4.0
    size = len(vocabulary())
    attack = TokenAttack(channel, np.arange(size), np.ones(size), epsilon, draws=4000)
    found = np.exp([attack.log_likelihood(word) for word in range(size)])
    counts = np.bincount(channel.sample(np.zeros(20_000, np.int64), epsilon), minlength=size) / 20_000
    assert found.sum(axis=0) == pytest.approx(1.0, abs=1e-4)
    assert np.abs(found[:, 0] - counts).max() < 0.06


def test_the_guess_beats_reading_the_word_where_priors_are_skewed():
    channel, rng = Channel(vocabulary(dim=4)), generator(1)
    size = len(vocabulary())
    prior = np.full(size, 1e-3)
    prior[0] = 1.0
    prior /= prior.sum()
    words = rng.choice(size, 1000, p=prior)
    drawn = channel.sample(words, 2.0)
    attack = TokenAttack(channel, np.arange(size), prior, 2.0)
    assert (attack.recover(drawn) == words).mean() > (drawn == words).mean() + 0.2


def test_leakage_stands_between_floor_and_control():
    weak, strong = leakage(0.2), leakage(60.0)
    assert weak.control == strong.control == 1.0
    assert weak.released < 0.5 < strong.released and strong.released == pytest.approx(1.0, abs=0.05)
    # The river beside the city gives it away whatever is done to the city: that is the floor.
    assert weak.floor > 0.7 and weak.prior < 0.5
    assert abs(weak.released_with_context - weak.floor) < 0.15
    assert weak.excess < 0.3 < 0.7 < strong.excess
    assert weak.interval[0] <= weak.excess <= weak.interval[1]
    assert all(low <= getattr(weak, name) <= high for name, (low, high) in weak.intervals.items())
    assert set(weak.to_dict()) >= {"control", "floor", "prior", "released", "excess", "attack", "interval"}


def test_without_a_context_model_the_floor_is_the_prior():
    found = leakage(0.2, context=False)
    assert found.floor == found.prior and found.released == found.released_with_context


def test_context_says_nothing_about_words_it_never_saw():
    model = ContextModel.fit(PLACES, texts(100, 5), window=3)
    nothing = model.scores(np.array([UNKNOWN]), np.arange(4))
    assert nothing.tolist() == [0, 0, 0, 0]
    near = model.scores(numbered(PLACES, "seine"), np.arange(4))
    assert near.argmax() == 0
    words = numbered(PLACES, "then we saw paris near the seine")
    assert model.around(words, 0).tolist() == words[1:4].tolist()
    assert len(model.around(words, 3)) == 6
    with pytest.raises(InputError, match="known words"):
        ContextModel.fit(PLACES, ["Qwertz"])


def test_too_many_candidates_are_refused(monkeypatch):
    monkeypatch.setattr("sfumato_research.text.attack._LARGEST", 30)
    with pytest.raises(ParameterError, match="1 candidates at most"):
        TokenAttack(Channel(PLACES), [0, 1], np.ones(2), 1.0)


def test_bad_candidates_and_empty_texts_are_refused():
    channel = Channel(PLACES)
    for prior in ([1.0], [1.0, 0.0]):
        with pytest.raises(InputError, match="prior above 0"):
            TokenAttack(channel, [0, 1], np.array(prior), 1.0, draws=2)
    attack = TokenAttack(channel, [0, 1], np.ones(2), 1.0, draws=2)
    with pytest.raises(InputError, match="something sensitive"):
        measure_leakage(attack, [[0]], [[0]], [[]])


def test_excess_is_counted_from_the_better_blind_guess():
    """A context that misleads does not make an attack look better than naming the most frequent word."""
    right = np.arange(100) < 30
    columns = [np.ones(100), np.zeros(100), right, right, np.zeros(100), np.zeros(100)]
    found = _summary(np.stack([np.arange(100), *columns], axis=1), 200, 0)
    assert found.floor == 0.0 and found.prior == found.released == 0.3 and found.excess == 0.0
