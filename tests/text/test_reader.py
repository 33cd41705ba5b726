"""Fictional passages, and the reader that answers questions about them."""

from __future__ import annotations

import io

import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.text.fantasy import passages
from sfumato.text.reader import Example, Reader, exact_match, normalised, overlap
from sfumato.text.streams import read_stream


def examples(count, seed):
    return [
        Example(passage.text, question.text, (question.answer,))
        for passage in passages(count, seed=seed)
        for question in passage.questions
    ]


def test_passages_hold_their_answers_and_names_nobody_knows():
    made = passages(30, seed=1)
    assert made == passages(30, seed=1) and made != passages(30, seed=2)
    for passage in made:
        assert len(passage.questions) == 5 and len(set(passage.names)) == len(passage.names)
        for question in passage.questions:
            assert passage.text[question.start :].startswith(question.answer)
    with pytest.raises(ParameterError):
        passages(0)


def test_the_reader_learns_to_answer_and_cannot_without_the_passage():
    reader = Reader.fit(examples(60, 1), steps=60)
    asked = examples(20, 2)
    right = [exact_match(reader.answer(one.context, one.question), one.answers) for one in asked]
    assert sum(right) / len(right) > 0.6
    blind = [
        exact_match(reader.answer(other.context, one.question), one.answers)
        for one, other in zip(asked, asked[5:] + asked[:5], strict=True)
    ]
    assert sum(blind) / len(blind) < 0.15
    assert reader.answer("", "Who?") == "" and reader.answer("...", "Who?") == ""


def test_answers_are_compared_as_squad_does():
    assert normalised(" The  Queen, of-Hearts!") == "queen ofhearts"
    assert exact_match("the Queen", ["a queen"]) and not exact_match("queen", ["king"])
    assert overlap("the red queen", ["red king", "queen"]) == pytest.approx(2 / 3)
    assert overlap("", ["x"]) == 0.0
    with pytest.raises(InputError, match="needs questions"):
        Reader.fit([Example("oil rose", "What fell?", ("snow",))])


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
