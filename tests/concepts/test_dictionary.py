"""Listed terms: whole words, longest first, any case unless told otherwise, in any script."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.security.growth import least

from sfumato.concepts import Dictionary, Labelled, Span, Union
from sfumato.concepts.detectors.dictionary import folded, listed
from sfumato.concepts.spans import find_all, merge, read_spans
from sfumato.errors import InputError, ParameterError


def found(terms, text, **options):
    return [text[span.start : span.end] for span in Dictionary(terms, **options).find(text)]


def test_whole_words_of_any_case_longest_first():
    assert found(["York", "New York", "New York City"], "new york city, NEW YORK, Yorkshire, York.") == [
        "new york city", "NEW YORK", "York"
    ]  # fmt: skip
    assert found(["a"], "a cat a") == ["a", "a"]
    assert found(["Paris"], "paris PARIS Paris", ignore_case=False) == ["Paris"]


@pytest.mark.parametrize(
    ("term", "text", "expected"),
    [
        ("St. Louis", "in St. Louis.", ["St. Louis"]),
        ("C++", "I like C++!", ["C++"]),
        ("COVID-19", "covid-19 and covid - 19", ["covid-19"]),
        ("O'Brien", "Mr. O'Brien's", ["O'Brien"]),
        ("New York", "New\n  York", ["New\n  York"]),
        ("東京", "私は東京都に住む", ["東京"]),
        ("서울", "서울에서", ["서울"]),
        ("Zürich", "zu\u0308rich ZÜRICH", ["zu\u0308rich", "ZÜRICH"]),
        ("straße", "STRASSE", ["STRASSE"]),
        ("jane", "jane_doe", ["jane"]),
        ("cafe", "cafe\u0301", []),
        ("Москва", "москва", ["москва"]),
    ],
)
def test_spelling(term, text, expected):
    assert found([term], text) == expected


def test_words_that_are_also_names_need_their_capital():
    terms = ["Nice", "Paris", "US"]
    assert found(terms, "a nice day in Nice, NICE; paris told us and the US", cased=["Nice", "US"]) == [
        "Nice", "NICE", "paris", "US"
    ]  # fmt: skip
    # Without conditions elsewhere in the list, the condition is off.
    assert found(["Nice", "nice"], "a nice day", cased=["Nice"]) == ["nice"]


def test_nothing_to_look_for_is_refused():
    with pytest.raises(ParameterError, match="at least one term"):
        Dictionary([" ", ""])
    with pytest.raises(ParameterError, match="must be a string. Found int"):
        Dictionary(["a", 3])


def test_thousands_of_terms_cost_no_more_than_a_few():
    many = Dictionary([f"word{number} tail" for number in range(20_000)])
    assert len(many) == 20_000
    few = Dictionary(["word19999 tail", "another"])
    text = "word19999 tail and more text without any of them " * 2_000
    assert many.find(text) == few.find(text) and len(many.find(text)) == 2_000
    # A dictionary that tried its terms one by one would take thousands of times as long.
    assert least(lambda: many.find(text)) < 20 * least(lambda: few.find(text))


@given(
    st.lists(st.from_regex(r"[a-c]{1,3}( [a-c]{1,2})?", fullmatch=True), min_size=1, max_size=5),
    st.from_regex(r"[a-cA-C ,.]{0,40}", fullmatch=True),
)
def test_it_agrees_with_a_plain_regular_expression(terms, text):
    by_length = sorted({term.strip() for term in terms}, key=lambda term: -len(term.split()))
    ours = found(terms, text)
    # One alternative after another, whole words: as slow as it is plain.
    expression = "|".join(re.escape(term).replace(r"\ ", r"\s+") for term in by_length)
    theirs = [match.group() for match in re.finditer(rf"\b(?:{expression})\b", text, re.IGNORECASE)]
    assert ours == theirs


@given(st.text(max_size=30))
def test_folding_twice_changes_nothing(text):
    assert folded(folded(text)) == folded(text)


def test_listed():
    assert listed(" a;b  c\nd;; ") == ("a", "b c d")


def test_overlapping_spans_are_joined_under_the_longest_label():
    spans = [Span(4, 9, "b"), Span(0, 3, "a"), Span(2, 6, "c"), Span(9, 11, "d")]
    assert merge(spans) == [Span(0, 9, "b"), Span(9, 11, "d")]
    assert merge([Span(0, 3, "first"), Span(0, 3, "second")]) == [Span(0, 3, "first")]


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(1, 8), st.sampled_from("abc"))))
def test_joining_covers_the_same_places_and_nothing_else(parts):
    spans = [Span(start, start + length, label) for start, length, label in parts]
    merged = merge(spans)
    cover = [{place for span in group for place in range(span.start, span.end)} for group in (spans, merged)]
    assert cover[0] == cover[1]
    assert all(a.end <= b.start for a, b in zip(merged, merged[1:], strict=False))


def test_spans_are_read_from_records_and_tuples():
    records = [{"start": 2, "end": 3, "label": "b"}, (0, 1, "a"), Span(4, 5, "c")]
    assert [span.label for span in read_spans(records, 5)] == ["a", "b", "c"]
    for wrong in ({"start": 1, "end": 2}, (1, 2), {"start": "1", "end": 2, "label": "x"}, 7):
        with pytest.raises(InputError, match="Row 3 has a span"):
            read_spans([wrong], 5, row=3)
    with pytest.raises(InputError, match=r"Row 0 has a span \(number 0\).* 0 <= start < end <= 5, "):
        read_spans([(0, 9, "a")], 5, row=0)
    with pytest.raises(InputError, match="0 <= start < end"):
        read_spans([(3, 2, "a")], 5)


def test_labelled_spans_are_kept_without_the_text():
    labelled = Labelled(
        [("Ann in Rome", [(0, 3, "PER"), (7, 11, "LOC")])], labels=["loc"], otherwise=Dictionary(["Oslo"])
    )
    assert labelled.find("Ann in Rome") == [Span(7, 11, "LOC")]
    assert labelled.find("Oslo") == [Span(0, 4, "term")]
    assert "Rome" not in str(vars(labelled))


def test_texts_that_came_without_spans_are_looked_at_together():
    asked = []

    class Together(Dictionary):
        def find_many(self, texts, check=None):
            asked.append(list(texts))
            return (self.find(text) for text in asked[-1])

    labelled = Labelled([("Ann in Rome", [(7, 11, "LOC")])], otherwise=Together(["Oslo", "Rome"]))
    texts = ["to Oslo", "Ann in Rome", "Rome again", "", "Ann in Rome"]
    assert list(find_all(labelled, texts)) == [labelled.find(text) for text in texts]
    assert asked == [["to Oslo", "Rome again", ""]], "what came with the data is not looked at again"
    alone = Labelled([("Ann in Rome", [(7, 11, "LOC")])])
    assert list(alone.find_many(texts)) == [[], [Span(7, 11, "LOC")], [], [], [Span(7, 11, "LOC")]]
    calls = []
    assert len(list(find_all(labelled, texts * 200, lambda: calls.append(1)))) == 1000 <= len(calls)


def test_a_union_needs_parts_and_names_them():
    with pytest.raises(ParameterError, match="at least one detector"):
        Union()
    both = Union(Dictionary(["a"], name="one"), Dictionary(["b"], name="two"))
    assert both.name == "one + two" and "one:" in both.blind_to and both.exact
