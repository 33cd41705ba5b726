"""Groups, budgets and what a text promises."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import ParameterError
from sfumato.mechanisms import Polar
from sfumato.text import Budgets, EncoderImportance, Group, GroupMap, WordImportance, WordVectors
from sfumato.text.groups import count_groups, group_table
from sfumato.text.promise import WITHIN_GROUPS, promise
from tests.text.small import Pattern, vocabulary

AXES = WordVectors(
    ["oil", "price", "petrol", "rain", "snow", "the"],
    [[1, 0, 0.1], [0.9, 0.5, 0], [1, 0.1, 0], [0, 1, -1], [0, 1.1, -1], [-1, -1, -1]],
)


def grouped(text, task="oil price", **options):
    settings = {"importance": WordImportance(AXES), **options}
    return next(GroupMap(**settings).group([text], [task]))


def test_words_fall_into_the_four_groups():
    found = grouped("petrol and John saw rain", sensitive=[Pattern("John|rain")])
    assert [int(group) for group in found.groups] == [3, 4, 2, 4, 2]
    sensitive = grouped("petrol", sensitive=[Pattern("petrol")])
    assert sensitive.groups == (Group.SENSITIVE_IMPORTANT,)


def test_a_span_is_in_one_group_with_its_most_important_word():
    found = grouped("John petrol Smith, petrol", sensitive=[Pattern("John petrol Smith")])
    assert [int(group) for group in found.groups] == [1, 1, 1, 3]
    assert len(set(found.scores[:3])) == 1


def test_a_higher_threshold_makes_fewer_words_important():
    counts = [
        count_groups([grouped("oil price petrol rain snow the", threshold=threshold)])[Group.IMPORTANT]
        for threshold in (-1.0, 0.0, 0.5, 0.99, 1.0)
    ]
    assert counts == sorted(counts, reverse=True) and counts[0] == 6 and counts[-1] < 3


def test_without_a_task_nothing_is_important():
    assert set(grouped("oil price", task="").groups) == {Group.OTHER}
    assert set(grouped("oil price", importance=None).groups) == {Group.OTHER}
    # A task of which no word is known says nothing either.
    assert set(grouped("oil price", task="Zanzibar?").groups) == {Group.OTHER}


def test_a_word_of_the_task_is_its_own_closest_but_far_from_a_mixed_mean():
    words = ["oil", "petrol", "price"]
    mean = WordImportance(AXES).scores(words, "oil snow")
    closest = WordImportance(AXES, pool="closest").scores(words, "oil snow")
    assert closest[0] == pytest.approx(1.0) and closest[1] > 0.9 and mean[0] < 0.5
    # Words of no content do not count in a task that has others.
    alone = WordImportance(AXES).scores(words, "oil")
    assert np.array_equal(WordImportance(AXES).scores(words, "the oil"), alone)
    with pytest.raises(ParameterError, match="mean or closest"):
        WordImportance(AXES, pool="sum")


def test_a_word_in_pieces_matters_as_its_pieces_do():
    names = ["oil", "##ing", "rain", "##y", "snow"]
    pieces = WordVectors(
        names,
        [[1, 0, 0], [1, 0.2, 0], [0, 1, 0], [0, 1, 0.2], [-1, -1, 1]],
        continues=np.array([name[0] == "#" for name in names]),
    )
    scores = WordImportance(pieces).scores(["oiling", "rainy", "oilxx"], "oil")
    assert scores[0] > 0.8 > scores[1] and scores[2] == 0
    assert WordImportance(pieces).scores(["oil"], "oiling")[0] > 0.8


def test_importance_by_an_encoder_asks_for_each_text_once():
    asked = []

    class Counting(Fake):
        def embed(self, texts, **options):
            asked.extend(texts)
            return super().embed(texts, **options)

    importance = EncoderImportance(Counting())
    scores = importance.scores(["oil", "oil price"], "oil price")
    assert scores[1] == pytest.approx(1.0) and -1 <= scores[0] < 1
    importance.scores(["oil"], "oil price")
    assert len(asked) == len(set(asked)) == 2
    assert importance.scores([], "oil price").shape == (0,)


def test_spans_that_come_with_the_text_are_used():
    found = next(
        GroupMap([Concept.from_spans("NAME")]).group(
            ["petrol John"], [""], [[{"start": 7, "end": 11, "label": "NAME"}]]
        )
    )
    assert found.groups == (Group.OTHER, Group.SENSITIVE)
    with pytest.raises(ParameterError, match="spans from the data"):
        list(GroupMap([Concept.from_spans("NAME")]).group(["petrol"], [""]))
    with pytest.raises(ParameterError, match="its task"):
        list(GroupMap().group(["petrol"], []))


def test_given_spans_count_whatever_their_label_unless_a_concept_names_some():
    spans = [[(0, 3, "X"), (9, 13, "Y")]]
    for sensitive, found in (
        ((), [(0, 3), (9, 13)]),
        ((Pattern("falls"),), [(0, 3), (4, 9), (9, 13)]),
        ((Concept.from_spans("y"),), [(9, 13)]),
    ):
        map_ = GroupMap(sensitive=sensitive)
        assert [(span.start, span.end) for span in next(map_.find(["oil falls now"], spans))] == found
    with pytest.raises(ParameterError, match="Every text must have its spans"):
        next(GroupMap().find(["one", "two"], spans))


def test_budgets_come_from_the_paper_in_proportion_or_by_hand():
    assert [Budgets.paper(2).of(group) for group in Group] == [200, 100, 500, 400]
    assert Budgets.proportional(50) == Budgets.paper(1)
    assert Budgets.uniform(7) == Budgets.parse("7,7,7,7") and Budgets.parse("1,0,inf,2").important == math.inf
    assert Budgets.paper(1).scaled(2).sensitive == 100
    counts = {Group.SENSITIVE: 1, Group.OTHER: 3}
    assert Budgets.paper(1).mean(counts) == pytest.approx((50 + 3 * 350) / 4)


@pytest.mark.parametrize(
    "text", ["1,2,3", "a,b,c,d", "1,2,3,-4", "inf,1,1,1", "1,inf,1,1", "1,nan,1,1", "1e-9,1,1,1", ""]
)
def test_bad_budgets_are_refused(text):
    with pytest.raises(ParameterError):
        Budgets.parse(text)
    with pytest.raises(ParameterError):
        Budgets.paper(6)
    with pytest.raises(ParameterError):
        Budgets.paper().mean({})


def test_a_text_s_promise_adds_up_over_its_draws():
    drawn = [(Group.SENSITIVE, 1), (Group.SENSITIVE, 3), (Group.OTHER, 1), (Group.IMPORTANT, 0)]
    made = promise(
        drawn, Budgets(1, 10, math.inf, 5), Polar(epsilon=1.0).guarantee, "polar", (WITHIN_GROUPS,)
    )
    assert made.epsilon == 4 * 10 + 5
    assert made.worst_case == pytest.approx(2 * 45, abs=1e-4)
    assert made.guarantee.proof == "conditional" and made.guarantee.epsilon == 45
    assert WITHIN_GROUPS in made.describe() and WITHIN_GROUPS in made.guarantee.notes
    assert any("1 words of groups with an infinite budget" in note for note in made.notes)
    kept = made.to_dict()
    assert kept["groups"][2]["epsilon"] == "inf" and kept["groups"][1]["draws"] == 4


def test_the_table_has_a_cell_a_group():
    rows = group_table(count_groups([grouped("petrol rain")]), Budgets(1, 0, 3, 4))
    assert rows[0][1:] == ("important to the task", "not important")
    assert "group 2: 0 words" in rows[1][2] and "hidden" in rows[1][2] and "epsilon 3" in rows[2][1]


def test_the_map_works_on_any_vocabulary():
    found = GroupMap([], WordImportance(vocabulary()), threshold=0.99).group(["Oil oil"], ["oil"])
    assert next(found).groups == (Group.IMPORTANT, Group.IMPORTANT)
