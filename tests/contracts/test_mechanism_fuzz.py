"""Ten thousand strange inputs a mechanism: a typed refusal without values, or a release on the grid."""

from __future__ import annotations

import functools
import math
import re

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato import grid
from sfumato.errors import SfumatoError, VectorError
from sfumato.mechanisms import (
    Gaussian,
    Identity,
    Laplace,
    Mahalanobis,
    Polar,
    Projection,
    Purkayastha,
    Suppression,
)
from sfumato.randomness import generator
from tests.contracts.mechanism_cases import dense, factored, mask

SHAPES = {"mask": mask, "dense": dense, "factored": factored}


@functools.cache
def shape(kind: str, dim: int) -> object:
    return SHAPES[kind](dim)


def _mahalanobis(epsilon, dim, choice, max_norm):
    return Mahalanobis(epsilon=epsilon, shape=shape(list(SHAPES)[choice % 3], dim), max_norm=max_norm)


def _gaussian(epsilon, dim, choice, max_norm):
    if choice % 2:
        return Gaussian.analytic(epsilon=epsilon, delta=10.0 ** -(choice % 12 + 1), max_norm=max_norm)
    return Gaussian(sigma=epsilon, max_norm=max_norm)


def _projection(epsilon, dim, choice, max_norm):
    mode = ("width", "spectral", "orthonormal")[choice % 3]
    return Projection(epsilon=epsilon, sensitivity=mode, components=1 + choice % 7, max_norm=max_norm)


MAKERS = {
    "laplace": lambda e, d, c, m: Laplace(epsilon=e, max_norm=m),
    "mahalanobis": _mahalanobis,
    "purkayastha": lambda e, d, c, m: Purkayastha(epsilon=e, max_norm=m),
    "gaussian": _gaussian,
    "projection": _projection,
    "suppression": lambda e, d, c, m: Suppression(
        epsilon=e, mask=shape("mask", d), share=(c + 1) / 101, max_norm=m
    ),
    "polar": lambda e, d, c, m: Polar(epsilon=e, radius_epsilon=c or None, max_norm=m),
    "identity": lambda e, d, c, m: Identity(max_norm=m),
}

DTYPES = ["f4", "f8", "f2", ">f4", ">f8", "longdouble", "i4", "u1", "bool", "c8", "object", "U3"]
LAYOUTS = [
    "plain",
    "read-only",
    "fortran",
    "every-other-row",
    "reversed",
    "list",
    "masked",
    "one-dimensional",
]
POISONS = [None] * 14 + ["nan", "inf", "zero", "denormal", "tiny", "1e6", "1e12", "1e300", "-0.0"]
EPSILONS = st.one_of(
    st.sampled_from([1e-3, 1.0, 30.0, 1e3]),
    st.floats(1e-2, 1e3),
    st.floats(1e-1, 1e2),
    st.floats(1e-4, 1e7),
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from([0, -1, True, None, "3", 1e-40, 1e300]),
)


def build(seed: int, rows: int, dim: int, dtype: str, layout: str, poison: str | None) -> object:
    rng = generator(seed)
    vectors = rng.standard_normal((rows, dim))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if poison and rows:
        row = int(rng.integers(rows))
        value = {"zero": 0.0, "denormal": 5e-324, "tiny": 1e-30}.get(poison)
        vectors[row] = float(poison) if value is None else value
    with np.errstate(all="ignore"):
        array = vectors.astype(dtype)
    if layout == "read-only":
        array.flags.writeable = False
    elif layout == "fortran":
        array = np.asfortranarray(array)
    elif layout == "every-other-row":
        array = np.repeat(array, 2, axis=0)[::2]
    elif layout == "reversed":
        array = array[::-1, ::-1]
    elif layout == "masked":
        array = np.ma.masked_invalid(array) if array.dtype.kind == "f" else np.ma.array(array)
    elif layout == "one-dimensional":
        array = array.reshape(-1)
    return array.tolist() if layout == "list" else array


# The norm bound, which a refusal may name.
ALLOWED = {"1e-06", "1e+06"}


def shown_numbers(text: str) -> set[str]:
    """Everything in a text that looks like a measured number rather than a count."""
    return set(re.findall(r"\d+\.\d{2,}(?:e[+-]?\d+)?|\d(?:\.\d+)?e[+-]?\d+", text))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", MAKERS)
def test_strange_input_is_refused_or_released_whole(name):
    seen = {"released": 0, "refused": 0}

    @settings(
        max_examples=10_000,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
    )
    @given(
        seed=st.integers(0, 2**32),
        rows=st.integers(0, 4),
        dim=st.integers(1, 9),
        dtype=st.sampled_from(DTYPES[:5] * 6 + DTYPES),
        layout=st.sampled_from(LAYOUTS),
        poison=st.sampled_from(POISONS),
        epsilon=EPSILONS,
        choice=st.integers(0, 100),
        max_norm=st.sampled_from([1.0] * 6 + [2.0, 1e-6, 1e3, 1e6, 0.0, math.nan]),
    )
    def check(seed, rows, dim, dtype, layout, poison, epsilon, choice, max_norm):
        vectors = build(seed, rows, dim, dtype, layout, poison)
        before = vectors.tobytes() if isinstance(vectors, np.ndarray) else None
        try:
            mechanism = MAKERS[name](epsilon, dim, choice, max_norm)
            released = mechanism.privatize(vectors)
        except SfumatoError as error:
            seen["refused"] += 1
            if isinstance(error, VectorError):
                assert not (shown_numbers(str(error)) & shown_numbers(repr(vectors)) - ALLOWED), str(error)
        else:
            seen["released"] += 1
            assert released.shape == (rows, mechanism.output_dim(dim)) and released.dtype == np.float32
            assert np.isfinite(released).all()
            if name != "identity":
                assert grid.is_on(released, mechanism.step(dim))
        if before is not None:
            assert vectors.tobytes() == before

    check()
    # A fuzz test that only ever sees one outcome tests half of the promise.
    assert min(seen.values()) > 500, seen
