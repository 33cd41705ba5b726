"""Sensitivity of dimensions, top against tail, and how far masks agree."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sensitivity.planted import planted_pairs

from sfumato.errors import ParameterError, VectorError
from sfumato.randomness import generator
from sfumato.sensitivity import Mask
from sfumato_research.analysis import rank_correlation, sensitivities, top_and_tail, top_overlap

DATA = planted_pairs(300, shift=0.4)


def test_sensitivity_is_the_largest_change_between_twins():
    plus, minus = np.array([[1.0, 0.0], [0.0, 5.0]]), np.array([[0.0, 0.0], [0.5, 5.0]])
    assert sensitivities(plus, minus).tolist() == [1.0, 0.0]
    assert sensitivities(plus, minus, "mean").tolist() == [0.75, 0.0]


def test_the_printed_formula_compares_texts_that_are_no_twins():
    every = np.abs(DATA.plus[:, None].astype(np.float64) - DATA.minus[None]).max((0, 1))
    assert np.allclose(sensitivities(DATA.plus, DATA.minus, "all-pairs"), every)
    # It sees texts differ where twins do not: planted axes hardly stand out.
    twins = top_and_tail(DATA.plus, DATA.minus, mask=Mask(DATA.truth.astype(float)), share=0.1)
    printed = top_and_tail(
        DATA.plus, DATA.minus, mask=Mask(DATA.truth.astype(float)), share=0.1, measure="all-pairs"
    )
    assert twins.ratio > 4 * printed.ratio


def test_top_and_tail_tell_a_real_mask_from_chance():
    real = top_and_tail(DATA.plus, DATA.minus, mask=Mask(DATA.truth + 1e-3))
    assert real.top.size == real.tail.size == 10 and DATA.truth[real.top].all()
    assert real.top_mean > 5 * real.tail_mean and real.p_value < 0.01
    assert real.ranked_by == "mask" and not real.circular and real.pairs == 300
    chance = [
        top_and_tail(DATA.plus, DATA.minus, mask=Mask(generator(seed).random(96))).p_value
        for seed in range(20)
    ]
    assert np.median(chance) > 0.1


def test_ranking_by_sensitivity_itself_finds_a_difference_in_pure_noise():
    rng = generator(0)
    plus, minus = rng.standard_normal((50, 200)), rng.standard_normal((50, 200))
    own = top_and_tail(plus, minus)
    assert own.circular and own.p_value < 1e-5
    # Ranked on one half and measured on the other, nothing is left.
    half = top_and_tail(plus[25:], minus[25:], mask=Mask(sensitivities(plus[:25], minus[:25])))
    assert not half.circular and half.p_value > 0.01


def test_top_and_tail_of_what_never_moves():
    still = np.zeros((3, 10))
    found = top_and_tail(still, still)
    assert found.p_value == 1.0 and found.ratio == float("inf")


def test_masks_agree_with_themselves_and_not_with_their_opposite():
    mask, opposite = Mask(np.arange(1.0, 51.0)), Mask(np.arange(50.0, 0.0, -1.0))
    assert top_overlap(mask, mask) == 1.0 and top_overlap(mask, opposite) == 0.0
    assert rank_correlation(mask, mask) == pytest.approx(1.0)
    assert rank_correlation(mask, opposite) == pytest.approx(-1.0)
    assert top_overlap(mask, opposite, share=1.0) == 1.0


def test_chance_overlap_is_the_share():
    masks = [Mask(generator(seed).random(768)) for seed in range(20)]
    found = np.mean([top_overlap(masks[i], masks[i + 1], 0.2) for i in range(19)])
    assert found == pytest.approx(0.2, abs=0.03)


def test_bad_input_is_refused():
    with pytest.raises(VectorError, match="one row for each text"):
        sensitivities(DATA.plus, DATA.minus[1:])
    spoiled = DATA.minus.copy()
    spoiled[4, 0] = np.inf
    with pytest.raises(VectorError, match="Row 4 of D-"):
        sensitivities(DATA.plus, spoiled)
    with pytest.raises(ParameterError, match="measure"):
        sensitivities(DATA.plus, DATA.minus, "median")
    with pytest.raises(VectorError, match="dimension 96"):
        top_and_tail(DATA.plus, DATA.minus, mask=Mask(np.ones(5)))
    with pytest.raises(ParameterError, match="share"):
        top_and_tail(DATA.plus, DATA.minus, share=0.7)
    with pytest.raises(VectorError, match="2 dimensions"):
        top_and_tail(DATA.plus[:, :1], DATA.minus[:, :1])
    with pytest.raises(ParameterError, match="5 and 6"):
        top_overlap(Mask(np.ones(5)), Mask(np.ones(6)))
    with pytest.raises(ParameterError, match="equal scores"):
        rank_correlation(Mask(np.ones(5)), Mask(np.arange(1.0, 6.0)))
