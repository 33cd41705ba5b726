"""What every attack promises: it reads clean vectors, not blurred ones, is repeatable and can be kept."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import MISSING, fields, is_dataclass, replace
from typing import get_args

import numpy as np
import pytest

from sfumato.attacks import ATTACKS, Attack, Inverter
from sfumato.attacks.base import Needs, Reads, fresh_releases
from sfumato.attacks.known_texts.bits import Bits
from sfumato.attacks.known_texts.linkage import Linkage
from sfumato.attacks.known_texts.oracle import OracleAttack
from sfumato.attacks.terms.classifier import TokenClassifier
from sfumato.attacks.terms.informed import Informed
from sfumato.embedders import Fake
from sfumato.errors import InputError, MissingPackageError
from sfumato.mechanisms import Identity, Laplace
from sfumato.trials.making import inverter_of
from sfumato.trials.running import figures_of
from tests.test_protector import PLACE, sentences

FAKE = Fake(dim=96)
TEXTS = [text for text in dict.fromkeys(sentences(900)) if PLACE.find(text)][:300]

CASES: dict[str, Attack] = {
    "tokens": TokenClassifier(vocabulary=PLACE, hidden=(64,), epochs=8),
    "informed": Informed(concept=PLACE, embedder=FAKE),
    "oracle": OracleAttack(concept=PLACE, embedder=FAKE),
    "linkage": Linkage(),
    "bits": Bits(),
}
WITH_TESTS_OF_THEIR_OWN = {
    "decoder",
    "decoder-lm",
    "corrector",
    "corrector-t5",
    "alignment",
    "minilm",
    "practised",
    "unpaired",
    "structure",
    "membership",
    "attributes",
    "denoising",
    "neighbours",
    "pooling",
    "zero-shot",
}
"""These train a language model, read a whole cloud at once or name something else than terms and rows;
tests/attacks has a small one for each."""


def test_every_attack_is_tested_somewhere():
    assert set(ATTACKS.names()) == {*CASES, *WITH_TESTS_OF_THEIR_OWN}


@pytest.mark.parametrize("name", ATTACKS.names())
def test_settings_are_the_fields_of_a_frozen_dataclass(name):
    if not ATTACKS.installed(name):
        with pytest.raises(MissingPackageError, match="pip install"):
            ATTACKS.get(name)
        return
    kind = ATTACKS.get(name)
    assert is_dataclass(kind) and kind.__dataclass_params__.frozen and issubclass(kind, Attack)
    assert kind.name == name and kind.paper and kind.summary and kind.__doc__
    assert kind.reads in get_args(Reads) and kind.needs in get_args(Needs)
    own = {field.name: field for field in fields(kind)}
    assert all(field.default is not MISSING or field.default_factory is not MISSING for field in own.values())
    assert kind.needs == "nothing" or "seed" in own
    reader = inverter_of(kind)
    assert issubclass(reader, Inverter) and not inspect.isabstract(reader) and reader.kind


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]


@pytest.fixture(scope="module")
def clean():
    return FAKE.embed(TEXTS)


def halves(attack, clean):
    """What it learns from and what it is tried on."""
    if attack.needs == "attacked":
        return (TEXTS, clean), (TEXTS, clean)
    return (TEXTS[:200], clean[:200]), (TEXTS[200:], clean[200:])


def figure(attack, inverter, vectors, texts, known):
    concept = PLACE if attack.reads == "terms" else None
    return figures_of(type(attack), inverter.recover(vectors), texts, concept=concept, known=known)[0].value


def trivial(attack):
    """The best constant guess."""
    if attack.reads == "terms":
        counts = Counter(PLACE.terms_in(text)[0] for text in TEXTS)
        return max(counts.values()) / len(TEXTS)
    return 1 / len(TEXTS)


def test_it_reads_clean_vectors_and_little_of_blurred_ones(case, clean):
    (learned, vectors), (texts, attacked) = halves(case, clean)
    strong = Laplace.from_noise_ratio(30.0, dim=96)
    # The bits attack reads what plain float32 sums leave behind, and clean vectors are the plainest of all.
    on_clean = case.fit(learned, vectors, Identity())
    assert figure(case, on_clean, attacked, texts, learned) > max(0.85, trivial(case) + 0.3)
    blurred = case.fit(learned, vectors, strong)
    released = fresh_releases(strong, 77)(attacked)
    assert figure(case, blurred, released, texts, learned) < trivial(case) + 0.2
    for inverter in (on_clean, blurred):
        assert inverter.control is not None and inverter.control.value > 0.7 and inverter.control.rows > 5


def test_one_entry_a_row_and_higher_scores_are_surer(case, clean):
    (learned, vectors), (_, attacked) = halves(case, clean)
    steps = []
    inverter = case.fit(learned, vectors, on_step=lambda label, share: steps.append((label, share)))
    found = inverter.recover(attacked)
    assert len(found) == len(found.rows) == len(attacked) and found.scores.shape == (len(attacked),)
    assert np.isfinite(found.scores).all()
    kinds = {type(row) for row in found.rows}
    assert kinds == ({list} if case.reads == "terms" else {str})
    assert steps and all(0 <= share <= 1 for _, share in steps) and steps[-1][1] == 1.0
    assert inverter.recover(attacked.astype(np.float64).tolist()).rows == found.rows


def test_same_seed_same_result_also_after_saving(case, clean, tmp_path):
    (learned, vectors), (_, attacked) = halves(case, clean)
    noise = Laplace.from_noise_ratio(0.5, dim=96)
    released = fresh_releases(noise, 5)(attacked)
    one = case.fit(learned, vectors, noise)
    first = one.recover(released)
    assert replace(case).fit(learned, vectors, noise).recover(released).rows == first.rows
    digest = one.save(tmp_path / "kept")
    assert len(digest) == 64
    again = inverter_of(type(case)).load(tmp_path / "kept").recover(released)
    assert again.rows == first.rows and np.array_equal(again.scores, first.scores)
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == [
        "config.json",
        "tensors.safetensors",
    ]


def test_what_does_not_fit_together_is_refused(case, clean):
    with pytest.raises(InputError, match="one text a vector"):
        case.fit(TEXTS, clean[:-1])
    with pytest.raises(InputError, match="single text"):
        case.fit("one text", clean[:1])
    inverter = case.fit(*halves(case, clean)[0])
    with pytest.raises(InputError, match="dimension"):
        inverter.recover(clean[:, :7])
