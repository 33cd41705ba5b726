"""Fictional passages, and the reader that answers questions about them."""

from __future__ import annotations

import pytest

from sfumato.errors import InputError, ParameterError
from sfumato_research.text.fantasy import passages
from sfumato_research.text.reader import Example, Reader, exact_match, normalised, overlap


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
