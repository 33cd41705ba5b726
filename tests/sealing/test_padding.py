"""A padded record tells its size class and comes back as it was."""

from __future__ import annotations

import math
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ArtifactError, ParameterError
from sfumato.sealing.crypto.padding import LARGEST, LEAST, padded, padme, size_class, unpadded


def published(length: int) -> int:
    """Padmé as the paper prints it, in floating point."""
    if length < 2:
        return length
    e = math.floor(math.log2(length))
    s = math.floor(math.log2(e)) + 1 if e else 1
    step = 2 ** max(e - s, 0)
    return math.ceil(length / step) * step


def test_sizes_are_those_of_the_paper():
    assert all(padme(length) == published(length) for length in range(100_000))
    assert [padme(each) for each in (9, 100, 1000, 10_001, 1_000_001)] == [10, 104, 1024, 10_240, 1_015_808]


def test_what_is_padded_has_a_size_of_padme_and_little_is_added():
    sizes = {padme(length) for length in range(200_000)}
    for length in range(0, 150_000, 7):
        assert size_class(length) in sizes and size_class(length) >= LEAST
        assert size_class(length) <= max((length + 4) * 1.12, LEAST)
    assert len({size_class(length) for length in range(1 << 20)}) < 300


@given(st.binary(max_size=3000))
def test_bytes_come_back_and_only_the_class_shows(plain):
    whole = padded(plain)
    assert len(whole) == size_class(len(plain)) == len(padded(bytes(len(plain))))
    assert unpadded(whole) == plain


def test_short_texts_look_alike():
    assert len({len(padded(os.urandom(length))) for length in range(LEAST - 3)}) == 1


@given(st.binary(max_size=500), st.data())
def test_nothing_else_is_taken_for_a_padded_record(plain, data):
    whole = padded(plain)
    end = 4 + len(plain)
    wrong = [whole + b"\0", whole[:-1], b"", whole[:3], b"\xff" * len(whole)]
    if end < len(whole):
        place = data.draw(st.integers(end, len(whole) - 1))
        wrong.append(whole[:place] + b"\1" + whole[place + 1 :])
    for each in wrong:
        with pytest.raises(ArtifactError, match="damaged"):
            unpadded(each)


def test_sizes_out_of_range_are_refused():
    for length in (-1, LARGEST + 1):
        with pytest.raises(ParameterError, match="0 to"):
            size_class(length)
