"""Erasers of protectors: learned by default beside neutral texts, saved, part of the identity, and honest."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake
from sfumato.errors import ArtifactError, ParameterError
from sfumato.learning import LearnSettings, learn
from sfumato.metrics.probe import probe_auc
from sfumato.protector import Protector
from sfumato.randomness import InsecureSeedWarning
from sfumato.saving import KIND, load_protector, save_protector

pytestmark = pytest.mark.filterwarnings(f"ignore::{InsecureSeedWarning.__module__}.InsecureSeedWarning")
PLACES = ("Ashford", "Brinlow", "Calder", "Dunmere", "Eastvale", "Fenwick")
PLACE = Concept.from_terms("place", PLACES)
THINGS = ("bread", "rope", "paint", "glass", "seed", "wool", "iron", "salt")
PEOPLE = ("the baker", "my aunt", "a clerk", "one guard", "his pupil")
TEXTS = [
    f"{who} sold {what} {where} on day {day}"
    for day in range(4)
    for who in PEOPLE
    for what in THINGS
    for where in (f"in {PLACES[(day + len(who) + len(what)) % 6]}", "at home")
]
HOLDS = np.array(["home" not in text for text in TEXTS])


ALL = {"hide_presence": True, "hide_context": 32, "hide_missed": 32}


def made(**settings):
    chosen = LearnSettings(source="synthetic", **(ALL | settings))
    return learn(TEXTS, PLACE, embedder=Fake(dim=64), settings=chosen)


def named(**settings):
    """A kind of names, of which the lists know some and miss others."""
    known, unknown = ("Paris", "Rome", "Oslo", "Lima"), ("Zagorje", "Tkalec", "Wrzeszno", "Ouarzazat")
    texts = [
        f"{who} sold {what} in {place}" for who in PEOPLE for what in THINGS for place in (*known, *unknown)
    ]
    return learn(
        texts,
        Concept.named("city"),
        embedder=Fake(dim=64),
        settings=LearnSettings(source="synthetic", **(ALL | settings)),
    )


@pytest.fixture(scope="module")
def learned():
    return made()


@pytest.fixture(scope="module")
def plain():
    return made(hide_presence=False, hide_context=0)


def presence(protector):
    released = protector.embed(TEXTS, rng=3)
    learn_from = np.arange(len(TEXTS)) // 2 % 2 == 0
    return probe_auc(released[learn_from], HOLDS[learn_from], released[~learn_from], HOLDS[~learn_from])


def test_presence_shows_without_it_and_far_less_with_it(learned, plain):
    assert plain.eraser is None and learned.eraser.presence == 1
    assert presence(plain) > 0.9 and presence(learned) < presence(plain) - 0.2


def test_every_release_is_treated_alike(learned):
    released = learned.embed(TEXTS, rng=3)
    assert np.abs(released @ learned.eraser.read).max() < 1e-5
    elsewhere = learned.protect(learned.prepare(TEXTS).vectors, rng=3)
    assert np.array_equal(released, elsewhere)


def test_it_stays_off_where_it_was_not_asked_for_or_cannot_help():
    assert made(neutral=0).eraser is None
    assert made(only_matching=True).eraser is None
    only = made(hide_presence=False, hide_context=4)
    assert (only.eraser.directions, only.eraser.presence) == (4, 0)
    for wrong in (
        {"hide_context": -1},
        {"hide_presence": "yes"},
        {"hide_context": 10**6},
        {"hide_missed": -1},
    ):
        with pytest.raises(ParameterError):
            LearnSettings(**wrong)


def test_without_texts_that_lack_the_concept_only_the_context_is_taken_out():
    texts = [text for text, holds in zip(TEXTS, HOLDS, strict=True) if holds]
    chosen = LearnSettings(source="synthetic", **ALL)
    found = learn(texts, PLACE, embedder=Fake(dim=64), settings=chosen)
    assert found.eraser.presence == 0 and found.eraser.directions > 0


def test_what_tells_missed_names_is_taken_out_for_kinds_of_names_alone(learned):
    found = named()
    assert found.eraser.missed > 0 and found.eraser.context > 0 and learned.eraser.missed == 0
    texts = [f"my aunt sold wool in {place}" for place in ("Zagorje", "Tkalec", "Wrzeszno", "Ouarzazat")]
    assert not found.prepare(texts).matched.any()

    def apart(protector):
        released = protector.as_release().expected(protector.prepare(texts).vectors)
        return 1 - (released @ released.T)[np.triu_indices(len(texts), 1)].mean()

    assert apart(found) < 0.8 * apart(replace(found, eraser=None))
    assert named(hide_missed=0).eraser.missed == 0
    assert "for names that may be missed" in " ".join(found.guarantee.notes)


def test_saved_and_loaded_it_gives_the_same_bytes(learned, plain, tmp_path):
    for name, protector in (("with", learned), ("without", plain)):
        save_protector(protector, tmp_path / name)
        again = load_protector(tmp_path / name, embedder=Fake(dim=64))
        assert np.array_equal(again.embed(TEXTS[:9], rng=1), protector.embed(TEXTS[:9], rng=1))
        assert again.settings_digest() == protector.settings_digest()
        assert again.guarantee == protector.guarantee
    # One without an eraser is written as before there were any.
    assert "eraser" not in json.loads((tmp_path / "without" / "config.json").read_text())


def test_it_is_part_of_what_decides_a_release(learned):
    bare = replace(learned, eraser=None)
    assert bare.settings_digest() != learned.settings_digest()
    assert bare.as_release() is not learned.as_release()
    noisy = Protector(learned.mechanism, background=learned.background)
    assert np.array_equal(
        bare.protect(bare.prepare(TEXTS[:3]).vectors, rng=1),
        noisy.protect(bare.prepare(TEXTS[:3]).vectors, rng=1),
    )


def test_the_promise_names_it_and_where_it_was_learned(learned):
    said = " ".join(learned.guarantee.notes)
    assert "directions out of every release (1 for the presence of" in said and "that is proved" in said
    private = replace(learned, eraser=replace(learned.eraser, source="private"))
    assert private.guarantee.proof == "conditional"
    assert "the public eraser was learned from private text" in " ".join(private.guarantee.notes)
    assert learned.guarantee.epsilon == private.guarantee.epsilon


@pytest.mark.parametrize(
    "spoil",
    [
        lambda config, tensors: tensors.update({"eraser.taken": tensors["eraser.taken"] * 2}),
        lambda config, tensors: tensors.update({"eraser.read": tensors["eraser.read"][:9]}),
        lambda config, tensors: tensors.pop("eraser.read"),
        lambda config, tensors: config.pop("eraser"),
        lambda config, tensors: config.update(eraser=[1]),
        lambda config, tensors: config.update(eraser={"presence": 10**9, "source": "public"}),
        lambda config, tensors: config.update(eraser={"presence": 1, "missed": 99, "source": "public"}),
        lambda config, tensors: config.update(eraser={"presence": 1}),
        lambda config, tensors: [
            tensors.update({f"eraser.{name}": np.eye(32)[:, :2] for name in ("read", "taken")})
        ],
    ],
)
def test_a_spoiled_eraser_is_refused(learned, tmp_path, spoil):
    save_protector(learned, tmp_path / "good")
    kept = artifacts.load(tmp_path / "good", KIND)
    config, tensors = dict(kept.config), dict(kept.tensors)
    spoil(config, tensors)
    artifacts.save(tmp_path / "bad", KIND, config, tensors)
    with pytest.raises((ArtifactError, ParameterError)):
        load_protector(tmp_path / "bad", embedder=Fake(dim=64))
