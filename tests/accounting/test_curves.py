"""Sums of losses on the grid: against simulation and closed forms, and never below the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import erf
from scipy.stats import norm

from sfumato.accounting import curves
from sfumato.accounting.curves import discretised, loss_of, summed
from sfumato.mechanisms import Gaussian, Identity, Laplace, Polar
from sfumato.mechanisms.losses import NormalLoss, laplace_loss

RARE = norm.isf(1e-6)


def normal_advantage(mu: float) -> float:
    return float(erf(mu / math.sqrt(8)))


def drawn(dim: int, separation: float, rows: int, rng: np.random.Generator) -> np.ndarray:
    """Losses of Laplace noise by simulation of radius and direction, without any integral."""
    radius = rng.gamma(dim, size=rows)
    along = rng.standard_normal(rows)
    along /= np.sqrt(along**2 + rng.chisquare(dim - 1, size=rows))
    return np.sqrt(radius**2 - 2 * radius * separation * along + separation**2) - radius


@pytest.mark.parametrize(("count", "rows"), [(2, 40_000), (30, 20_000), (300, 4000), (1000, 2000)])
@pytest.mark.parametrize("dim", [16, 384])
def test_the_advantage_of_many_releases_is_never_below_brute_force_and_close_to_it(count, rows, dim):
    rng = np.random.default_rng(count * dim)
    separation = 1.2 * math.sqrt(dim / count)
    sums = np.zeros(rows)
    for _ in range(count):
        sums += drawn(dim, separation, rows, rng)
    measured = 1 - 2 * (sums <= 0).mean()
    room = RARE / math.sqrt(rows)
    said = summed([(discretised(laplace_loss(separation, dim), 1024), count)]).advantage
    assert measured - room <= said <= measured + room + 0.03


@pytest.mark.parametrize("cells", [256, 4096])
@pytest.mark.parametrize("count", [1, 2, 17, 400, 10_000])
def test_whatever_the_grid_the_bound_is_on_the_safe_side_of_the_closed_form(count, cells):
    mu = 1.0 / math.sqrt(count)
    said = summed([(discretised(NormalLoss(mu), cells), count)]).advantage
    assert normal_advantage(1.0) <= said <= normal_advantage(1.0) + 40 / cells


def test_releases_of_different_kinds_add_on_one_grid():
    """Their cells are of different widths, and those of each fit into the others'."""
    laws = [NormalLoss(0.02), NormalLoss(0.3), laplace_loss(10.0, 384)]
    losses = [discretised(law, cells) for law, cells in zip(laws, (1024, 1024, 512), strict=True)]
    assert len({loss.exponent for loss in losses}) == 3
    found = summed([(losses[0], 900), (losses[1], 3), (losses[2], 2)])
    rng = np.random.default_rng(3)
    rows = 40_000
    total = rng.normal(0.5 * 900 * 0.02**2, 0.02 * math.sqrt(900), rows)
    total += rng.normal(0.5 * 3 * 0.3**2, 0.3 * math.sqrt(3), rows)
    total += drawn(384, 10.0, rows, rng) + drawn(384, 10.0, rows, rng)
    measured, room = 1 - 2 * (total <= 0).mean(), RARE / math.sqrt(rows)
    assert found.mu == pytest.approx(math.sqrt(900 * 0.02**2 + 3 * 0.3**2 + 2 * 100 / 384))
    assert measured - room <= found.advantage <= measured + room + 0.08
    # All of it in one law's releases alone would be too little.
    assert summed([(losses[1], 3)]).advantage < measured - room


def test_a_bound_that_forgot_its_rounding_would_be_caught():
    """With one cell a side the law on the grid says too little of a release, and the band says so."""
    coarse = discretised(NormalLoss(0.2), 16)
    found = summed([(coarse, 1)])
    bare = 1 - 2 * float(found._cdf(np.array([-1e-9]))[0])
    assert bare < normal_advantage(0.2) < found.advantage


def test_the_loss_of_a_mechanism_has_its_name_slack_and_largest_loss():
    one = loss_of(Laplace(epsilon=20.0), 0.1, 64)
    assert one is loss_of(Laplace(epsilon=20.0), 0.1, 64)  # whichever object it is
    assert one.largest == pytest.approx(2.0) and one.slack == Laplace(epsilon=20.0).guarantee.slack > 0
    names = {one.name}
    for mechanism, distance, dim in ((Laplace(epsilon=21.0), 0.1, 64), (Laplace(epsilon=20.0), 0.2, 64)):
        names.add(loss_of(mechanism, distance, dim).name)
    names.add(loss_of(Laplace(epsilon=20.0), 0.1, 65).name)
    names.add(loss_of(Polar(epsilon=20.0), 0.1, 64).name)
    assert len(names) == 5
    assert loss_of(Identity(), 0.1, 16) is None
    assert loss_of(Gaussian(sigma=1.0), 0.1, 16).largest == math.inf


def test_what_is_remembered_is_bounded(monkeypatch):
    monkeypatch.setattr(curves, "_REMEMBERED", {})
    for number in range(curves._MOST_REMEMBERED + 5):
        loss_of(Gaussian(sigma=1.0), 0.1 + number / 100, 4)
    assert len(curves._REMEMBERED) <= curves._MOST_REMEMBERED


def test_floating_point_is_added_for_every_release():
    one = loss_of(Laplace(epsilon=20.0), 0.1, 64)
    bare = curves.replace(one, slack=0.0)
    assert summed([(one, 9)]).advantage == pytest.approx(summed([(bare, 9)]).advantage + 9 * one.slack)
