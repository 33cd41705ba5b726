"""What a protector is learned from: each text once, and no more of them than it takes."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from sfumato import learning, sampled
from sfumato.concepts.concept import Concept
from sfumato.concepts.texts.pairs import build_pairs
from sfumato.embedders import Fake
from sfumato.learning import LearnSettings, learn
from sfumato.sensitivity import Background, EllipsoidLearner
from sfumato.sensitivity.ellipsoid import differences

PLACE = Concept.from_terms("place", ["Ashford", "Brinlow", "Calder", "Dunmere"])
DISH = Concept.from_terms("dish", ["goulash", "paella", "risotto"])
VERBS = ("saw", "left", "liked", "missed", "drew", "sold", "found")
DIM = 48


def texts(count):
    places, dishes = [*PLACE.terms, "the sea"], [*DISH.terms, "nothing"]
    return [
        f"visit {n}: we {VERBS[n % 7]} {places[n % 5]} and had {dishes[n % 4]} at table {n % 23}"
        for n in range(count)
    ]


class Embedder:
    """Counts how often each text is embedded."""

    def __init__(self):
        self.embedder, self.counts = Fake(dim=DIM), Counter()
        self.name, self.model_id, self.dim = self.embedder.name, self.embedder.model_id, DIM

    def embed(self, texts, *, on_batch=None):
        self.counts.update(texts)
        return self.embedder.embed(texts, on_batch=on_batch)


def as_before(given, concepts):
    """The ellipsoid of all pairs, embedded one concept after the other."""
    encoder = Fake(dim=DIM)
    pairs = [build_pairs(given, c, kinds=("removal", "substitution"), limit=4000, seed=0) for c in concepts]
    moves = [differences(encoder.embed(each.plus), encoder.embed(each.substitutes)) for each in pairs]
    clean = set(pairs[0].clean).intersection(*(each.clean for each in pairs))
    bare = {row: text for each in reversed(pairs) for row, text in zip(each.rows, each.minus, strict=True)}
    rows = dict.fromkeys(row for each in pairs for row in each.rows)
    ordinary = [given[row] for row in sorted(clean)] + [bare[row] for row in rows]
    return EllipsoidLearner(strength=5.0).fit(moves, Background.fit(encoder.embed(ordinary[:4000])))


def test_few_texts_are_all_used_and_give_the_same_bits_as_ever():
    given = texts(300)
    encoder, totals, done = Embedder(), [], []
    made = learn(
        given,
        [PLACE, DISH],
        embedder=encoder,
        on_step=lambda label, count: done.append(count),
        on_total=totals.append,
    )
    assert max(encoder.counts.values()) == 1  # once for both concepts and the background
    assert sum(done) == totals[-1] == len(encoder.counts)
    before = as_before(given, [PLACE, DISH])
    assert np.array_equal(made.mechanism.shape.covariance(), before.shape.covariance())
    assert np.array_equal(made.background.covariance, before.background.covariance)
    assert made.learned.agreement is None and "learned_from" not in made.learned.concepts["place"]


def test_many_texts_are_drawn_until_it_is_stable(monkeypatch):
    monkeypatch.setattr(sampled, "FIRST_ROUND", 60)
    given = texts(3000)
    encoder, totals = Embedder(), []
    made = learn(given, [PLACE, DISH], embedder=encoder, on_total=totals.append)
    used = {name: figures["learned_from"] for name, figures in made.learned.concepts.items()}
    assert made.learned.agreement >= 0.97 and all(60 <= rows < 2200 for rows in used.values())
    assert totals == sorted(totals) and totals[-1] == len(encoder.counts) == sum(encoder.counts.values())
    assert len(encoder.counts) < 7000  # the background is 3,000 of them; all pairs would be 7,000 more
    whole = as_before(given, [PLACE, DISH])
    found = made.mechanism.shape.covariance() / np.trace(made.mechanism.shape.covariance())
    full = whole.shape.covariance() / np.trace(whole.shape.covariance())
    assert np.sum(found * full) / np.linalg.norm(found) / np.linalg.norm(full) > 0.9


def test_rounds_grow_up_to_all_there_is(monkeypatch):
    monkeypatch.setattr(sampled, "FIRST_ROUND", 30)
    monkeypatch.setattr(sampled, "STABLE", 2.0)  # never
    monkeypatch.setattr(sampled, "wanted", lambda rows, agreed: 2 * rows)
    made = learn(texts(400), PLACE, embedder=Fake(dim=DIM))
    monkeypatch.undo()
    once = learn(texts(400), PLACE, embedder=Fake(dim=DIM))
    assert np.array_equal(made.mechanism.shape.covariance(), once.mechanism.shape.covariance())
    assert made.learned.agreement is not None and "learned_from" not in made.learned.concepts["place"]


def test_masks_are_learned_from_all_of_them_once(monkeypatch):
    encoder, totals = Embedder(), []

    class Embedded(Exception):
        """All that is embedded was; training takes its time."""

    def stop(pairs, *_):
        assert [len(plus) for plus, _ in pairs] == [96, 90]
        raise Embedded

    monkeypatch.setattr(learning, "_learn_mask", stop)
    settings = LearnSettings(shape="mask")
    with pytest.raises(Embedded):
        learn(texts(120), [PLACE, DISH], embedder=encoder, settings=settings, on_total=totals.append)
    assert set(encoder.counts.values()) == {1} and totals == [len(encoder.counts)]
