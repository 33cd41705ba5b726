"""What every mechanism must do; a new one is tested by being registered."""

from __future__ import annotations

import json
import math
import pickle

import numpy as np
import pytest

from sfumato import grid
from sfumato.errors import ParameterError, VectorError
from sfumato.mechanisms import MECHANISMS
from sfumato.randomness import InsecureSeedWarning, Source
from tests.contracts.mechanism_cases import CASES, NOISY, PROMISING, unit_vectors

DIM = 48


def without_strength(mechanism):
    return {name: value for name, value in mechanism._given().items() if name != mechanism.strength}


every = pytest.mark.parametrize("make", CASES.values(), ids=CASES)
noisy = pytest.mark.parametrize("make", NOISY.values(), ids=NOISY)


def test_every_registered_mechanism_has_a_case():
    assert {name.partition("-")[0] for name in CASES} == set(MECHANISMS.names())
    for name in MECHANISMS.names():
        assert MECHANISMS.get(name).name == name


@every
def test_shape_and_type(make):
    mechanism = make(100.0, DIM)
    vectors = unit_vectors(33, DIM)
    before = vectors.copy()
    released = mechanism.privatize(vectors)
    assert released.dtype == np.float32 and released.flags.c_contiguous
    assert released.shape == (33, mechanism.output_dim(DIM))
    assert np.isfinite(released).all()
    assert np.array_equal(vectors, before)


@every
def test_no_rows_give_no_rows(make):
    mechanism = make(100.0, DIM)
    assert mechanism.privatize(np.empty((0, DIM), np.float32)).shape == (0, mechanism.output_dim(DIM))


@noisy
def test_output_is_on_the_grid_without_signed_zeros(make):
    mechanism = make(100.0, DIM)
    released = mechanism.privatize(unit_vectors(2000, DIM))
    step = mechanism.step(DIM)
    assert math.log2(step).is_integer()
    assert grid.is_on(released, step)
    assert not (np.signbit(released) & (released == 0)).any()
    # The grid is fine beside the noise, so it costs no utility.
    assert step <= mechanism.noise_sd(DIM) / 1024


@noisy
def test_fresh_noise_every_time_and_seeds_repeat(make):
    mechanism = make(100.0, DIM)
    vectors = unit_vectors(50, DIM)
    assert not np.array_equal(mechanism.privatize(vectors), mechanism.privatize(vectors))
    with pytest.warns(InsecureSeedWarning):
        first = mechanism.privatize(vectors, 7)
    with pytest.warns(InsecureSeedWarning):
        again = mechanism.privatize(vectors, 7)
    with pytest.warns(InsecureSeedWarning):
        other = mechanism.privatize(vectors, 8)
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@noisy
def test_the_number_of_threads_changes_nothing(make):
    mechanism = make(100.0, DIM)
    vectors = unit_vectors(5000, DIM)
    with pytest.warns(InsecureSeedWarning):
        one = mechanism.privatize(vectors, Source.seeded(5), threads=1)
    with pytest.warns(InsecureSeedWarning):
        four = mechanism.privatize(vectors, Source.seeded(5), threads=4)
    assert np.array_equal(one, four)


@noisy
def test_little_noise_gives_the_input_back(make):
    mechanism = make(1e4, DIM)
    vectors = unit_vectors(200, DIM)
    released, wanted = mechanism.privatize(vectors).astype(np.float64), mechanism.expected(vectors)
    cosine = np.vecdot(released, wanted) / np.linalg.norm(released, axis=1) / np.linalg.norm(wanted, axis=1)
    assert cosine.min() > 0.98


@noisy
def test_predicted_noise_is_measured_noise(make):
    dim = 256
    mechanism = make(300.0, dim)
    vectors = unit_vectors(6000, dim, seed=1)
    released, wanted = mechanism.privatize(vectors).astype(np.float64), mechanism.expected(vectors)
    cosine = np.vecdot(released, wanted) / np.linalg.norm(released, axis=1) / np.linalg.norm(wanted, axis=1)
    tolerance = 0.05 if mechanism.name == "suppression" else 0.02
    assert cosine.mean() == pytest.approx(mechanism.cosine_kept(dim), abs=tolerance)
    if mechanism.additive:
        ratio = np.linalg.norm(released - wanted, axis=1).mean()
        assert ratio == pytest.approx(mechanism.noise_ratio(dim), rel=0.02)


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_made_from_a_noise_ratio_or_a_cosine(name):
    kind = MECHANISMS.get(name)
    given = without_strength(kind.example(DIM))
    if not kind.noisy:
        with pytest.raises(ParameterError):
            kind.from_noise_ratio(1.0, dim=DIM)
        with pytest.raises(ParameterError):
            kind.from_cosine(0.7, dim=DIM)
        return
    assert kind.from_noise_ratio(1.4, dim=DIM, **given).noise_ratio(DIM) == pytest.approx(1.4, rel=1e-9)
    assert kind.from_cosine(0.7, dim=DIM, **given).cosine_kept(DIM) == pytest.approx(0.7, abs=1e-9)
    with pytest.raises(ParameterError):
        kind.from_noise_ratio(float("nan"), dim=DIM, **given)
    with pytest.raises(ParameterError):
        kind.from_cosine(1.5, dim=DIM, **given)
    with pytest.raises(ParameterError):
        kind.from_noise_ratio(1.0, dim=DIM, **given, **{kind.strength: 1.0})


@noisy
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, 1e-40, 1e300, "1", True, None, [1.0], 1j])
def test_bad_strength_is_refused(make, bad):
    kind = type(make(1.0, DIM))
    with pytest.raises(ParameterError):
        kind(**{kind.strength: bad}, **without_strength(kind.example(DIM)))


@every
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_non_finite_rows_are_refused_by_number_not_by_value(make, bad):
    vectors = unit_vectors(9, DIM)
    vectors[6, 3] = bad
    with pytest.raises(VectorError, match="Row 6") as caught:
        make(100.0, DIM).privatize(vectors)
    assert caught.value.row == 6


@every
def test_zero_and_overlong_rows_are_refused(make):
    mechanism = make(100.0, DIM)
    vectors = unit_vectors(9, DIM)
    vectors[2] = 0
    with pytest.raises(VectorError, match="Row 2"):
        mechanism.privatize(vectors)
    vectors[2] = 3.0
    with pytest.raises(VectorError, match="Row 2 has a norm above"):
        mechanism.privatize(vectors)


@every
def test_guarantee_is_honest(make):
    guarantee = make(10.0, DIM).guarantee
    if make in PROMISING.values():
        assert guarantee.is_private and guarantee.epsilon == 10.0 or guarantee.metric == "chordal+radius"
        assert 0 < guarantee.slack < 1e-4
        assert guarantee.compose(3).epsilon == 3 * guarantee.epsilon
    else:
        assert guarantee.proof == "none" and math.isinf(guarantee.epsilon) and guarantee.notes
        assert "no differential privacy" in guarantee.describe()


@every
def test_fingerprint_follows_every_parameter(make):
    one, two = make(10.0, DIM), make(10.0, DIM)
    assert one.fingerprint() == two.fingerprint() and len(one.fingerprint()) == 32
    two.max_norm = 2.0
    assert one.fingerprint() != two.fingerprint()
    if one.noisy:
        assert make(10.000001, DIM).fingerprint() != one.fingerprint()


@every
def test_survives_pickling(make):
    mechanism = make(10.0, DIM)
    try:
        copy = pickle.loads(pickle.dumps(mechanism))
    except AttributeError:
        pytest.fail("a mechanism must travel to worker processes")
    assert copy.fingerprint() == mechanism.fingerprint()


@pytest.mark.parametrize("make", PROMISING.values(), ids=PROMISING)
def test_log_density_pairs_rows_and_falls_with_distance(make):
    mechanism = make(20.0, DIM)
    vectors = unit_vectors(5, DIM)
    near = mechanism.expected(vectors) * 1.01
    at_own = mechanism.log_density(near, vectors)
    at_other = mechanism.log_density(near, np.roll(vectors, 1, axis=0))
    assert at_own.shape == (5,) and (at_own > at_other).all()
    assert mechanism.log_density(near[:1], vectors).shape == (5,)
    with pytest.raises(VectorError):
        mechanism.log_density(near[:3], vectors)


@every
def test_made_again_from_what_it_saves(make):
    mechanism = make(10.0, DIM)
    saved = json.loads(json.dumps(mechanism.parameters()))
    made = type(mechanism).from_saved(saved, mechanism.tensors(), source="public")
    assert made.fingerprint() == mechanism.fingerprint()
    assert made.guarantee.epsilon == mechanism.guarantee.epsilon
    assert made.learned_from == (None if mechanism.learned_from is None else "public")


@noisy
def test_scaled_is_the_same_mechanism_at_another_strength(make):
    mechanism = make(10.0, DIM)
    made = mechanism.scaled(noise_ratio=1.4, dim=DIM)
    assert type(made) is type(mechanism) and made.learned_from == mechanism.learned_from
    assert made.noise_ratio(DIM) == pytest.approx(1.4, rel=1e-9)
    given, before = without_strength(made), without_strength(mechanism)
    assert given.keys() == before.keys()
    assert all(given[name] is before[name] or given[name] == before[name] for name in given)
    if mechanism.strength == "epsilon":
        assert mechanism.scaled(epsilon=3.0).epsilon == 3.0
    else:
        with pytest.raises(ParameterError, match="not by an epsilon"):
            mechanism.scaled(epsilon=3.0)
    for bad in ({}, {"epsilon": 1.0, "noise_ratio": 1.0}):
        with pytest.raises(ParameterError, match="Give an `epsilon` or a `noise_ratio`"):
            mechanism.scaled(**bad)


def test_what_has_no_noise_cannot_be_scaled():
    for given in ({"epsilon": 1.0}, {"noise_ratio": 1.0}):
        with pytest.raises(ParameterError, match="no noise"):
            MECHANISMS.get("identity").example(DIM).scaled(**given)


@every
def test_all_pairs_have_the_density_of_each_pair(make):
    mechanism = make(20.0, DIM)
    vectors = unit_vectors(6, DIM).astype(np.float64)
    released = mechanism.privatize(vectors[:4]).astype(np.float64)
    try:
        single = np.stack([mechanism.log_density(row[None], vectors) for row in released])
    except ParameterError:
        return
    for rows in (released, released.astype(np.float32)):
        table = np.asarray(mechanism.log_densities(rows, vectors.astype(rows.dtype)), np.float64)
        assert table.shape == single.shape
        # Up to a constant of each release; what cannot be is impossible in both.
        possible = np.isfinite(single)
        assert np.array_equal(np.isfinite(table), possible) or rows.dtype == np.float32
        both = possible & np.isfinite(table)
        gap = np.where(both, table - np.where(both, single, 0.0), 0.0)
        first = both.argmax(axis=1)
        moved = np.where(both, gap - gap[np.arange(len(gap)), first][:, None], 0.0)
        assert np.abs(moved).max() < (1e-6 if rows.dtype == np.float64 else 1e-2)
