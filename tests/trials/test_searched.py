"""Control, floor, release and rivals are attacked alike: what is trained, what is said, what is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from types import SimpleNamespace

import pytest

from sfumato.attacks.terms import training_set
from sfumato.attacks.writers.search import Search
from sfumato.auditing import SUITES
from sfumato.concepts import Concept
from sfumato.embedders import load_embedder
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.errors import InputError
from sfumato.evaluation.defence import Defence
from sfumato.mechanisms import Laplace
from sfumato.records import DISEASES, make_records
from sfumato.trials.reading import AttackMethod, alike, attack, calibrate, leakage, tokens
from sfumato.trials.searched import NO_CHOICE, searched_alike
from sfumato.trials.split import gather
from sfumato.trials.target import DefenceTarget

TEXTS = [record.text for record in make_records(300, seed=7)]
CONCEPT = Concept.from_terms("disease", DISEASES)
SUITE = replace(SUITES["quick"], rows=160, pool=200, epochs=4, copies=1)


@pytest.fixture(scope="module")
def split():
    encoder = RememberingEmbedder(load_embedder("wordllama"))
    return gather(TEXTS, CONCEPT, SUITE, spans=None, embedder=encoder, clean=None, needed=(), seed=0)


@pytest.fixture(scope="module")
def target(split):
    mechanism = Laplace.from_noise_ratio(1.0, dim=split.clean.shape[1])
    return DefenceTarget(Defence(name="laplace", mechanism=mechanism, embedder=split.embedder), split)


@pytest.fixture
def trained(monkeypatch):
    """How every network was trained, in order."""
    seen = []

    def train(clean, held, release, schedule, seed, on_epoch):
        seen.append((schedule, seed))
        return inner(clean, held, release, schedule, seed, on_epoch)

    inner = training_set.train
    monkeypatch.setattr(training_set, "train", train)
    return seen


def searches(seen):
    """What was trained, but for the scaling of the network, which held-back rows decide."""
    return Counter(
        (str(asdict(replace(each, inputs=each.inputs if not each.hidden else "scaled"))), seed)
        for each, seed in seen
    )


def test_control_floor_and_release_are_trained_alike(split, target, trained):
    method = tokens(SUITE, split)
    calibration = calibrate(method, split, 1, query=True, seed=0)
    undefended, each = list(trained), len(trained) // 2
    trained.clear()
    reading = attack(method, split, target, 1, query=True, seed=0)
    assert searches(undefended[:each]) == searches(undefended[each:]) == searches(trained)
    tried = [schedule.inputs for schedule, _ in trained if not schedule.hidden]
    assert sorted(tried) == ["scaled", "white"] and len(trained) == 3
    found = alike(calibration, reading)
    assert found.search["inputs"] == ["scaled", "white"] and found.search["epochs"] == 4
    assert {name: len(runs) for name, runs in found.chosen.items()} == {
        "control": 1, "floor": 1, "released": 1
    }  # fmt: skip
    network = next(schedule for schedule, _ in trained if schedule.hidden)
    assert found.chosen["released"][0]["inputs"] == network.inputs
    # Texts with another term put in are the same text once it is taken out.
    assert [found.chosen[name][0]["copies"] for name in ("control", "floor", "released")] == [1, 0, 1]


def one_sided(split, **settings):
    """An attack that has other settings where something is released."""
    plain, other = tokens(SUITE, split), tokens(SUITE, split, **settings)

    def fit(texts, vectors, victim, embedder, seed):
        return (plain if victim is None else other).fit(texts, vectors, victim, embedder, seed)

    return AttackMethod("one-sided", "terms", fit)


@pytest.mark.parametrize(("name", "value"), [("inputs", "white"), ("hidden", (8,)), ("held_back", 0.2)])
def test_a_release_that_is_attacked_in_another_way_is_refused(split, target, name, value):
    method = one_sided(split, **{name: value})
    calibration = calibrate(method, split, 1, query=True, seed=0)
    reading = attack(method, split, target, 1, query=True, seed=0)
    with pytest.raises(InputError, match=f"the same search. Found another {name}"):
        leakage(calibration, reading, split)


def test_attacks_that_choose_nothing_have_nothing_to_say(split, target):
    method = AttackMethod("silent", "terms", lambda *given: lambda released: [["x"]] * len(released))
    calibration = calibrate(method, split, 1, query=True, seed=0)
    reading = attack(method, split, target, 1, query=True, seed=0)
    found = alike(calibration, reading)
    assert found.search is None and found.chosen is None


def test_how_a_writer_looks_for_a_text_is_no_choice():
    """Networks that write texts have a `search` of their own kind, and nothing that was chosen."""
    writer, other = SimpleNamespace(search=Search()), SimpleNamespace(search=Search(steps=3))
    assert searched_alike({"control": [writer], "released": [other]}) == NO_CHOICE
