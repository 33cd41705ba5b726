"""PRIVEMB at the published sizes and with sentence encoders, on the planted words of its other tests."""

from __future__ import annotations

import numpy as np
import pytest
from research.tests.studies.test_privemb import BAD, DIM, GOOD, data  # noqa: F401

from sfumato.embedders import Fake
from sfumato_research.privemb import encoders as privemb_encoders
from sfumato_research.privemb import sizes as privemb_sizes
from sfumato_research.privemb.paired import (
    PairedAnswers,
    answers,
    beside_guessing,
    over_sets,
    verdict,
    written,
)
from sfumato_research.privemb.sizes import BETAS, m2_label, releases
from sfumato_research.privemb.tasks import PRINTED, load
from sfumato_research.privemb.words import glove
from sfumato_research.studies import Setting
from sfumato_research.studies.base import Cell


@pytest.fixture
def few(monkeypatch):
    found = {name: PRINTED[name] for name in ("mr", "trec6")}
    for module in (privemb_sizes, privemb_encoders):
        monkeypatch.setattr(module, "PRINTED", found)
    return found


def paired(right, tested=None):
    return PairedAnswers(np.array(right, float), np.arange(len(right)) if tested is None else tested)


def test_differences_are_taken_sentence_by_sentence():
    """Two that are right on the same rows differ by 0 for certain, however often they are wrong."""
    row = generator_row(400)
    same = paired(row).less(paired(row))
    assert (same.value, same.low, same.high) == (0, 0, 0)
    better = paired(np.maximum(row, np.arange(400) % 5 == 0)).less(paired(row))
    assert better.low > 0 and better.form == "+.1f"


def generator_row(count):
    from sfumato.randomness import generator

    return (generator(1).random(count) < 0.6).astype(float)


def test_every_set_counts_alike_whatever_its_size():
    gained = (paired(np.ones(1000)), paired(np.zeros(1000)))
    lost = (paired(np.zeros(10)), paired(np.ones(10)))
    assert over_sets([gained, lost]).value == pytest.approx(0.0)
    assert over_sets([gained, gained]).value == pytest.approx(100.0)
    # Answers to one sentence are drawn together, so that asking four times is no larger sample.
    row = generator_row(100)
    once = (paired(row), paired(np.zeros(100)))
    often = tuple(PairedAnswers(np.tile(each.right, 4), np.tile(each.tested, 4)) for each in once)
    narrow, wide = over_sets([once]), over_sets([often])
    assert wide.high - wide.low == pytest.approx(narrow.high - narrow.low, rel=0.2)


def test_a_gain_is_set_beside_guessing():
    row = generator_row(400)
    guessed, better = (PairedAnswers(row, np.arange(400), largest) for largest in (0.6, 0.5))
    assert not guessed.above_guessing and better.above_guessing
    assert beside_guessing([guessed, better]) == "above a constant guess for certain on 1 of 2"


def test_a_claim_about_all_sets_falls_with_one():
    up, down, open_ = Cell(1.0, 0.5, 2.0), Cell(-1.0, -2.0, -0.5), Cell(0.0, -1.0, 1.0)
    assert verdict({"a": up, "b": open_}) is True
    assert verdict({"a": up, "b": down}) is False
    assert verdict({"a": open_}) is None
    assert written(up) == "+1.0 [+0.5, +2.0]" and written(Cell(1.0)) == "+1.0"


def test_table_1_at_the_published_sizes(data, few):  # noqa: F811
    outcome = privemb_sizes.sizes(Setting(data, quick=True))
    accuracies, gains, noise = outcome.tables
    assert list(accuracies.columns[5:]) == ["M1", *map(m2_label, BETAS), "Gaussian"]
    assert len(accuracies.rows) == 2 * 2 * 3 and len(gains.rows) == 2 * 3 * 5
    glove_mr = next(row for row in accuracies.rows if row[:2] == ["MR", f"GloVe, {DIM}d"])
    assert glove_mr[3].value == pytest.approx(50, abs=7), "two classes about as large"
    assert glove_mr[4].value > 95 and glove_mr[4].printed == 81.1
    sizes = {(row[0], row[1]): row for row in noise.rows}
    m = [sizes[f"GloVe, {DIM}d", m2_label(beta)][2] for beta in BETAS[1:]]
    assert m == sorted(m) and m[-1] > DIM, "a small beta asks for more dimensions than there are"
    assert sizes[f"GloVe, {DIM}d", "M1"][2] == DIM
    assert len(outcome.findings) == 2 * 2 * 2
    assert all("above a constant guess" in each.ours for each in outcome.findings[::2])
    assert all(each.cause for each in outcome.findings if each.same is False)


def test_the_paper_s_pairs_give_its_dimensions(data):  # noqa: F811
    from dataclasses import replace

    words = glove(data)
    wide = replace(words, vectors=np.tile(words.vectors, (1, 5)))
    found = [releases()[m2_label(beta)](wide, 0).output_dim(300) for beta in BETAS]
    assert found[1:] == pytest.approx([50, 100, 200], rel=0.03)


def test_sentence_encoders_stand_in_infersents_place(data, few, monkeypatch):  # noqa: F811
    class Reader(Fake):
        """Sees how many good and bad words a sentence has."""

        def embed(self, texts, **_):
            words = [text.split() for text in texts]
            counts = [[sum(w in side for w in each) for side in (set(GOOD), set(BAD))] for each in words]
            return np.c_[np.array(counts, np.float32) + 0.1, np.ones((len(texts), 30), np.float32) / 10]

    monkeypatch.setattr(privemb_encoders, "encoder", lambda setting, name: Reader())
    outcome = privemb_encoders.encoders(Setting(data, quick=True))
    clean, private, gained = outcome.tables
    assert clean.rows[0][0] == "MR" and [cell.value for cell in clean.rows[0][2:4]] == [81.1, 79.4]
    assert clean.rows[0][5].value > 95
    rows = [row for row in private.rows if row[0] == "MR" and row[1].startswith("all-MiniLM")]
    assert [row[2] for row in rows] == [10.0, 60.0, 400.0]
    assert rows[0][5].value < 90 < rows[2][5].value <= rows[2][4].value, "noise falls with epsilon"
    assert rows[2][3].startswith("0.08"), "32 dimensions over 400"
    assert len(gained.rows) == 2 * 3 * 2
    assert len(outcome.findings) == 2 * (3 + 1)


def test_each_fold_is_asked_as_often_whatever_the_number_of_releases(data):  # noqa: F811
    task = load(data, "mr", glove(data), 2, None, 0)
    rows = np.eye(2)[task.labels.astype(int)]
    once, twice = (answers([rows] * number, task) for number in (1, 2))
    assert np.array_equal(once.tested, twice.tested) and once.right.mean() == 1.0
    assert len(task.texts) == len(task.labels) and task.largest < 0.6
