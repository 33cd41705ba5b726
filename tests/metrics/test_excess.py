"""The leakage record and its intervals: jointly drawn, by group, and of the coverage they claim."""

from __future__ import annotations

import json

import numpy as np
import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.metrics import Hits, Resampling, excess_leakage, measure_leakage
from sfumato.metrics.intervals import percentile_interval, resampled_sums
from sfumato.randomness import generator


def hits(found, total=None) -> Hits:
    found = np.asarray(found, np.float64)
    return Hits(found, np.ones(len(found)) if total is None else np.asarray(total, np.float64))


def draw(rate, rows, seed) -> Hits:
    return hits(generator(seed).random(rows) < rate)


def test_excess():
    assert excess_leakage(control=0.95, floor=0.57, released=0.57) == 0.0
    assert excess_leakage(control=0.95, floor=0.57, released=0.95) == 1.0
    assert excess_leakage(control=0.9, floor=0.5, released=0.4) == pytest.approx(-0.25)
    assert excess_leakage(control=0.5, floor=0.5, released=0.7) is None


def test_the_record():
    parts = {"control": draw(0.9, 400, 1), "floor": draw(0.3, 400, 2), "released": draw(0.4, 400, 3)}
    record = measure_leakage(**parts, prior=draw(0.1, 400, 4), attack="tokens")
    for name, part in parts.items():
        low, high = record.intervals[name]
        assert getattr(record, name) == part.rate and low < part.rate < high
    assert record.excess == pytest.approx((record.released - record.floor) / (record.control - record.floor))
    assert record.interval[0] < record.excess < record.interval[1]
    absolute = (record.released - record.prior) / (record.control - record.prior)
    assert record.absolute == pytest.approx(absolute) and record.absolute > record.excess
    assert record.absolute_interval[0] < absolute < record.absolute_interval[1]
    written = json.loads(json.dumps(record.to_dict()))
    assert {"control", "floor", "prior", "released", "excess", "attack", "interval"} <= set(written)
    assert record.rows == record.groups == 400


def test_rows_are_drawn_jointly():
    control, floor = draw(0.9, 300, 1), draw(0.2, 300, 2)
    # Row for row the same as the control, or as the floor: in every resample the excess is 1, or 0.
    for released, wanted in ((control, 1.0), (floor, 0.0)):
        record = measure_leakage(control=control, floor=floor, released=released, prior=floor)
        assert record.excess == wanted and record.interval == pytest.approx((wanted, wanted), abs=1e-12)


def test_near_duplicates_are_drawn_together():
    once = {"control": draw(0.9, 80, 1), "floor": draw(0.3, 80, 2), "released": draw(0.5, 80, 3)}
    five = {name: hits(np.repeat(part.found, 5)) for name, part in once.items()}
    groups = np.repeat(np.arange(80), 5)
    alone = measure_leakage(**once, prior=once["floor"])
    together = measure_leakage(**five, prior=five["floor"], how=Resampling(groups=groups + 7))
    # Five copies of every row say nothing new.
    assert together.interval == pytest.approx(alone.interval)
    assert together.intervals["released"] == pytest.approx(alone.intervals["released"])
    assert together.rows == 400 and together.groups == 80
    blind = measure_leakage(**five, prior=five["floor"])
    assert np.diff(blind.intervals["released"]) < 0.6 * np.diff(alone.intervals["released"])


def test_several_seeds_are_pooled():
    control, floor = draw(0.9, 200, 1), draw(0.3, 200, 2)
    runs = [draw(0.5, 200, seed) for seed in (3, 4, 5)]
    record = measure_leakage(control=[control] * 3, floor=floor, released=runs, prior=floor)
    assert record.released == pytest.approx(np.mean([run.rate for run in runs])) and record.runs == 3


def test_undefined_excess():
    floor = draw(0.5, 200, 1)
    same = measure_leakage(control=floor, floor=floor, released=draw(0.4, 200, 2), prior=floor)
    assert same.excess is None and same.interval is None and same.intervals["released"] is not None
    # A control barely above its floor: the figure exists, but resamples often turn it round.
    close = hits(np.concatenate([floor.found[:-1], [1.0]]))
    barely = measure_leakage(
        control=close, floor=hits(floor.found * [*[1] * 199, 0]), released=floor, prior=floor
    )
    assert barely.excess is not None and barely.interval is None


def test_intervals_cover_as_often_as_they_say():
    """Rates of clustered rows: the interval holds the true rate in about 95 of 100 samples."""
    rng, covered, blind = generator(7), 0, 0
    trials, clusters, size, rate = 150, 60, 4, 0.3
    groups = np.repeat(np.arange(clusters), size)
    for trial in range(trials):
        found = np.repeat(rng.random(clusters) < rate, size).astype(float)
        table = np.stack([found, np.ones(len(found))], axis=1)
        for how in (
            Resampling(groups=groups, resamples=300, seed=trial),
            Resampling(resamples=300, seed=trial),
        ):
            sums = resampled_sums(table, how)
            low, high = percentile_interval(sums[:, 0] / sums[:, 1])
            covered += how.groups is not None and low <= rate <= high
            blind += how.groups is None and low <= rate <= high
    assert 0.88 <= covered / trials <= 0.99
    assert blind / trials < 0.8


def test_resampled_sums_are_sums_of_draws():
    columns = np.stack([np.arange(5.0), np.ones(5)], axis=1)
    sums = resampled_sums(columns, Resampling(resamples=4000, seed=3))
    assert (sums[:, 1] == 5).all() and sums[:, 0].mean() == pytest.approx(10, abs=0.2)
    assert sums[:, 0].std() == pytest.approx(np.sqrt(5 * 2.0), rel=0.05)
    assert np.array_equal(sums, resampled_sums(columns, Resampling(resamples=4000, seed=3)))
    assert not np.array_equal(sums, resampled_sums(columns, Resampling(resamples=4000, seed=4)))


def test_percentiles():
    draws = np.arange(1000.0)
    assert percentile_interval(draws) == pytest.approx((25, 975), abs=1.5)
    assert percentile_interval(draws, 0.5) == pytest.approx((250, 750), abs=1.5)
    few = draws.copy()
    few[:10] = np.nan
    low, high = percentile_interval(few)
    # Undefined draws count against both ends.
    assert low < 26 and high > 983
    few[:30] = np.nan
    assert percentile_interval(few) is None


def test_refused():
    floor = draw(0.3, 20, 1)
    with pytest.raises(InputError, match="same rows"):
        measure_leakage(control=floor, floor=floor, released=draw(0.3, 21, 1), prior=floor)
    with pytest.raises(InputError, match="sensitive"):
        nothing = hits(np.zeros(3), np.zeros(3))
        measure_leakage(control=nothing, floor=nothing, released=nothing, prior=nothing)
    with pytest.raises(InputError, match="groups"):
        measure_leakage(
            control=floor, floor=floor, released=floor, prior=floor, how=Resampling(groups=[1, 2])
        )
    with pytest.raises(ParameterError, match="resamples"):
        Resampling(resamples=1)
    with pytest.raises(InputError, match="rows to draw"):
        resampled_sums(np.zeros((0, 2)))
