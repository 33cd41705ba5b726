"""What every detector promises: spans in order, inside the text, none overlapping, the text left alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.concepts import DETECTORS, Dictionary, Patterns, Span
from sfumato.concepts.spans import find_all

MIXED = (
    "On 12 May 2020 Dr. John Smith (john.smith@example.com, +1 212-555-0143), a 45-year-old from Paris, took "
    "aspirin for chest pain and type 2 diabetes; card 4111 1111 1111 1111, MRN: A12345, 10.0.0.1.\n"
    "José Müller — Zürich, İstanbul, 東京都, Кириллица, 😀 naïve cafe\u0301 \u202e end"
)
PIECES = [
    "Paris",
    "John",
    "Smith",
    "12 May",
    "aspirin",
    "asthma",
    "a@b.org",
    "4111 1111 1111 1111",
    "\n",
    ", ",
    ".",
]


def make(name):
    kind = DETECTORS.get(name)
    given = {
        "dictionary": lambda: kind(["Paris", "New York", "cafe", "東京", "Zürich", "aspirin"]),
        "labelled": lambda: kind([(MIXED, [Span(3, 14, "date"), Span(15, 29, "person")])]),
        "union": lambda: kind(Patterns("date", "email"), Dictionary(["Paris", "12 May"])),
        "lexicon": lambda: kind("drug"),
        "abroad": lambda: kind("person"),
    }
    return given.get(name, kind)()


@pytest.fixture(params=DETECTORS.names(), scope="module")
def detector(request):
    if not DETECTORS.installed(request.param):
        pytest.skip(DETECTORS.install_line(request.param))
    return make(request.param)


def check(detector, text):
    spans = detector.find(text)
    assert isinstance(spans, list)
    last = 0
    for span in spans:
        assert last <= span.start < span.end <= len(text)
        assert span.label
        last = span.end
    return spans


def test_it_has_a_name_and_says_what_it_cannot_find(detector):
    assert detector.name and isinstance(detector.name, str)
    assert detector.blind_to.strip().endswith((".", "nothing")) or len(detector.blind_to) > 20


def test_it_finds_something_in_a_text_full_of_it(detector):
    assert check(detector, MIXED)


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t", "\x00", "\ud800", "😀", "é", "e\u0301", "ﬁ", "İ" * 20, "." * 50]
)
def test_odd_texts_are_taken_as_they_are(detector, text):
    check(detector, text)


def test_a_very_long_text_is_searched_to_its_end(detector):
    text = "nothing to see here, " * 12_000 + MIXED
    tail = len(text) - len(MIXED)
    long = [span for span in check(detector, text) if span.start >= tail]
    if detector.name != "labelled spans":
        assert long


def test_finding_twice_gives_the_same(detector):
    kept = str(MIXED)
    assert detector.find(MIXED) == detector.find(MIXED)
    assert MIXED == kept


def test_many_texts_give_what_each_gives_alone(detector):
    texts = [MIXED, "", "Paris", "nothing", MIXED[:80]]
    assert list(find_all(detector, texts)) == [detector.find(text) for text in texts]
    assert list(find_all(detector, [])) == []


@settings(max_examples=30)
@given(parts=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=12))
def test_any_text_gives_spans_that_keep_the_rules(detector, parts):
    check(detector, " ".join(parts))
