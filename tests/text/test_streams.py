"""Texts from standard input, cut into batches of lines."""

from __future__ import annotations

import io

import pytest

from sfumato.errors import InputError
from sfumato.text.streams import read_stream


def test_streams_are_cut_into_lines_as_they_come():
    raw = "one\r\ntwo\n\nvier €".encode()
    for size in (1, 3, 1000):

        class Slow(io.BytesIO):
            def read1(self, most, /, size=size):
                return super().read1(min(most, size))

        batches = list(read_stream(Slow(raw), batch=2))
        assert [text for batch in batches for text in batch.texts] == ["one", "two", "", "vier €"]
        assert [batch.first_row for batch in batches][0] == 0 and max(len(batch) for batch in batches) <= 2
    assert list(read_stream(io.BytesIO(b""), batch=2)) == []
    for bad in (b"ok\n\xff\n", b"ok\nnul\0\n"):
        with pytest.raises(InputError, match="Line 2 of standard input"):
            list(read_stream(io.BytesIO(bad), batch=8))
