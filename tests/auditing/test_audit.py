"""Audits run small: what is unprotected fails, what is protected passes, what cannot be read is refused."""

from __future__ import annotations

import json
import zlib
from dataclasses import dataclass, replace

import numpy as np
import pytest

import sfumato as sf
from sfumato.accounting import Ledger, Secret
from sfumato.attacks import ATTACKS
from sfumato.auditing import AuditSettings, ScoredPairs, Searches, audit
from sfumato.concepts import Concept
from sfumato.embedders import load_embedder
from sfumato.errors import InputError
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Identity, Laplace
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.records import DISEASES, make_records
from sfumato.registry import Entry
from tests.auditing.schema import problems
from tests.auditing.small import shrink
from tests.encoders import stand_in_for_minilm

RECORDS = make_records(440, seed=7)
TEXTS = [record.text for record in RECORDS]
CONCEPT = Concept.from_terms("disease", DISEASES)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch, draws=2, baselines=("removal",))


@pytest.fixture(scope="module")
def encoder():
    return load_embedder("wordllama")


@pytest.fixture(scope="module")
def protector(encoder):
    others = [record.text for record in make_records(300, seed=8)]
    return learn(others, CONCEPT, embedder=encoder, settings=LearnSettings(source="synthetic"))


def test_a_protector_passes_and_nothing_private_is_in_the_result(protector, monkeypatch):
    shrink(monkeypatch, draws=2, baselines=("removal",), epochs=16)
    heard = []
    searches = Searches([record.query for record in RECORDS], [[row] for row in range(len(RECORDS))])
    found = sf.audit(
        TEXTS, protector=protector, gold=[searches], settings=AuditSettings(fail_above=0.1, baselines=True),
        on_step=lambda label, share: heard.append((label, share)),
    )  # fmt: skip
    assert found.outcome == "pass" and found.exit_code == 0
    rows = {row.name: row for row in found.attacks}
    assert set(rows) == {"tokens", "informed", "linkage", "bits", "tokens, mean of 2 releases"}
    assert "no secret" in dict(found.left_out)["oracle"] and found.oracle is None
    assert rows["tokens"].floor_is == "removed" and rows["informed"].floor_is == "chance"
    assert rows["tokens"].control > 0.8 > 0.3 > rows["tokens"].floor and found.excess < 0.1
    # The informed attacker reads every clean vector and, of neutral texts, no more than chance allows.
    assert rows["informed"].control > 0.9 and found.worst_case.excess < 0.35
    assert rows["bits"].control == 1.0 and rows["bits"].released == 0.0
    assert [row.name for row in found.attacks if row.counts] == ["tokens"]
    assert found.utility.metric == "search nDCG@10" and found.utility.kept > 0.8
    written = found.to_dict()
    assert problems(written) == []
    text = json.dumps(written, allow_nan=False)
    assert not [record for record in RECORDS if record.text in text or record.query in text]
    assert written["examples"] == [] and {row["term"] for row in written["terms"]} <= set(DISEASES)
    by_setting = {row.setting: row for row in found.baselines}
    # Taking the concept out is the floor itself, and that is more than a guess.
    assert abs(by_setting["taken out"].excess) < 0.12 < by_setting["taken out"].absolute + 0.12
    shares = [share for _, share in heard]
    assert shares == sorted(shares) and shares[-1] <= 1.0 and "tokens" in dict(heard)


def test_the_same_seed_gives_the_same_figures(protector, monkeypatch):
    shrink(monkeypatch, draws=2, epochs=4)
    one, two = (audit(TEXTS, protector=protector).to_dict() for _ in range(2))
    assert one == two
    other = audit(TEXTS, protector=protector, settings=AuditSettings(seed=5)).to_dict()
    assert other["leakage"] != one["leakage"]


def test_no_protection_is_an_excess_of_one(encoder):
    plain = Protector(Identity(), encoder, normalise=False)
    settings = AuditSettings(fail_above=0.1)
    found = audit(TEXTS, CONCEPT, protector=plain, settings=settings, showable=[True] * len(TEXTS))
    assert found.outcome == "fail" and found.exit_code == 1 and found.excess == pytest.approx(1.0, abs=0.1)
    assert found.worst_case.excess == pytest.approx(1.0) and found.utility.kept == pytest.approx(1.0)
    example = found.examples[0]
    assert example["text"] in TEXTS and example["terms"][0] in example["read"]["tokens"]["clean"][:3]
    # The same vectors, handed over without a word about how they were made.
    given = audit(TEXTS, CONCEPT, released=encoder.embed(TEXTS), embedder=encoder, settings=settings)
    assert given.outcome == "fail" and given.excess == 1.0
    assert (
        given.guarantee["proof"] == "none"
        and ("averaging", "these vectors are released once only.") in given.left_out
    )


def test_vectors_that_say_nothing_are_refused():
    noise = generator(0).standard_normal((len(TEXTS), 64)).astype(np.float32)
    found = audit(TEXTS, CONCEPT, released=noise, clean=noise, settings=AuditSettings(fail_above=0.1))
    assert found.outcome == "refused" and found.exit_code == 3 and "proves nothing" in found.verdict.reason
    row = found.attacks[0]
    assert not row.works and row.floor is None and row.excess is None and "not measured" in row.note
    assert {name for name, _ in found.left_out} >= {"informed", "averaging"}
    assert problems(found.to_dict()) == []


def test_the_worst_case_counts_when_asked_for(encoder):
    # Noise of this kind leaves enough for somebody who knows the rest of the text.
    noised = Protector(Laplace.from_noise_ratio(0.5, dim=256), encoder, normalise=False)
    found = audit(TEXTS, CONCEPT, protector=noised, settings=AuditSettings(fail_above=0.99, worst_case=True))
    informed = found.worst_case
    assert informed.counts and informed.excess > 0.9
    assert found.verdict.row.excess == max(row.excess for row in found.attacks if row.counts)
    blind = audit(
        TEXTS, CONCEPT, released=encoder.embed(TEXTS), clean=encoder.embed(TEXTS),
        settings=AuditSettings(worst_case=True),
    )  # fmt: skip
    assert blind.outcome == "refused" and "worst case" in blind.verdict.reason


def test_labelled_spans_have_no_names(encoder):
    spans = [list(record.spans) for record in RECORDS]
    concept = Concept.from_spans("disease")
    released = encoder.embed(TEXTS)
    found = audit(TEXTS, concept, released=released, embedder=encoder, spans=spans)
    assert found.attacks[0].works and found.excess == 1.0
    assert {row["term"] for row in found.terms} == {None}
    assert "informed" in dict(found.left_out)
    text = json.dumps(found.to_dict())
    assert not [disease for disease in DISEASES if f'"{disease}"' in text]


def test_examples_show_nothing_of_texts_that_may_not_be_shown(monkeypatch, encoder):
    """A wrong guess is a term of somebody else's text, and a written text may be one."""
    monkeypatch.setitem(ATTACKS._entries, "parrot", Entry("parrot", "tests.auditing.parrot:Parrot", "parrot"))
    spans = [list(record.spans) for record in RECORDS]
    showable = [row % 20 == 0 for row in range(len(RECORDS))]
    found = audit(
        TEXTS, Concept.from_spans("disease"), released=encoder.embed(TEXTS), embedder=encoder, spans=spans,
        showable=showable, settings=AuditSettings(attacks=("parrot",)),
    )  # fmt: skip
    assert found.examples
    visible = {record.disease for record, show in zip(RECORDS, showable, strict=True) if show}
    for each in found.examples:
        assert showable[each["row"]] and each["text"] == TEXTS[each["row"]]
        assert each["read"]["parrot"] == {"clean": "(not shown)", "released": "(not shown)"}
        for guesses in each["read"]["tokens"].values():
            assert set(guesses) <= visible | {"(not shown)"}
    assert any("(not shown)" in each["read"]["tokens"]["clean"] for each in found.examples)


def test_pairs_and_neighbours_measure_utility(encoder, protector):
    first, second = [record.query for record in RECORDS[:60]], TEXTS[:60]
    scores = [float(row % 2) for row in range(60)]
    mixed = [
        text if score else TEXTS[row + 100]
        for row, (text, score) in enumerate(zip(second, scores, strict=True))
    ]
    found = audit(TEXTS, protector=protector, gold=[ScoredPairs(first, mixed, scores)])
    assert found.utility.metric == "STS Pearson" and found.utility.clean > 0.5
    found = audit(TEXTS, CONCEPT, released=encoder.embed(TEXTS), embedder=encoder)
    assert found.utility.metric == "neighbours nDCG@10" and found.utility.released == pytest.approx(1.0)


def test_attacks_that_write_texts_count_and_are_shown(monkeypatch, encoder):
    entry = Entry("parrot", "tests.auditing.parrot:Parrot", "says what the nearest text says")
    monkeypatch.setitem(ATTACKS._entries, "parrot", entry)
    plain = Protector(Identity(), encoder, normalise=False)
    found = audit(
        TEXTS, CONCEPT, protector=plain, settings=AuditSettings(attacks=("parrot",), fail_above=0.5),
        showable=[True] * len(TEXTS),
    )  # fmt: skip
    row = next(row for row in found.attacks if row.name == "parrot")
    assert row.reads == "text" and row.counts and row.runs == 1
    assert row.control == row.released > row.floor and row.excess == 1.0
    assert all(each["read"]["parrot"]["released"] in TEXTS for each in found.examples)
    alone = audit(
        TEXTS, CONCEPT, released=encoder.embed(TEXTS), clean=encoder.embed(TEXTS),
        settings=AuditSettings(attacks=("parrot",)),
    )  # fmt: skip
    assert ("parrot", "it asks the encoder, and there is none.") in alone.left_out


def test_another_attack_can_be_asked_for_or_is_left_out(protector):
    found = audit(TEXTS, protector=protector, settings=AuditSettings(attacks=("minilm", "linkage")))
    reasons = dict(found.left_out)
    assert "all-MiniLM-L6-v2" in reasons["minilm"] and "linkage" not in reasons
    assert [row.name for row in found.attacks].count("linkage") == 1  # it is run anyway, and once
    with pytest.raises(InputError, match="attack"):
        audit(TEXTS, protector=protector, settings=AuditSettings(attacks=("telepathy",)))


def test_without_an_encoder_the_floor_is_not_measured_and_nothing_stands_in_for_it(encoder):
    vectors = encoder.embed(TEXTS)
    noised = vectors + 0.12 * generator(1).standard_normal(vectors.shape).astype(np.float32)
    settings = AuditSettings(fail_above=0.1)
    blind = audit(TEXTS, CONCEPT, released=noised, clean=vectors, settings=settings)
    seen = audit(TEXTS, CONCEPT, released=noised, embedder=encoder, settings=settings)
    one, other = blind.to_dict()["leakage"], seen.to_dict()["leakage"]
    assert one["floor"] is one["excess"] is one["interval"] is one["floor_is"] is None
    assert {row["floor"] for row in blind.terms} == {None}
    # All that needs no floor is the same, whichever option was left out.
    for name in ("control", "prior", "released", "absolute", "absolute_interval"):
        assert one[name] == other[name], name
    assert one["absolute"] > 0.1 and blind.outcome == "fail"
    assert any("--embedder" in words for words in blind.cautions)


def test_all_that_a_protector_hides_is_audited(protector):
    first, second = (Concept.from_terms(f"part {part}", DISEASES[part::2]) for part in (0, 1))
    both = replace(protector, concepts=(first, second))
    found = audit(TEXTS, protector=both, settings=AuditSettings(fail_above=0.3))
    assert [each.name for each in found.concepts] == ["part 0", "part 1"]
    assert problems(found.to_dict()) == []
    named = audit(TEXTS, [CONCEPT, Concept.from_terms("sea", ["kraken"])], protector=protector)
    assert [each.outcome for each in named.concepts] == ["measured", "refused"]
    assert named.outcome == "refused" and named.exit_code == 3 and "sea" in named.verdict.reason


@dataclass(slots=True, eq=False, repr=False)
class RawKeyed(Protector):
    """Noise that is keyed by the text as it came, whatever is embedded: what the oracle is there to find."""

    def embed(self, texts, **_):
        ready = self.prepare(texts)
        noise = [
            generator(zlib.crc32(text.encode())).standard_normal(ready.vectors.shape[1]) for text in texts
        ]
        return (ready.vectors + 0.05 * np.array(noise)).astype(np.float32)


@dataclass(slots=True, eq=False, repr=False)
class Alike(Protector):
    """One answer to every candidate: neutral texts, and no noise at all."""

    def embed(self, texts, **_):
        return self.prepare(texts).vectors


def test_the_oracle_is_asked_where_there_is_a_secret(protector, tmp_path):
    secret = Secret(bytes(range(32)))
    shared = {name: getattr(protector, name) for name in ("mechanism", "embedder", "concepts", "background")}
    ledger = Ledger(tmp_path / "ledger", secret=secret, ceiling=1.0)
    leaky = RawKeyed(**shared, secret=secret, ledger=ledger)
    found = audit(TEXTS, protector=leaky, settings=AuditSettings(fail_above=0.1))
    row = next(row for row in found.attacks if row.name == "oracle")
    assert row.released == row.control == 1.0 and found.oracle.named.low > 0.7 and row.counts
    assert found.outcome == "fail" and found.verdict.row.name == "oracle"
    assert "may ask the same protector" in found.verdict.reason and problems(found.to_dict()) == []
    assert ledger.total() == {}  # nobody's budget is spent
    mute = audit(TEXTS, protector=Alike(**shared, secret=secret), settings=AuditSettings(fail_above=0.1))
    row = next(row for row in mute.attacks if row.name == "oracle")
    low, high = mute.oracle.named.low, mute.oracle.named.high
    assert low <= mute.oracle.chance <= high and row.at_chance and mute.verdict.row.name == "tokens"
    assert mute.oracle.found.count == mute.oracle.named.count and mute.oracle.missed is None


def test_the_oracle_tells_found_terms_from_missed_ones(protector):
    """A protector that knows every other disease covers those and not the rest."""
    known = Concept.from_terms("some", DISEASES[::2])
    half = Alike(protector.mechanism, protector.embedder, (known,), secret=Secret(bytes(32)))
    found = audit(TEXTS, CONCEPT, protector=half)
    assert found.oracle.missed.value == 1.0 > found.oracle.found.value
    assert "does not find the term" in " ".join(found.cautions)


def wrong_inputs(encoder, protector):
    vectors = encoder.embed(TEXTS)
    return {
        "either a protector": {"protector": protector, "released": vectors},
        "Found an empty list": {"concept": [], "protector": protector},
        "give a concept": {"released": vectors, "embedder": encoder},
        "one released vector": {"concept": CONCEPT, "released": vectors[:9], "embedder": encoder},
        "must be those of the encoder": {
            "concept": CONCEPT, "released": vectors, "clean": vectors[::-1], "embedder": encoder,
        },
        "Name the encoder they came from": {"concept": CONCEPT, "released": vectors[:, :50]},
        "No text contains": {"concept": Concept.from_terms("sea", ["kraken"]), "protector": protector},
        "Relevant rows": {"protector": protector, "gold": [Searches(["x"], [[5000]])]},
        "can only be looked up": {
            "concept": CONCEPT, "released": vectors, "embedder": encoder, "gold": [Searches(["x"], [[1]])],
        },
        "one entry a text": {"protector": protector, "showable": [True]},
    }  # fmt: skip


def test_wrong_input_is_refused_in_words(encoder, protector):
    with stand_in_for_minilm():
        for words, given in wrong_inputs(encoder, protector).items():
            with pytest.raises(InputError, match=words):
                audit(TEXTS, **given)
    few = [text for text in TEXTS if CONCEPT.terms_in(text)][:30]
    with pytest.raises(InputError, match="At least 20 texts"):
        audit(few, protector=protector)
