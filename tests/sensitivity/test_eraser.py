"""Erasers: linear readers are blinded, little else changes, and what is no projection is refused."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.metrics.probe import probe_auc
from sfumato.randomness import generator
from sfumato.sensitivity import Eraser, EraserLearner

DIM, ROWS = 32, 600
NOISE = np.eye(DIM) * 1e-4


@pytest.fixture(scope="module")
def planted():
    """Texts with a concept move along axis 0, and axes 1 and 2 foretell the term, as nothing else does."""
    rng = generator(1)
    having, lacking = (rng.standard_normal((ROWS, DIM)) * 0.1 for _ in range(2))
    terms = rng.standard_normal((ROWS, DIM)) * np.where(np.arange(DIM) < 2, 1.0, 1e-6)
    having[:, 0] += 0.3
    having[:, 1:3] += 0.1 * terms[:, :2]
    return having, lacking, terms


def foretold(rows, terms):
    """How much of the terms' first two parts a linear reader explains on rows it has not seen."""
    half = len(rows) // 2
    centred = rows - rows[:half].mean(axis=0)
    weights = np.linalg.lstsq(centred[:half], terms[:half, :2], rcond=None)[0]
    return 1 - ((terms[half:, :2] - centred[half:] @ weights) ** 2).sum() / (terms[half:, :2] ** 2).sum()


def told_apart(having, lacking):
    rows, labels = np.concatenate([having, lacking]), np.arange(2 * ROWS) < ROWS
    learn = np.arange(2 * ROWS) % 2 == 0
    return probe_auc(rows[learn], labels[learn], rows[~learn], labels[~learn])


def test_presence_and_context_are_no_longer_read_by_linear_readers(planted):
    having, lacking, terms = planted
    eraser = EraserLearner(context=2).fit([having], lacking, [terms], NOISE, source="public")
    assert (eraser.directions, eraser.presence, eraser.source) == (3, 1, "public")
    assert told_apart(having, lacking) > 0.95 and foretold(having, terms) > 0.3
    bare, others = eraser.erased(having), eraser.erased(lacking)
    assert told_apart(bare, others) < 0.6 and foretold(bare, terms) < 0.05
    # Another direction is left as it was.
    assert np.corrcoef(bare[:, 9], having[:, 9])[0, 1] > 0.98


def test_either_kind_can_be_left_alone(planted):
    having, lacking, terms = planted
    alone = EraserLearner(context=0).fit([having], lacking, [terms], NOISE)
    assert (alone.directions, alone.presence) == (1, 1)
    assert foretold(alone.erased(having), terms) > 0.3
    context = EraserLearner(presence=False, context=2).fit([having], lacking, [terms], NOISE)
    assert (context.directions, context.presence) == (2, 0)
    assert told_apart(context.erased(having), context.erased(lacking)) > 0.95
    assert EraserLearner(presence=False, context=0).fit([having], lacking, [terms], NOISE) is None


def test_few_texts_give_few_directions_and_one_term_gives_none(planted):
    having, lacking, terms = planted
    few = EraserLearner(presence=False, context=30).fit([having[:40]], lacking, [terms[:40]], NOISE)
    assert few.directions == 2  # 16 texts a direction
    many = EraserLearner(presence=False, context=30).fit(
        [having], lacking, [generator(2).standard_normal((ROWS, DIM))], NOISE
    )
    assert many.directions == DIM // 8
    same = np.ones((ROWS, DIM))
    assert EraserLearner(presence=False).fit([having], lacking, [same], NOISE) is None
    none_without = EraserLearner(context=0).fit([having], lacking[:0], [terms], NOISE)
    assert none_without is None


def test_several_concepts_each_have_a_direction_of_presence(planted):
    having, lacking, terms = planted
    other = lacking[::-1] + np.eye(DIM)[5] * 0.3
    eraser = EraserLearner(context=2).fit([having, other], lacking, [terms, terms], NOISE)
    assert eraser.presence == 2
    assert told_apart(eraser.erased(other), eraser.erased(lacking)) < 0.6


def test_it_is_a_projection_onto_its_basis(planted):
    having, lacking, terms = planted
    eraser = EraserLearner(context=2).fit([having], lacking, [terms], NOISE)
    once = eraser.erased(having.astype(np.float32))
    assert once.dtype == np.float32
    assert eraser.erased(once) == pytest.approx(once, abs=1e-6)
    assert having @ eraser.matrix.T == pytest.approx(eraser.erased(having), abs=1e-12)
    inside = eraser.erased(having)
    assert eraser.basis.shape == (DIM, DIM - 3)
    assert inside @ eraser.basis @ eraser.basis.T == pytest.approx(inside, abs=1e-10)


@pytest.mark.parametrize(
    ("read", "taken", "presence"),
    [
        (np.ones((4, 1)), np.ones((4, 1)), 0),  # takes four times what it reads
        (np.ones((4, 2)), np.ones((4, 1)), 0),
        (np.full((4, 1), np.nan), np.full((4, 1), np.nan), 0),
        (np.zeros((4, 0)), np.zeros((4, 0)), 0),
        (np.eye(4), np.eye(4), 0),  # nothing would be left
        (np.eye(4)[:, :1], np.eye(4)[:, :1], 2),
        (np.ones(4), np.ones(4), 0),
    ],
)
def test_what_is_no_projection_is_refused(read, taken, presence):
    with pytest.raises(ParameterError):
        Eraser(read, taken, presence)


@pytest.mark.parametrize("settings", [{"presence": 1}, {"context": -1}, {"context": 2.5}, {"context": 10**6}])
def test_settings_are_checked(settings):
    with pytest.raises(ParameterError):
        EraserLearner(**settings)
