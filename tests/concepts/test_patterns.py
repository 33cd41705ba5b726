"""Shapes: what is found, what is not, and that no text takes for ever."""

from __future__ import annotations

import pytest
from tests.security.growth import grows_evenly

from sfumato.concepts import Patterns
from sfumato.concepts.detectors import checks
from sfumato.concepts.detectors.shapes import SHAPES
from sfumato.errors import ParameterError

FOUND = [
    ("date", "seen on 12 May 2020 again", "12 May 2020"),
    ("date", "seen on 2020-05-12 again", "2020-05-12"),
    ("date", "seen on 05/12/20.", "05/12/20"),
    ("date", "March 3rd, 2021 was wet", "March 3rd, 2021"),
    ("date", "back in 1985 and later", "1985"),
    ("date", "two weeks ago it rained", "two weeks ago"),
    ("date", "on friday then", "friday"),
    ("time", "at 5:30 pm sharp", "5:30 pm"),
    ("age", "a 45-year-old man", "45-year-old"),
    ("age", "she is forty-two years old", "forty-two years old"),
    ("age", "aged 7, he", "7"),
    ("age", "45 y/o F", "45 y/o"),
    ("age", "in her forties", "forties"),
    ("number", "about 1,200.50 of them", "1,200.50"),
    ("number", "twenty-two patients", "twenty-two"),
    ("number", "12 % more", "12 %"),
    ("money", "paid $3.5 million for it", "$3.5 million"),
    ("email", "to a.b+c@sub.example.co.uk, please", "a.b+c@sub.example.co.uk"),
    ("phone", "call +44 20 7946 0958 now", "+44 20 7946 0958"),
    ("phone", "(212) 555-0143", "(212) 555-0143"),
    ("phone", "001-968-422-9007x00596", "001-968-422-9007x00596"),
    ("phone", "Phone: 467 3395", "467 3395"),
    ("card", "card 4111 1111 1111 1111.", "4111 1111 1111 1111"),
    ("card", "378282246310005", "378282246310005"),
    ("iban", "to GB82 WEST 1234 5698 7654 32 today", "GB82 WEST 1234 5698 7654 32"),
    ("ip", "from 192.168.0.1 at", "192.168.0.1"),
    ("ip", "from 2001:db8::ff00:42:8329 at", "2001:db8::ff00:42:8329"),
    ("url", "see https://example.org/a?b=c, then", "https://example.org/a?b=c"),
    ("url", "see example.co.uk/path now", "example.co.uk/path"),
    ("ssn", "ssn 123-45-6789", "123-45-6789"),
    ("record", "MRN: A12345", "A12345"),
    ("record", "medical record number #778812", "778812"),
    ("code", "Account Number: 123456789", "123456789"),
    ("code", "ticket TCK-2231 is", "TCK-2231"),
    ("code", "case 550e8400-e29b-41d4-a716-446655440000", "550e8400-e29b-41d4-a716-446655440000"),
    ("handle", "thanks @jane_doe!", "@jane_doe"),
    ("address", "lives at 4377 Thomas Row, there", "4377 Thomas Row"),
    ("address", "at 12 oak tree lane", "12 oak tree lane"),
    ("address", "in der Bergstraße 12", "Bergstraße 12"),
    ("title", "saw Dr. Ana Pérez today", "Ana Pérez"),
    ("company", "at Acme Widgets Inc. now", "Acme Widgets Inc."),
    ("company", "the University of Oxford", "University of Oxford"),
    ("weekday", "on Tues. we", "Tues."),
    ("month", "in March it", "March"),
    ("month", "3 may 2020", "may"),
    ("sex", "Sex: F", "F"),
]  # fmt: skip

NOT_FOUND = [
    ("card", "4111 1111 1111 1112"),
    ("card", "0000 0000 0000 0000"),
    ("iban", "GB83 WEST 1234 5698 7654 32"),
    ("ip", "version 1.2.3.400"),
    ("ip", "at 12:30:45"),
    ("ssn", "000-45-6789"),
    ("date", "99/99/2020"),
    ("date", "1985.5 units"),
    ("month", "it may rain"),
    ("month", "May I come in"),
    ("month", "they march on"),
    ("email", "a@b"),
    ("phone", "12-34"),
    ("address", "5 minutes down the road"),
    ("url", "end.Then"),
    ("weekday", "the sun"),
]


@pytest.mark.parametrize(("kind", "text", "expected"), FOUND, ids=lambda value: str(value)[:24])
def test_planted_examples_are_found(kind, text, expected):
    assert [text[span.start : span.end] for span in Patterns(kind).find(text)] == [expected]


@pytest.mark.parametrize(("kind", "text"), NOT_FOUND, ids=lambda value: str(value)[:24])
def test_look_alikes_are_not(kind, text):
    assert Patterns(kind).find(text) == []


def test_every_kind_has_an_example():
    assert {kind for kind, _, _ in FOUND} == set(SHAPES)


def test_of_two_kinds_on_one_stretch_the_particular_one_names_it():
    text = "10.0.0.1 and 123456789 and 4111111111111111"
    assert [span.label for span in Patterns().find(text)] == ["ip", "code", "card"]


def test_an_unknown_kind_is_refused():
    with pytest.raises(ParameterError, match="must be one of: email.*'emial'"):
        Patterns("emial")


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "1",
        "1 ",
        "A ",
        "Aa ",
        "1-",
        "a.",
        "a@",
        "one ",
        "(1) ",
        "AB-",
        "A&",
        "1,",
        "+1",
        "http://",
        "é",
        "$1",
    ],
)
def test_no_text_takes_longer_than_its_length_warrants(piece):
    assert grows_evenly(lambda size: Patterns().find(piece * (size // len(piece))), 8_000)


def test_check_digits():
    assert checks.luhn("5555-5555-5555-4444") and not checks.luhn("5555-5555-5555-4445")
    assert checks.iban("DE89370400440532013000") and not checks.iban("DE88370400440532013000")
    assert not checks.iban("DÉ89370400440532013000")
    assert checks.ip("::1") and not checks.ip("1.1")
    assert checks.day("31.12.99") and not checks.day("31.13.99") and not checks.day("1.2")
