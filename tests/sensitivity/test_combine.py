"""Combined masks: what each rule gives, and that every promise is kept and none wasted."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import ParameterError
from sfumato.mechanisms import Mahalanobis
from sfumato.randomness import generator
from sfumato.sensitivity import Mask, combine_masks, epsilon_for

RNG = generator(0)
MASKS = [
    Mask(RNG.random(20) * (RNG.random(20) < 0.4) + 1e-3, name=name) for name in ("place", "person", "date")
]
EPSILONS = [40.0, 10.0, 25.0]


def loss_per_unit(epsilon: float, combined: Mask, own: Mask) -> float:
    """Largest log ratio of the combined mechanism's densities per unit of a mask's own metric, by search."""
    moves = np.concatenate([np.eye(20), RNG.standard_normal((2000, 20))])
    moves /= np.sqrt((moves**2 / own.variances()).sum(1, keepdims=True))
    released = Mahalanobis(epsilon=epsilon, shape=combined, max_norm=1e6)
    # Out along a move the ratio of the densities reaches its bound.
    return float((released.log_density(3 * moves, 2 * moves) - released.log_density(3 * moves, moves)).max())


def test_max_opens_what_any_mask_opens():
    combined = combine_masks([Mask([2.0, 0.0, 1.0]), Mask([0.0, 0.5, 0.1])])
    assert combined.scores.tolist() == [1.0, 1.0, 0.5]


def test_sum_shares_the_noise_by_weight():
    combined = combine_masks(MASKS[:2], "sum", weights=[3.0, 1.0])
    wanted = 0.75 * MASKS[0].variances() + 0.25 * MASKS[1].variances()
    assert np.allclose(combined.variances(), wanted, rtol=1e-12)
    for mask, share in zip(MASKS[:2], (0.75, 0.25), strict=True):
        assert loss_per_unit(8.0, combined, mask) <= 8.0 / np.sqrt(share) * (1 + 1e-9)


@pytest.mark.parametrize("rule", ["max", "sum", "budgets"])
def test_epsilon_for_keeps_every_promise(rule):
    given = {"epsilons": EPSILONS} if rule == "budgets" else {}
    combined = combine_masks(MASKS, rule, **given)
    epsilon = epsilon_for(combined, MASKS, EPSILONS)
    losses = [loss_per_unit(epsilon, combined, mask) for mask in MASKS]
    shares = np.array(losses) / EPSILONS
    assert (shares <= 1 + 1e-6).all()
    # One of the promises is used up: a larger epsilon would break it.
    assert shares.max() > 1 - 1e-6


def test_budgets_add_the_least_noise():
    lengths = {}
    for rule in ("max", "sum", "budgets"):
        given = {"epsilons": EPSILONS} if rule == "budgets" else {}
        combined = combine_masks(MASKS, rule, **given)
        epsilon = epsilon_for(combined, MASKS, EPSILONS)
        lengths[rule] = Mahalanobis(epsilon=epsilon, shape=combined).noise_sd(20)
    assert lengths["budgets"] == min(lengths.values())


def test_one_mask_is_itself():
    for rule, given in (("max", {}), ("sum", {}), ("budgets", {"epsilons": [7.0]})):
        combined = combine_masks(MASKS[:1], rule, **given)
        assert np.allclose(combined.variances(), MASKS[0].variances(), rtol=1e-2)
        assert epsilon_for(combined, MASKS[:1], [7.0]) == pytest.approx(7.0, rel=1e-2)


def test_names_and_sources_are_carried():
    def joined(*sources):
        return combine_masks([Mask([1.0], source=source, name=source) for source in sources])

    assert joined("public", "synthetic").name == "public+synthetic"
    assert joined("public", "synthetic").source == "public"
    assert joined("public", "private", "unknown").source == "private"
    assert joined("public", "unknown").source == "unknown"
    assert joined("synthetic", "synthetic").source == "synthetic"
    assert combine_masks(MASKS, name="all").name == "all"


@pytest.mark.parametrize(
    ("masks", "given", "message"),
    [
        ([], {}, "no mask"),
        ([Mask([1.0]), Mask([1.0, 1.0])], {}, "1, 2"),
        (MASKS, {"rule": "min"}, "max, sum, budgets"),
        (MASKS, {"rule": "budgets"}, "needs `epsilons`"),
        (MASKS, {"rule": "budgets", "epsilons": [1.0]}, "one number a mask"),
        (MASKS, {"rule": "budgets", "epsilons": [1.0, 0.0, 1.0]}, "epsilons"),
        (MASKS, {"rule": "sum", "weights": [1.0, -1.0, 1.0]}, "weights"),
        (MASKS, {"rule": "max", "weights": [1.0, 1.0, 1.0]}, "belong to"),
    ],
)
def test_bad_input_is_refused(masks, given, message):
    with pytest.raises(ParameterError, match=message):
        combine_masks(masks, **given)
