"""Figure 6 at matched totals, group maps by rarity, and thresholds of other vectors, on planted texts."""

from __future__ import annotations

import numpy as np
import pytest
from research.tests.studies.test_stamp import NAMES, WORDS, made_texts

from sfumato.randomness import generator
from sfumato.text import Budgets, Group, Rewriter, WordVectors
from sfumato_research.stamp.matched import evenly, judged, matched
from sfumato_research.stamp.rarity import RarityMap
from sfumato_research.stamp.rows import quiet_source, readings, strength, tokens_of
from sfumato_research.stamp.tables import CANDIDATES, WordTable, important_share, matching_threshold
from sfumato_research.studies import Setting
from sfumato_research.studies.base import Cell


@pytest.fixture
def setting(tmp_path):
    return Setting(tmp_path, quick=True)


def test_every_text_gets_the_same_total_either_way():
    texts = made_texts([0])
    machine = Rewriter(WORDS, Budgets.proportional(9.0), threshold=0.2)
    grouped = list(machine.groups.group(texts.texts, texts.tasks, texts.spans))
    assert len({tuple(each.groups) for each in grouped}) > 1, "texts differ, and so do their totals"
    for row, each in enumerate(grouped):
        options = {"tasks": [texts.tasks[row]], "spans": [texts.spans[row]], "rng": quiet_source(0)}
        even = evenly(machine.budgets, tokens_of(machine, each))
        by_groups, alike = (
            made.rewrite([texts.texts[row]], **options)[0].promise.epsilon
            for made in (machine, machine.with_budgets(even))
        )
        assert alike == pytest.approx(by_groups)
        assert len(set(map(even.of, Group))) == 1


def test_what_groups_take_from_sensitive_words_is_found(setting):
    table = WordTable(WORDS, 0.2, "")
    against = matched(setting, "planted", made_texts([0, 1]), table, rare=False)
    (finding,) = against.findings
    assert finding.same is False and "tell the class" in finding.cause
    (rows,) = (each.rows for each in against.tables)
    assert rows[-1][1] == "all levels" and rows[-1][4].high < 0
    assert all(row[5].value == 1.0 for row in rows), "clean texts keep every word"
    favoured = matched(setting, "planted", made_texts([2]), table, rare=False)
    assert favoured.findings[0].same is True and favoured.tables[0].rows[-1][4].value > 0
    assert [each.name for each in favoured.figures] == [
        "stamp-matched-planted.svg", "stamp-matched-planted-difference.svg",
    ]  # fmt: skip


def test_answers_are_told_apart_by_where_they_stand(setting):
    from dataclasses import replace

    texts = made_texts([0, 1])
    inside = np.arange(len(texts.texts)) % 3 == 0
    found = matched(setting, "planted", replace(texts, answer_inside=inside), WordTable(WORDS, 0.2, "x"))
    split = found.tables[1]
    assert split.columns[2:] == ["answer sensitive (4)", "answer not sensitive (8)"]
    assert {row[0] for row in split.rows} == {"by cosine", "by rarity"}
    assert "at answers that are sensitive" in found.findings[0].cause
    assert found.figures[0].name == "stamp-matched-planted-lm.svg"


def test_the_claim_needs_every_level():
    up, down, open_ = Cell(0.1, 0.05, 0.2), Cell(-0.1, -0.2, -0.05), Cell(0.0, -0.1, 0.1)
    assert judged([up, open_], open_) is True
    assert judged([up, down], open_) is None
    assert judged([up, open_], down) is False


def test_rare_words_are_important_and_about_as_many_as_asked():
    others = ["the oil price rose", "the oil price fell", "the river rose"]
    texts = ["the oil river Xyzzy"]
    chosen = RarityMap.fit(others, texts, 0.25)
    machine = Rewriter(WORDS, grouping=chosen)
    (grouped,) = machine.groups.group(texts, [""])
    assert grouped.groups == (Group.OTHER, Group.OTHER, Group.OTHER, Group.IMPORTANT)
    (half,) = machine.with_grouping(RarityMap.fit(others, texts, 0.5)).groups.group(texts, [""])
    assert half.groups[2:] == (Group.IMPORTANT, Group.IMPORTANT) and half.groups[0] is Group.OTHER
    (private,) = machine.groups.group(texts, [""], [[(14, 19, "name")]])
    assert private.groups[3] is Group.SENSITIVE_IMPORTANT


def test_a_threshold_is_chosen_by_how_many_words_it_makes_important():
    """In few dimensions strangers have larger cosines, so that the same share takes a higher threshold."""
    rng = generator(5)
    many, few = (WordVectors(NAMES, rng.standard_normal((400, dim))) for dim in (64, 10))
    contexts, tasks = [" ".join(NAMES)] * 5, NAMES[:5]
    wanted = important_share(many, 0.2, contexts, tasks)
    chosen = matching_threshold(few, many, contexts, tasks)
    shares = {each: important_share(few, each, contexts, tasks) for each in CANDIDATES}
    assert 0.02 < wanted < 0.1 < shares[0.2], "the same threshold would make far more words important"
    assert 0.2 < chosen and abs(shares[chosen] - wanted) == min(abs(s - wanted) for s in shares.values())


def test_a_printed_epsilon_is_read_for_the_dimension_at_hand():
    found = readings(576)
    assert found[strength(576)] == pytest.approx(1 / (np.pi * np.sqrt(768 / 576)))
    assert strength(576) == "epsilon/(pi √1.33)" and len(found) == 3
