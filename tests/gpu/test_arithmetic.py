"""The samplers' own arithmetic is as exact as docs/numerics.md needs."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sfumato import grid
from sfumato.gpu import arithmetic

MOST_ERROR = 8 * 2.0**-53
"""A handful of roundings, relative to the largest number in play."""

rng = np.random.Generator(np.random.PCG64(0))


def words(count: int) -> torch.Tensor:
    return torch.from_numpy(rng.integers(-(2**63), 2**63, count, dtype=np.int64))


def test_logarithm_is_exact_to_a_few_last_places():
    values = np.concatenate([rng.random(100_000), 2.0 ** -rng.uniform(0, 63, 100_000), [1.0, 2.0**-63, 8.0]])
    found = arithmetic.minus_two_log(torch.from_numpy(values)).numpy()
    exact = -2 * np.log(values.astype(np.longdouble))
    assert np.all(np.abs(found - exact) <= MOST_ERROR * np.maximum(np.abs(exact), 2.0**-50))


def test_four_logarithms_with_one_division_are_as_exact():
    values = [torch.from_numpy(rng.random(50_000)) for _ in range(4)]
    for found, value in zip(arithmetic.minus_two_logs(values), values, strict=True):
        exact = -2 * np.log(value.numpy().astype(np.longdouble))
        assert np.all(np.abs(found.numpy() - exact) <= 2 * MOST_ERROR * np.abs(exact))


def test_cosine_and_sine_are_exact_on_half_a_turn():
    angle = np.concatenate([rng.uniform(0, math.pi, 100_000), [0.0, 1e-9, math.pi / 2, math.pi]])
    cos, sin = arithmetic.cosine_sine(torch.from_numpy(angle))
    wide = angle.astype(np.longdouble)
    assert np.all(np.abs(cos.numpy() - np.cos(wide)) <= 2.0**-52)
    assert np.all(np.abs(sin.numpy() - np.sin(wide)) <= MOST_ERROR * np.sin(wide))


def test_normals_are_within_the_error_that_the_grid_allows():
    drawn = [words(50_000) for _ in range(8)]
    found = arithmetic.eight_normals(drawn)
    for number in range(0, 8, 2):
        u = ((drawn[number].numpy() & (2**63 - 1)) | 1).astype(np.longdouble) * np.longdouble(2) ** -63
        turn = drawn[number + 1].numpy()
        radius = np.sqrt(-2 * np.log(u)) * np.where(turn & 2, -1, 1)
        angle = turn.astype(np.longdouble) * np.longdouble(2) ** -63 * (np.pi / np.longdouble(4))
        cos, sin = np.cos(angle), np.sin(angle)
        swap = (turn & 1) == 1
        # docs/numerics.md allows 8 roundings of a number of 16 standard deviations; near radius 0 the step of
        # u itself, 2^-53, moves the radius by 2^-54/radius.
        allowed = 16 * MOST_ERROR + 2.0**-53 / np.maximum(np.abs(radius), 2.0**-26)
        for column, share in (
            (found[number], np.where(swap, sin, cos)),
            (found[number + 1], np.where(swap, cos, sin)),
        ):
            assert np.all(np.abs(column.numpy() - radius * share) <= allowed)


def test_the_extreme_words_give_finite_normals():
    edge = torch.tensor([0, 1, 2, 3, -1, -2, 2**63 - 1, -(2**63)])
    radius, angle = torch.cartesian_prod(edge, edge).T
    first, second = arithmetic.normal_pair(radius.contiguous(), angle.contiguous())
    assert torch.isfinite(first).all()
    assert torch.isfinite(second).all()
    assert float(torch.hypot(first, second).max()) == pytest.approx(math.sqrt(2 * 63 * math.log(2)))


@given(st.permutations(range(64)))
def test_exact_sums_do_not_depend_on_the_order(order):
    terms = torch.from_numpy(np.random.Generator(np.random.PCG64(5)).standard_normal((4, 64)) ** 2 * 30)
    assert torch.equal(arithmetic.exact_sum(terms), arithmetic.exact_sum(terms[:, list(order)]))


def test_exact_sums_are_sums():
    terms = rng.standard_normal((100, 8192)) ** 2
    exact = np.array([math.fsum(row) for row in terms])
    found = arithmetic.exact_sum(torch.from_numpy(terms)).numpy()
    assert np.all(np.abs(found - exact) <= 2.0**-52 * exact)


def test_power_below_brings_numbers_to_one_and_two():
    values = torch.tensor([1.0, 1.5, 2.0, 0.3, 1e-20, 1e6], dtype=torch.float64)
    scaled = values * arithmetic.power_below(values)
    assert ((scaled >= 1.0) & (scaled < 2.0)).all()


@pytest.mark.parametrize("step", [2.0**-100, 2.0**-13, 1.0, 2.0**80])
def test_snap_rounds_as_the_grid_of_the_cpu(step):
    scaled = np.concatenate(
        [
            rng.standard_normal(10_000) * 2000,
            rng.standard_normal(1000) * 2.0**24,
            [0.5, -0.5, 1.5, -0.25, 1e300],
        ]
    )
    with np.errstate(over="ignore"):
        values = scaled * step
    expected = np.empty(len(scaled), np.float32)
    grid.snap(values / step, step, expected)
    found = arithmetic.snap(torch.from_numpy(values), step, grid.LARGEST * step).numpy()
    assert np.array_equal(found, expected)
    assert not np.signbit(found[found == 0]).any()
