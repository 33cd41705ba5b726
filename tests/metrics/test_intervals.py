"""Intervals against values worked out by hand, and against each other."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from sfumato.metrics import exact_share, mean, share
from sfumato.metrics.intervals import Resampling, mean_interval, ratio_interval
from sfumato.randomness import generator


def test_wilson_and_bootstrap_intervals():
    figure = share("x", 8, 10)
    assert (figure.low, figure.high) == pytest.approx((0.4902, 0.9433), abs=1e-3)
    assert share("x", 0, 10).low == 0.0 and share("x", 10, 10).high == 1.0
    assert (share("x", 0, 0).low, share("x", 0, 0).high) == (0.0, 1.0)
    values = generator(0).normal(3.0, 1.0, 400)
    found = mean("x", values.tolist())
    assert found.value == pytest.approx(values.mean())
    assert found.high - found.low == pytest.approx(2 * 1.96 * values.std() / 20, rel=0.15)
    assert mean("x", []).count == 0
    assert share("x", 1, 2).to_dict() == {
        "metric": "x",
        "value": 0.5,
        "interval": [share("x", 1, 2).low, share("x", 1, 2).high],
        "count": 2,
    }


def test_exact_intervals_of_shares():
    figure, ends = exact_share("x", 3, 20), binomtest(3, 20).proportion_ci()
    assert (figure.value, figure.low, figure.high, figure.count) == (0.15, ends.low, ends.high, 20)
    assert exact_share("x", 0, 20).low == 0.0 and exact_share("x", 20, 20).high == 1.0
    # Never narrower than Wilson's.
    assert figure.high - figure.low > share("x", 3, 20).high - share("x", 3, 20).low


def test_a_ratio_is_drawn_as_a_ratio():
    found, total = np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])
    assert ratio_interval(found, total) == (0.5, 0.5)
    assert mean_interval(found) == ratio_interval(found, np.ones(3))
    # One group alone is drawn every time.
    assert mean_interval(found, Resampling(groups=[0, 0, 0])) == (2.0, 2.0)
    assert ratio_interval(found, np.zeros(3)) is None
