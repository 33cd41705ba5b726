"""Neutral texts do not depend on the term they replace."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.concepts.base import Span
from sfumato.concepts.texts.neutral import (
    Mention,
    neutral_texts,
    neutral_way,
    removed_text,
    spread,
    without_overlaps,
)
from sfumato.errors import ParameterError

REFERENCES = ("Ashford", "Brinlow", "Calder")


def at(start, end, references=REFERENCES):
    return Mention(Span(start, end, "place"), references)


def test_every_mention_is_replaced_and_the_rest_is_kept():
    text = "From Oslo to Rome."
    copies = neutral_texts(text, [at(13, 17), at(5, 9)], 3)
    assert copies == ["From Ashford to Brinlow.", "From Brinlow to Calder.", "From Calder to Ashford."]


@given(
    st.text(max_size=20),
    st.text(min_size=1, max_size=9),
    st.text(min_size=1, max_size=9),
    st.text(max_size=20),
)
def test_the_term_leaves_no_trace(before, term, other, after):
    one, two = before + term + after, before + other + after
    spans = [at(len(before), len(before) + len(term))], [at(len(before), len(before) + len(other))]
    assert neutral_texts(one, spans[0], 4) == neutral_texts(two, spans[1], 4)
    assert removed_text(one, spans[0]) == removed_text(two, spans[1])


def test_references_are_fixed_and_spread():
    terms = [f"term {number:03d}" for number in range(100)]
    assert spread(terms, 4) == ("term 000", "term 025", "term 050", "term 075")
    assert spread(list(reversed(terms)), 4) == spread(terms, 4)
    assert spread(["b", "a", "a"], 5) == ("a", "b")
    assert spread([], 3) == ()
    with pytest.raises(ParameterError):
        spread(terms, 0)


def test_removal_takes_every_mention_out():
    assert removed_text("From Oslo, to Rome.", [at(14, 18), at(5, 9)]) == "From, to."
    assert removed_text("Oslo", [at(0, 4)]) == ""


def test_ways_are_named():
    assert neutral_way("removal") == "removal"
    for wrong in ("", "Removal", None, 3, ["soft"]):
        with pytest.raises(
            ParameterError, match="`neutral_by` must be one of removal, placeholder, soft, copies"
        ):
            neutral_way(wrong)


def test_overlaps():
    long, short, apart = at(0, 10), at(2, 4), at(12, 14)
    assert without_overlaps([short, apart, long]) == [long, apart]
    with pytest.raises(ParameterError):
        neutral_texts("0123456789abcdef", [long, short], 2)


def pairwise(mentions):
    """What `without_overlaps` means, said as plainly as possible."""
    kept = []
    for mention in sorted(mentions, key=lambda item: (item.span.start - item.span.end, item.span.start)):
        if all(mention.span.end <= k.span.start or mention.span.start >= k.span.end for k in kept):
            kept.append(mention)
    return sorted(kept, key=lambda item: item.span)


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 12), st.sampled_from("abc")), max_size=40))
def test_overlaps_are_settled_as_by_comparing_every_pair(places):
    mentions = [at(start, start + length, (name,)) for start, length, name in places]
    assert without_overlaps(mentions) == pairwise(mentions)
