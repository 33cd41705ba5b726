"""Every attack of the table has its place in an audit, or says what it wants that is not there."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.attacks import ATTACKS
from sfumato.attacks.base import Attack
from sfumato.auditing import SUITES, AuditSettings, audit
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.evaluation.baselines import Sample
from sfumato.evaluation.keyed_baselines import Rotation
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.records import DISEASES, make_records
from sfumato.trials.places import WANTED, Beside, lacking, own_question
from sfumato.trials.rows import LeftOut
from sfumato.trials.split import Pool
from sfumato.trials.target import DefenceTarget, FixedTarget
from sfumato.trials.threat import ThreatModel, set_up
from tests.auditing.schema import problems
from tests.auditing.small import shrink

RECORDS = make_records(460, seed=7)
TEXTS = [record.text for record in RECORDS]
CONCEPT = Concept.from_terms("disease", DISEASES)
FAKE = Fake(dim=96)


def test_every_attack_of_the_table_fits_into_the_mechanism():
    for name in ATTACKS.names():
        if ATTACKS.installed(name):
            kind = ATTACKS.get(name)
            assert set(kind.wants) <= set(WANTED)
            assert own_question(kind) is not None or kind.reads in ("terms", "text")
    for suite in SUITES.values():
        assert set(suite.attacks) <= set(ATTACKS.names()) and suite.attacks[0] == "tokens"
    placed = {"practised", "zero-shot", "denoising", "neighbours", "pooling", "alignment"}
    placed |= {"unpaired", "structure", "oracle", "membership", "attributes", "linkage", "informed", "bits"}
    assert placed <= set(SUITES["full"].attacks)


def test_what_an_attack_wants_is_looked_for():
    nothing = SimpleNamespace(
        split=SimpleNamespace(embedder=None), beside=Beside(), target=SimpleNamespace(repeats=False),
        query=False,
    )  # fmt: skip
    for want, reason in WANTED.items():
        kind = type("Wanting", (Attack,), {"wants": (want,), "name": "wanting", "reads": "terms"})
        assert lacking(kind, nothing) == reason
        beside = Beside({"a": "b"}, [["tag"]], groups=True)
        there = SimpleNamespace(
            split=SimpleNamespace(embedder=FAKE), beside=beside, target=SimpleNamespace(repeats=True),
            query=True,
        )  # fmt: skip
        assert lacking(kind, there) is None
    stranger = type("Stranger", (Attack,), {"name": "stranger", "reads": "label"})
    with pytest.raises(LeftOut, match="no question"):
        own_question(stranger)


def test_labels_tags_and_membership_in_an_audit(monkeypatch):
    shrink(monkeypatch, baselines=(), written=20)
    quiet = Protector(Laplace.from_noise_ratio(0.3, dim=96), FAKE, (CONCEPT,), neutral=0)
    labels = ["clinic" if CONCEPT.find(text) else "shop" for text in TEXTS]
    tags = [[f"{CONCEPT.terms_in(text)[:1]}", f"{row % 5}"] for row, text in enumerate(TEXTS)]
    asked = AuditSettings(attacks=("membership", "attributes", "structure", "unpaired"), fail_above=0.1)
    found = audit(TEXTS, CONCEPT, protector=quiet, labels=labels, tags=tags, settings=asked)
    rows = {row.name: row for row in found.attacks}
    member, label = rows["membership"], rows["attributes"]
    assert member.reads == "member" and member.prior == 0.5 and member.control > 0.99 and not member.counts
    assert member.released > 0.9 and found.membership is not None
    assert found.membership.stored + found.membership.others == len(TEXTS) == member.rows
    assert label.reads == "label" and label.control > label.prior + 0.1 and not label.counts
    assert label.floor is None and label.released > label.prior
    graph = rows["structure"]
    # Tags are of one disease or none: by their names they would give it away, by their graph alone hardly.
    assert graph.control > 0.9 and graph.works and graph.floor is None and not graph.counts
    assert graph.released < 0.5 and graph.rows == rows["tokens"].rows
    # It reads a whole cloud: no sample of the attacked texts, as slow writers have.
    assert rows["unpaired"].reads == "text" and rows["unpaired"].rows == rows["tokens"].rows
    assert found.verdict.row.reads == "terms"
    written = found.to_dict()
    assert problems(written) == [] and written["membership"]["auc"]["value"] == member.released
    assert [each["count"] for each in written["membership"]["found"]] == [found.membership.stored]
    without = audit(
        TEXTS, CONCEPT, protector=quiet, settings=replace(asked, attacks=("attributes", "structure"))
    )
    reasons = dict(without.left_out)
    assert "--label-column" in reasons["attributes"] and "--tags-column" in reasons["structure"]
    assert without.membership is None and problems(without.to_dict()) == []


@pytest.mark.parametrize("name", ["labels", "tags"])
def test_there_is_one_for_each_text(name):
    quiet = Protector(Laplace.from_noise_ratio(0.3, dim=96), FAKE, (CONCEPT,), neutral=0)
    with pytest.raises(InputError, match=f"`{name}` must have one entry a text"):
        audit(TEXTS, CONCEPT, protector=quiet, **{name: ["one"]})


def test_behind_a_key_a_public_attack_learns_from_clean_vectors_and_is_told_no_key():
    clean = FAKE.embed(TEXTS)
    (defence,) = Rotation().fit(Sample(TEXTS, clean, CONCEPT, FAKE))
    assert defence.key is not None
    target = DefenceTarget(defence, Pool(TEXTS, clean, embedder=FAKE))
    rows = np.arange(40)
    vectors, victim = target.learning(rows, public=True)
    assert np.array_equal(vectors, clean[:40]) and victim is None
    leaked, victim = target.learning(rows)
    assert not np.allclose(leaked, clean[:40], atol=0.01) and victim is None
    attack = ATTACKS.get("unpaired")()
    ready = set_up(ThreatModel(texts=TEXTS, defence=defence, embedder=FAKE), attack)
    assert np.array_equal(ready.learned_vectors, FAKE.embed(ready.learned)) and ready.victim is None
    assert not np.allclose(ready.attacked, clean[ready.rows], atol=0.01) and ready.learned_clean
    # What others learn from was stored under the key, so their control has to be fitted to something else.
    leaked = set_up(ThreatModel(texts=TEXTS, defence=defence, embedder=FAKE), ATTACKS.get("linkage")())
    assert not leaked.learned_clean and not np.allclose(leaked.learned_vectors, clean, atol=0.01)


def test_vectors_from_elsewhere_are_no_public_ones():
    clean = FAKE.embed(TEXTS)
    with pytest.raises(InputError, match="Name the encoder"):
        FixedTarget(clean, TEXTS).learning(np.arange(3), public=True)
    known = FixedTarget(-clean, TEXTS, clean)
    assert np.array_equal(known.learning(np.arange(3), public=True)[0], clean[:3])
    assert np.array_equal(known.learning(np.arange(3))[0], -clean[:3])
