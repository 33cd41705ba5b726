"""What a protector promises holds under the conditions it names, and where nothing holds it says so."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from sfumato.accounting import Guarantee, Ledger, Secret
from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake
from sfumato.errors import BudgetError
from sfumato.evaluation.calibrate import scaled
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import load_protector, save_protector

PLACES = ("Ashford", "Brinlow", "Calder", "Dunmere", "Eastvale", "Fenwick")
PLACE = Concept.from_terms("place", PLACES)
TEXTS = [
    f"visit {number} to {place} went well"
    for number in range(30)
    for place in (*PLACES, "the sea", "the river")
]


def learned(**fields):
    return learn(TEXTS, PLACE, embedder=Fake(), settings=LearnSettings(**fields))


@pytest.fixture(scope="module")
def public():
    return learned(source="public")


def said(protector):
    return " | ".join(protector.guarantee.notes)


def test_texts_that_leave_without_noise_have_no_promise_and_no_place_under_a_ceiling(public, tmp_path):
    selective = replace(public, only_matching=True)
    released = selective.embed(["nothing to hide here", "visit 3 to Calder went well"])
    # The attack: what nothing was found in leaves clean.
    assert float(released[0] @ Fake().embed(["nothing to hide here"])[0]) == pytest.approx(1.0, abs=1e-6)
    promise = selective.guarantee
    assert promise.proof == "none" and math.isinf(promise.epsilon) and not promise.is_private
    assert "no differential privacy" in promise.describe()
    assert "has the noise alone" not in said(selective) and "leaves in the vector as it is" in said(selective)
    secret = Secret.generate()
    ledger = Ledger(tmp_path / "ceiling", secret=secret, ceiling=1e9)
    for texts in (["nothing to hide here"], ["visit 3 to Calder went well"]):
        with pytest.raises(BudgetError, match="promises nothing"):
            replace(selective, secret=secret, ledger=ledger).embed(texts)
    assert ledger.total() == {}
    free = replace(selective, ledger=Ledger(tmp_path / "none", secret=secret, ceiling=None))
    free.embed(["nothing to hide here"])
    assert math.isinf(free.spent("nothing to hide here").epsilon)


@pytest.mark.parametrize("source", ["unknown", "private"])
def test_what_was_learned_from_private_text_is_a_condition_of_the_promise(source):
    made = learned(source=source)
    assert made.guarantee.proof == "conditional"
    assert "(conditional: `sfumato explain` says on what)" in made.guarantee.describe()
    for part in ("shape of the noise", "public filter"):
        assert f"conditional: the {part} was learned from {source} text" in said(made)


@pytest.mark.parametrize("source", ["public", "synthetic"])
def test_declared_public_text_leaves_the_proof_as_it_is(source):
    made = learned(source=source)
    assert made.guarantee.proof == "proved" and "conditional" not in said(made)
    # Noise that nothing was learned for has no such condition.
    assert Protector(Laplace(epsilon=10.0), Fake()).guarantee.proof == "proved"


def test_each_part_answers_for_its_own_source(public):
    spread = replace(public.background, source="private")
    assert replace(public, background=spread).guarantee.proof == "conditional"
    assert "shape of the noise" not in said(replace(public, background=spread)).partition("conditional")[2]


def test_the_metric_is_said_to_be_over_neutral_texts(public):
    assert "distances are between the vectors of neutral texts" in said(public)
    assert "neutral texts" not in said(replace(public, neutral=0))
    vectors = public.prepare([f"visit 3 to {place} went well" for place in PLACES]).vectors
    assert len(np.unique(vectors, axis=0)) == 1  # at distance 0, as it says


def test_the_loss_of_a_swapped_term_is_on_record_and_follows_the_noise(public, tmp_path):
    loss = public.guarantee.substitutions
    assert 0 < loss.median <= loss.p95 <= loss.worst
    assert f"{loss.median:.3g} (median)" in said(public)
    assert public.guarantee.to_dict()["substitutions"]["worst"] == loss.worst
    # It is the loss between two texts whose terms were not found.
    texts = [f"visit 3 to {place} went well" for place in PLACES]
    raw = replace(public, neutral=0).prepare(texts).vectors
    apart = np.linalg.norm(public.mechanism.shape.whiten(raw[0] - raw[1:]), axis=1)
    assert loss.median / 4 < public.mechanism.epsilon * np.median(apart) < 4 * loss.worst
    halved = scaled(public, epsilon=public.mechanism.epsilon / 2)
    assert halved.guarantee.substitutions.worst == pytest.approx(loss.worst / 2)
    save_protector(public, tmp_path / "p")
    assert load_protector(tmp_path / "p").guarantee.substitutions == loss


def test_a_mask_has_its_loss_on_record_too():
    pytest.importorskip("torch")
    from tests.masks import quick_masks

    with quick_masks():
        made = learned(source="public", shape="mask")
    assert made.guarantee.substitutions.worst > 0


def test_a_metric_of_somebody_else_s_mechanism_is_named_and_not_an_error():
    assert "epsilon 3 per unit of hamming distance" in Guarantee("toy", 3.0, "hamming", "proved").describe()
