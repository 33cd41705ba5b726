"""Asking on planted problems: a release keyed by its text is always named, one answer for all never."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.accounting import Ledger, Secret
from sfumato.attacks.known_texts.answering import Questions, answering, releases_of, searches_of
from sfumato.attacks.known_texts.asker import Asker
from sfumato.attacks.known_texts.oracle import OracleAttack
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, EndpointError, InputError, ParameterError
from sfumato.mechanisms import Laplace
from sfumato.metrics.intervals import exact_share
from sfumato.protector import Protector
from sfumato.stores import Memory, ProtectedStore
from sfumato.trials.running import figures_of
from tests.sealing.collections import sealed
from tests.test_protector import PLACE, PLACES, sentences

FAKE = Fake(dim=64)
TEXTS = [text for text in dict.fromkeys(sentences(500)) if PLACE.find(text)][:60]
CLEAN = FAKE.embed(TEXTS)
IDS = [f"row {number}" for number in range(len(TEXTS))]
CHANCE = 1 / len(PLACES)


def protector(**changes):
    noise = Laplace.from_noise_ratio(changes.pop("ratio", 3.0), dim=64)
    return Protector(noise, FAKE, (PLACE,), **{"secret": Secret(bytes(range(32))), **changes})


def named(oracle, stored, **settings):
    """The share of terms that asking names, with its exact interval."""
    attack = OracleAttack(concept=PLACE, embedder=FAKE, oracle=oracle, **settings)
    fitted = attack.fit(TEXTS, CLEAN)
    found = figures_of(OracleAttack, fitted.recover(stored), TEXTS, concept=PLACE)[0]
    return exact_share("named", round(found.value * found.count), found.count), fitted


def test_noise_keyed_by_the_text_is_always_named_and_one_answer_for_all_is_a_guess():
    open_ = protector(neutral=0)
    figure, fitted = named(open_, open_.embed(TEXTS))
    assert figure.value == 1.0 and fitted.counts["times"] == 1
    assert fitted.control is not None and fitted.control.value == 1.0
    hidden = protector(neutral=3)
    stored = hidden.embed(TEXTS)
    guesses = [named(hidden, stored, seed=seed)[0] for seed in range(12)]
    assert np.mean([each.value for each in guesses]) == pytest.approx(CHANCE, abs=0.05)


def test_fresh_noise_is_asked_about_again_and_averaged_within_the_bound():
    """Noise that is drawn anew hides nothing from whoever may ask often enough: he is the informed one."""
    fresh = protector(neutral=0, secret=None, ratio=1.5)
    stored = fresh.embed(TEXTS)
    few, once = named(fresh, stored, questions=600)
    many, often = named(fresh, stored, questions=20_000)
    assert once.counts["times"] == 1 and 20 < often.counts["times"] <= 64
    assert once.counts["sent"] <= 600 and often.counts["sent"] <= 20_000
    assert many.value > few.value + 0.2 and many.low > CHANCE


def test_no_more_is_asked_than_was_said():
    sent = []
    open_ = protector(neutral=0)

    def ask(texts):
        sent.extend(texts)
        return open_.embed(texts)

    figure, fitted = named(ask, open_.embed(TEXTS), questions=100)
    assert len(sent) == fitted.counts["sent"] <= 100
    # Texts for which there were not questions enough are not attacked, and do not count.
    assert figure.count == int(fitted.asked.sum()) == 99 // len(PLACES) and figure.value == 1.0
    with pytest.raises(InputError, match="9 questions"):
        named(ask, open_.embed(TEXTS), questions=4)


def test_a_refusal_tells_whose_budget_was_spent(tmp_path):
    """With fresh noise and room for one release, the stored text is the one that is refused."""
    spent = protector(neutral=0, secret=None)
    ceiling = 1.5 * spent.guarantee.epsilon
    ledger = Ledger(tmp_path / "open.sqlite", secret=Secret(bytes(32)), ceiling=ceiling, metric="l2")
    spent = replace(spent, ledger=ledger)
    figure, fitted = named(spent, spent.embed(TEXTS))
    assert figure.value == 1.0 and fitted.counts["refused"] >= len(TEXTS)
    fitted.save(tmp_path / "kept")
    assert Asker.load(tmp_path / "kept").counts == fitted.counts
    hidden = protector(neutral=3, secret=None)
    ledger = Ledger(tmp_path / "hidden.sqlite", secret=Secret(bytes(32)), ceiling=ceiling, metric="l2")
    hidden = replace(hidden, ledger=ledger)
    stored = hidden.embed([text for text in TEXTS if "number 3" in text] or TEXTS[:5])
    with pytest.raises(InputError, match="Every question was refused"):
        attack = OracleAttack(concept=PLACE, oracle=hidden)
        rows = [text for text in TEXTS if "number 3" in text] or TEXTS[:5]
        attack.fit(rows, FAKE.embed(rows)).recover(stored)


@pytest.mark.parametrize("ids", [IDS, None], ids=["row known", "any row"])
def test_searches_name_what_was_stored_unless_neutral_texts_hide_it(ids):
    open_ = ProtectedStore(Memory(), protector(neutral=0, ratio=0.5), queries="clean")
    open_.add(IDS, TEXTS)
    figure, _ = named(open_, CLEAN, ids=ids)
    assert figure.value > 0.9
    hidden = ProtectedStore(Memory(), protector(neutral=3, ratio=0.5))
    hidden.add(IDS, TEXTS)
    shares = [named(hidden, CLEAN, ids=ids, questions=1000, seed=seed)[0].value for seed in range(4)]
    assert np.mean(shares) < CHANCE + 0.1


def test_a_sealed_collection_answers_whoever_may_search(tmp_path):
    with sealed(tmp_path) as store:
        store.add(IDS, TEXTS)
        figure, fitted = named(store, CLEAN, ids=IDS)
    assert figure.value > 0.9 and fitted.counts["refused"] == 0


def test_answers_repeat_and_are_kept(tmp_path):
    open_ = protector(neutral=0)
    stored = open_.embed(TEXTS)
    one, two = (named(open_, stored)[1] for _ in range(2))
    first = one.recover(stored)
    assert two.recover(stored).rows == first.rows
    one.save(tmp_path / "kept")
    again = Asker.load(tmp_path / "kept").recover(stored)
    assert again.rows == first.rows and np.array_equal(again.scores, first.scores)
    kept = artifacts.load(tmp_path / "kept", Asker.kind)
    for config, tensors in (
        ({**kept.config, "terms": ["one"]}, kept.tensors),
        ({**kept.config, "counts": None}, kept.tensors),
        (kept.config, {**kept.tensors, "refused": np.zeros((1, 2), bool)}),
    ):
        artifacts.save(tmp_path / "other", Asker.kind, config, tensors)
        with pytest.raises(ArtifactError):
            Asker.load(tmp_path / "other")
    with pytest.raises(InputError, match="in their order"):
        one.recover(stored[:-1])
    with pytest.raises(InputError, match="dimension"):
        one.recover(stored[:, :7])


def test_only_a_refusal_is_one_and_anything_else_stops():
    def broken(texts):
        raise EndpointError("down", 503)

    with pytest.raises(EndpointError):
        Questions(releases_of(broken), 10)(["a"])

    def one_of_them(texts):
        if "b" in texts:
            raise EndpointError("spent", 429)
        return [[1.0]] * len(texts)

    put = Questions(releases_of(one_of_them), 10)
    answers = put(["a", "b", "c", "d"])
    assert [each is None for each in answers] == [False, True, False, False]
    assert put.refused == {"b"} and put.sent == 4 + 2 + 1 + 1 + 2 and put(["e"]) == [None]


@pytest.mark.parametrize("given", [7, "ftp://somewhere", "https://user:word@host/v1"])
def test_who_cannot_be_asked_is_refused(given):
    with pytest.raises(ParameterError):
        answering(given)


def test_nobody_to_ask_is_said():
    with pytest.raises(ParameterError, match="neither"):
        answering(None)
    with pytest.raises(ParameterError, match="one a text"):
        OracleAttack(concept=PLACE, embedder=FAKE, ids=["a"]).fit(TEXTS, CLEAN)
    with pytest.raises(ParameterError, match="questions"):
        OracleAttack(questions=0)
    assert searches_of(lambda texts, k: [[] for _ in texts]).ask(["a"]) == [{}]
