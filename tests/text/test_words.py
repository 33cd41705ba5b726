"""Cutting a text into words and putting it together again."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sfumato.concepts.base import Span
from sfumato.text.words import case_of, find_words, in_case, is_word, lay_out, plain

SCRIPTS = st.text(
    st.one_of(
        st.characters(),
        st.sampled_from("abc XYZ'’.,-_\n\t\u0301\u200d\u200c\ufe0f😀👍🏽אבגשלוםमहि न्तnt's"),
    ),
    max_size=60,
)


def words(text):
    return [text[start:end] for start, end in find_words(text)]


@given(SCRIPTS)
@example("do\u0301n't n't 's x'sy it'd'd _a_ \u200da 1'5 O'Brien’ll")
def test_the_same_words_give_the_same_text(text):
    layout = lay_out(text)
    assert layout.rebuild([text[piece.start : piece.end] for piece in layout.pieces]) == text


@given(SCRIPTS, st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=4))
def test_nothing_of_a_span_is_kept(text, places):
    spans = [Span(start, min(start + size, len(text)), "x") for start, size in places if start < len(text)]
    layout = lay_out(text, spans)
    covered = {index for span in spans for index in range(span.start, span.end)}
    inside = {index for span in layout.spans for index in range(span.start, span.end)}
    assert covered <= inside
    # Outside the widened spans the text is untouched, letter by letter; inside only what was written.
    written = ["\x00" if piece.span >= 0 else text[piece.start : piece.end] for piece in layout.pieces]
    rest = "".join(letter for index, letter in enumerate(text) if index not in inside)
    made = layout.rebuild(written)
    assert sorted(made.replace("\x00", "").replace(" ", "")) == sorted(
        rest.replace("\x00", "").replace(" ", "")
    )
    assert all(any(piece.span == number for piece in layout.pieces) for number in range(len(layout.spans)))


def test_contractions_hyphens_and_marks_are_layout():
    assert words("Don't we’ll O'Brien's e-mail, naïve cafe\u0301 3.5 a_b") == [
        "Do", "we", "O", "Brien", "e", "mail", "naïve", "cafe\u0301", "3", "5", "a", "b",
    ]  # fmt: skip
    assert words("हिन्दी שלום 日本語 😀👍🏽 — \u200d") == ["हिन्दी", "שלום", "日本語"]
    assert is_word("long") and not is_word("long-term") and not is_word("'s") and not is_word("")


def test_a_span_takes_whole_words_and_joins_what_overlaps():
    text = "call John Smith, now"
    layout = lay_out(text, [Span(6, 8, "x"), Span(8, 12, "y"), Span(11, 13, "z")])
    assert [(span.start, span.end) for span in layout.spans] == [(5, 15)]
    assert layout.rebuild(["call", "A", "B", "now"]) == "call A B, now"
    assert layout.rebuild(["call", "[hidden]", "", "now"]) == "call [hidden], now"


def test_a_span_without_words_is_a_place_and_words_do_not_grow_together():
    layout = lay_out("is@it 😀", [Span(2, 3, "x"), Span(6, 7, "x")])
    assert [piece.word for piece in layout.pieces] == [True, False, True, False]
    assert layout.rebuild(["is", "or", "it", "one"]) == "is or it one"


@pytest.mark.parametrize(
    ("word", "case", "back"), [("Oil", "title", "Gas"), ("OIL", "upper", "GAS"), ("oil", "lower", "gas")]
)
def test_case_is_kept(word, case, back):
    assert case_of(word) == case and in_case("gas", case) == back


def test_one_letter_and_mixed_case_count_by_the_first_letter():
    assert case_of("I") == "title" and case_of("McDonald") == "title" and case_of("iPhone") == "lower"
    assert plain("Müller") == "muller" and plain("ABC") == "abc"
