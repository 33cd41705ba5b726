"""A comparison: a planted concept is read from clean vectors, not once removed, and less from noise."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.evaluation import Defence
from sfumato.mechanisms import Laplace
from sfumato.randomness import generator
from sfumato.trials.reading import AttackMethod
from sfumato.trials.utility import ScoredPairs, Searches
from sfumato_research.studies.base import Setting
from sfumato_research.studies.comparison import Comparison
from sfumato_research.studies.corpora import Corpus
from sfumato_research.studies.measured import FULL, QUICK, sizes

PLACES = ("Ashford", "Brinlow", "Calder", "Dunmere", "Elstow", "Fenwick")
SMALL = replace(QUICK, rows=160, pool=220, epochs=15, copies=2, seeds=1, draws=2, searches=60)
CONCEPT = Concept.from_terms("place", PLACES)


def sentences(count: int = 400) -> list[str]:
    rng = generator(3)
    who = ("the mayor", "a doctor", "two students", "our neighbour", "an old sailor", "the whole team")
    did = ("opened a school", "lost the match", "sold a bicycle", "planted trees", "wrote a letter")
    made = []
    for row in range(count):
        where = f" in {PLACES[int(rng.integers(len(PLACES)))]}" if row % 2 else ""
        made.append(f"{who[int(rng.integers(6))]} {did[int(rng.integers(5))]}{where} on day {row}")
    return made


@pytest.fixture(scope="module")
def on() -> Comparison:
    texts = sentences()
    pairs = ScoredPairs(texts[:50] * 2, texts[:50] + texts[50:100], [5.0] * 50 + [0.0] * 50)
    return Comparison(Corpus("places", texts, CONCEPT, pairs), Fake(dim=48), SMALL)


def test_the_control_stands_above_floor_and_prior(on):
    assert on.control > 0.7
    assert on.floor < 0.45
    assert on.split.prior().rate < 0.45
    clean = on.clean()
    assert clean.leakage.excess == pytest.approx(1.0)
    assert clean.utility is not None and clean.utility.kept == pytest.approx(1.0)


def test_no_text_is_learned_from_and_attacked(on):
    attacked = {on.split.texts[row] for row in on.split.attacked}
    assert not attacked & set(on.sample.texts)
    assert len(on.sample.texts) + len(attacked) == len(on.split.texts)


def test_noise_lowers_leakage_confidence_and_utility(on):
    def at(ratio: float):
        return on.measure(Defence(name="laplace", mechanism=Laplace.from_noise_ratio(ratio, dim=48)))

    little, much = at(0.1), at(12.0)
    assert much.leakage.released < little.leakage.released - 0.2
    assert much.confidence.value < little.confidence.value
    assert much.kept().value is not None and little.kept().value is not None
    assert little.noise_ratio == pytest.approx(0.1)
    assert little.epsilon == pytest.approx(480)
    low, high = little.leaked().low, little.leaked().high
    assert low <= little.leakage.released <= high


def test_ours_is_learned_from_the_sample_and_hides_the_concept(on):
    found = on.measure(on.ours())
    assert found.label == "ours"
    assert found.excess().value < 0.5


def test_the_noise_that_keeps_a_share_of_utility_is_found():
    texts = sentences(200)
    near = ScoredPairs(texts[:80] + texts[:80], texts[:80] + texts[80:160], [5.0] * 80 + [0.0] * 80)
    on = Comparison(Corpus("places", texts, CONCEPT, near), Fake(dim=48), SMALL)
    ratio = on.ratio_that_keeps(0.8)
    assert on.kept_by_laplace(ratio, draws=6) == pytest.approx(0.8, abs=0.1)


def test_a_slow_attacker_runs_once_on_fewer_texts_and_learns_from_all_others(on):
    seen: list[int] = []

    def fit(texts, vectors, victim, embedder, seed):
        seen.append(len(texts))
        return lambda released: ["nothing at all"] * len(released)

    few = on.narrowed(10).widened()
    found = few.measure(Defence(name="none"), AttackMethod("silent", "text", fit))
    assert found.leakage.rows == 10
    assert found.leakage.released == 0.0
    assert found.confidence.value is None
    assert seen == [len(on.sample.texts)] * 3  # control, floor, release


def test_searches_find_their_answers():
    texts = sentences(200)
    searches = Searches([f"on day {row}" for row in range(0, 40, 2)], [[row] for row in range(0, 40, 2)])
    on = Comparison(Corpus("places", texts, CONCEPT, searches=searches), Fake(dim=48), SMALL)
    utility = on.clean().utility
    assert utility is not None and utility.metric == "search nDCG@10"


def test_too_few_texts_are_refused():
    with pytest.raises(InputError, match="place"):
        Comparison(Corpus("places", sentences(30), CONCEPT), Fake(dim=16), SMALL)


def test_a_full_run_may_be_changed_and_a_quick_one_is_what_it_is(tmp_path):
    assert sizes(Setting(tmp_path), rows=5) == replace(FULL, rows=5)
    assert sizes(Setting(tmp_path, quick=True), rows=5) == QUICK
