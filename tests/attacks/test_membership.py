"""Membership on planted pairs: the likelihood ratio reaches the curve that two normal laws allow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from sfumato import artifacts
from sfumato.attacks.known_texts.membership import Membership, MembershipTest
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, InputError
from sfumato.evaluation import Defence
from sfumato.mechanisms import Gaussian, Identity, Laplace
from sfumato.metrics.roc import area, roc
from sfumato.metrics.similarity import unit_rows
from sfumato.randomness import generator
from sfumato.release import Release
from sfumato.trials.running import run_attack
from sfumato.trials.threat import ThreatModel
from tests.test_protector import sentences

PAIRS, DIM, NOISE = 1200, 40, 0.05


def planted(apart, seed=0):
    """Pairs of texts `apart` noises from each other, the pairs far from all others; one of each is stored."""
    rng = generator(seed)
    centres = rng.standard_normal((PAIRS, DIM))
    centres *= 0.9 / np.linalg.norm(centres, axis=1, keepdims=True)
    step = rng.standard_normal((PAIRS, DIM))
    step *= apart * NOISE / 2 / np.linalg.norm(step, axis=1, keepdims=True)
    texts = [f"text {row} {side}" for row in range(PAIRS) for side in "ab"]
    vectors = np.stack([centres + step, centres - step], axis=1).reshape(-1, DIM).astype(np.float32)
    stored = np.zeros((PAIRS, 2), bool)
    stored[np.arange(PAIRS), rng.integers(2, size=PAIRS)] = True
    return texts, vectors, stored.ravel()


@pytest.mark.parametrize("apart", [0.5, 1.5, 3.0])
def test_the_best_curve_is_reached(apart):
    """Of two normal laws d apart the area is P(d / sqrt 2), and at a rate r of false alarms P(d - z_r)."""
    texts, vectors, stored = planted(apart)
    noise = Gaussian(sigma=NOISE)
    rows = Release(noise, normalise=False).fresh(5)(vectors[stored])
    found = Membership().fit(texts, vectors, noise).recover(rows)
    curve = roc(found.scores, stored)
    assert curve.auc.low <= norm.cdf(apart / np.sqrt(2)) <= curve.auc.high
    assert [each.metric for each in curve.found] == [
        "found at 1 % false alarms",
        "found at 0.1 % false alarms",
    ]
    for figure, rate in zip(curve.found, (0.01, 0.001), strict=True):
        # The threshold is drawn as well: of 1,200 rows that lets the rate vary by its own error.
        best = [norm.cdf(apart - norm.isf(rate + z * np.sqrt(rate / PAIRS))) for z in (-1.0, 1.96)]
        assert figure.low <= best[1] and figure.high >= best[0]


def test_the_nearest_row_does_as_well_where_noise_is_even():
    texts, vectors, stored = planted(3.0)
    rows = Release(Gaussian(sigma=NOISE), normalise=False).fresh(5)(vectors[stored])
    blind = roc(Membership().fit(texts, vectors).recover(rows).scores, stored).auc
    assert blind.low - 0.01 <= norm.cdf(3.0 / np.sqrt(2)) <= blind.high + 0.01


def test_without_noise_a_row_of_its_own_says_more_than_one_that_is_like_no_other():
    """Stored texts have near-duplicates that are not; other texts are like rows that nobody asks about."""
    texts, vectors, stored = planted(0.02)
    asked, held, strangers = vectors[:PAIRS], stored[:PAIRS], vectors[PAIRS::2]
    alike = strangers + 0.3 * unit_rows(generator(9).standard_normal(strangers.shape)).astype(np.float32)
    rows, truth = np.r_[asked[held], strangers], np.r_[held, np.zeros(len(alike), bool)]
    made = Membership().fit(texts[: len(truth)], np.r_[asked, alike], Identity())
    assert roc(made.recover(rows).scores, truth).auc.value == 1.0 == made.control.value
    blind = Membership().fit(texts[: len(truth)], np.r_[asked, alike])
    assert roc(blind.recover(rows).scores, truth).auc.value < 0.6, "for who knows of no noise, and of none"


def test_nothing_is_told_where_the_release_has_nothing_of_the_text():
    texts, vectors, stored = planted(3.0)
    drowned = Gaussian(sigma=50.0)
    rows = Release(drowned, normalise=False).fresh(5)(vectors[stored])
    auc = roc(Membership().fit(texts, vectors, drowned).recover(rows).scores, stored).auc
    assert auc.low <= 0.5 <= auc.high
    elsewhere = roc(Membership().fit(texts, vectors).recover(vectors[stored]).scores, ~stored).auc
    assert elsewhere.value < 0.01


def test_half_of_the_texts_are_stored_and_clean_ones_are_the_control():
    fake = Fake(dim=64)
    texts = list(dict.fromkeys(f"{text} {row}" for row, text in enumerate(sentences(300))))
    defence = Defence(name="laplace", mechanism=Laplace.from_noise_ratio(1.0, dim=64), embedder=fake)
    threat = ThreatModel(texts=texts, defence=defence, embedder=fake)
    one, two = (run_attack(Membership(seed=3), threat) for _ in range(2))
    assert one.figures == two.figures and one.recovered.rows == two.recovered.rows
    assert len(one.recovered) == len(texts) == one.figures[0].count
    assert one.control is not None and one.control.value > 0.99 and one.figures[0].value > 0.8
    assert set(one.recovered.rows) == {"in", "out"} and one.figures[0].metric == "AUC"
    elsewhere = ThreatModel(texts=texts, released=fake.embed(texts), embedder=fake)
    assert run_attack(Membership(), elsewhere).figures[0].value > 0.99


def test_it_is_kept(tmp_path):
    texts, vectors, stored = planted(1.5)
    noise = Gaussian(sigma=NOISE)
    made = Membership(seed=2).fit(texts[:60], vectors[:60], noise)
    made.save(tmp_path / "kept")
    again = MembershipTest.load(tmp_path / "kept")
    assert np.array_equal(again.scores(vectors[:30]), made.scores(vectors[:30]))
    assert again.control == made.control and made.control.metric == "AUC"
    kept = artifacts.load(tmp_path / "kept", MembershipTest.kind)
    artifacts.save(tmp_path / "other", MembershipTest.kind, {"seed": 0}, kept.tensors)
    with pytest.raises(ArtifactError):
        MembershipTest.load(tmp_path / "other")
    with pytest.raises(InputError, match="dimension"):
        made.recover(vectors[:, :7])
    with pytest.raises(InputError, match="two candidate"):
        Membership().fit(texts[:1], vectors[:1])
    assert (made.scores(np.zeros((0, DIM), np.float32)) == 0).all()


def test_curves_say_only_what_they_can():
    scores, truth = np.arange(40.0), np.arange(40) >= 20
    perfect = roc(scores, truth)
    assert perfect.auc.value == 1.0 and perfect.auc.low < 0.9 and perfect.found == ()
    assert roc(-scores, truth).auc.value == 0.0 and roc(np.zeros(40), truth).auc.value == 0.5
    rng = generator(0)
    truth = rng.random(3000) < 0.5
    scores = rng.standard_normal(3000) + truth
    found = roc(scores, truth)
    assert (
        area(scores, truth) == found.auc.value and found.auc.low < norm.cdf(1 / np.sqrt(2)) < found.auc.high
    )
    assert 0 < found.found[1].value < found.found[0].value < 0.3
    # Equal scores are never above themselves.
    assert roc(np.zeros(400), np.arange(400) < 200, rates=(0.01,)).found[0].value == 0.0
    for wrong in (np.ones(40, bool), np.zeros(40, bool), np.ones(40), truth):
        with pytest.raises(InputError):
            roc(np.arange(40.0), wrong)
    with pytest.raises(InputError, match="numbers"):
        roc(np.array([0.0, np.nan]), np.array([True, False]))
