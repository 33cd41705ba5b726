"""The benchmark's structure; no test here asks how fast anything is."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from sfumato.benchmarks import (
    CPU,
    PEERS,
    REFERENCES,
    Spread,
    Timing,
    bench,
    compare,
    import_times,
    interleave,
    peers,
    speed,
)
from sfumato.cli import bench as bench_command
from sfumato.errors import ParameterError
from sfumato.mechanisms import MECHANISMS
from sfumato.randomness import generator


class FakeClock:
    """Time moves only when a contender moves it."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def work(self, seconds):
        self.now += seconds


@pytest.fixture(scope="module")
def report():
    return bench(dims=(8, 16), rows=24, rounds=1, seed=3)


def is_spread(value):
    return set(value) == {"median", "low", "high"} and 0 < value["low"] <= value["median"] <= value["high"]


def test_contenders_take_turns_from_a_rotating_start():
    ran = []
    contenders = {name: lambda name=name: ran.append(name) for name in "abc"}
    timed = interleave(contenders, 3)
    assert ran == list("abcbcacababc")
    assert list(timed) == ["a", "b", "c"]
    assert all(len(timing.laps) == 3 for timing in timed.values())


def test_the_first_round_is_dropped_and_ratios_are_taken_round_by_round():
    clock = FakeClock()
    loads = iter([50.0, 1.0, 4.0, 2.0])
    timed = interleave(
        {"base": lambda: clock.work(next(loads)), "same": lambda: clock.work(3.0)}, 3, clock=clock
    )
    assert timed["base"].laps == (1.0, 4.0, 2.0)
    assert timed["base"].best == 1.0
    assert timed["base"].median == 2.0
    assert timed["base"].ratio == Spread(1.0, 1.0, 1.0)
    assert timed["same"].ratio.median == pytest.approx(1.5)
    assert timed["base"].over(timed["same"]).median == pytest.approx(2 / 3)


def test_the_baseline_can_be_named():
    clock = FakeClock()
    contenders = {"one": lambda: clock.work(1.0), "two": lambda: clock.work(2.0)}
    timed = interleave(contenders, 2, baseline="two", clock=clock)
    assert timed["one"].ratio.median == pytest.approx(0.5)


def test_a_clock_too_coarse_for_a_lap_gives_finite_ratios():
    timed = interleave({"a": lambda: None, "b": lambda: None}, 2, clock=lambda: 0.0)
    assert timed["b"].ratio.median == 1.0


def test_processor_time_is_offered():
    timed = interleave({"sum": lambda: sum(range(1000))}, 2, clock=CPU)
    assert isinstance(timed["sum"], Timing)
    assert timed["sum"].best >= 0


@pytest.mark.parametrize(
    ("contenders", "rounds", "baseline"),
    [({}, 1, None), ({"a": int}, 0, None), ({"a": int}, 1, "b"), ({"a": int}, True, None)],
)
def test_interleave_refuses_nonsense(contenders, rounds, baseline):
    with pytest.raises(ParameterError):
        interleave(contenders, rounds, baseline=baseline)


def test_every_registered_mechanism_is_timed(report):
    assert {row.mechanism for row in report.speeds} == set(MECHANISMS.names())
    per_dim = {dim: [row.case for row in report.speeds if row.dim == dim] for dim in (8, 16)}
    assert per_dim[8] == per_dim[16]
    assert len(set(per_dim[8])) == len(per_dim[8])
    for case in ("mahalanobis, mask", "mahalanobis, dense", "mahalanobis, rank 64", "polar, with radius"):
        assert case in per_dim[8]


def test_every_figure_is_positive_and_finite(report):
    for row in report.speeds:
        assert row.rows == 24
        for figure in (row.microseconds, row.sticky_microseconds):
            assert math.isfinite(figure) and figure >= 0
        assert row.best_microseconds <= row.microseconds
        for ratio in (row.floor, row.laplace, row.doubled, row.sticky):
            assert is_spread(ratio.to_dict())
    laplace = [row for row in report.speeds if row.mechanism == "laplace"]
    assert [row.laplace for row in laplace] == [Spread(1.0, 1.0, 1.0)] * 2


def test_the_report_is_plain_json(report):
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert set(data) == {"settings", "floors", "speeds", "imports"}
    assert data["settings"]["rounds"] == 1
    assert data["settings"]["clock"] == "cpu"
    assert data["settings"]["seed"] == 3
    assert [floor["dim"] for floor in data["floors"]] == [8, 16]
    assert all(is_spread(floor["doubled"]) for floor in data["floors"])
    assert set(data["imports"]) == {"python", "numpy", "sfumato", "mechanisms", "over_numpy"}
    keys = {"case", "mechanism", "dim", "rows", "microseconds", "best_microseconds", "floor", "laplace"}
    assert all(set(row) == keys | {"doubled", "sticky_microseconds", "sticky"} for row in data["speeds"])


def test_laplace_is_always_timed_and_progress_ends_at_its_total():
    steps = []
    report = bench((6,), 5, 1, ["gaussian"], 2, lambda *step: steps.append(step))
    assert [row.case for row in report.speeds] == ["laplace", "gaussian"]
    assert report.clock == "wall"
    assert [done for done, _, _ in steps] == list(range(1, 7))
    assert {total for _, total, _ in steps} == {6}


def test_every_case_has_the_noise_it_is_timed_at():
    for case, mechanism in speed.cases(None, 12, generator(0)).items():
        if case != "identity":
            assert mechanism.noise_ratio(12) == pytest.approx(1.0, rel=1e-6)


@pytest.mark.parametrize(
    "settings",
    [{"dims": (1,)}, {"dims": (8.5,)}, {"rows": 0}, {"rounds": 0}, {"threads": 0}, {"names": ["laplas"]}],
)
def test_bench_refuses_nonsense_before_it_starts(settings):
    with pytest.raises(ParameterError):
        bench(**settings)


def test_import_times_are_those_of_fresh_interpreters():
    times = import_times(1)
    assert min(times.python, times.numpy, times.sfumato, times.mechanisms) > 0


def test_peers_are_compared_or_say_how_to_install_them(monkeypatch):
    monkeypatch.setattr(peers, "OUR_ROWS", 16)
    rows = compare(dim=8, rounds=1)
    assert [row.name for row in rows] == [peer.name for peer in PEERS]
    for row in rows:
        data = json.loads(json.dumps(row.to_dict(), allow_nan=False))
        assert set(data) == {
            "name", "ours", "dim", "note", "microseconds", "our_microseconds", "speed_up", "missing",
        }  # fmt: skip
        if row.missing:
            assert row.speed_up is None
            assert "pip install" in row.missing or "did not run" in row.missing
        else:
            assert is_spread(data["speed_up"])
    scipy_row = rows[0]
    assert scipy_row.name.startswith("scipy") and not scipy_row.missing
    assert scipy_row.ours == "polar"


def test_a_broken_or_absent_peer_does_not_end_the_run(monkeypatch):
    def broken(vectors, epsilon):
        raise RuntimeError("cannot\nstart")

    absent = peers.Peer("absent", "no_such_module", "laplace", 1, broken, "note")
    failing = peers.Peer("failing", "json", "laplace", 1, broken, "note")
    monkeypatch.setattr(peers, "PEERS", (absent, failing))
    first, second = compare(dim=8, rounds=1)
    assert first.missing == "not installed: pip install 'sfumato[peers]'"
    assert second.missing == "installed, but did not run (RuntimeError: cannot)"


def test_the_diffprivlib_peer_draws_our_noise():
    pytest.importorskip("diffprivlib", exc_type=ImportError)
    dim, epsilon = 6, 3.0
    vectors = np.zeros((4000, dim), np.float32)
    noise = np.array(peers._diffprivlib(vectors, epsilon, seed=0)())
    radius = np.linalg.norm(noise, axis=1)
    # The radius of density ~ exp(-epsilon ||z||) is Gamma(dim, 1/epsilon); bounds are five standard errors.
    assert abs(radius.mean() - dim / epsilon) < 5 * math.sqrt(dim) / epsilon / math.sqrt(4000)
    assert abs(radius.var() - dim / epsilon**2) < 5 * math.sqrt((2 + 6 / dim) / 4000) * dim / epsilon**2


@pytest.fixture
def run(monkeypatch):
    monkeypatch.setattr(peers, "OUR_ROWS", 16)
    app = typer.Typer()
    app.command(bench_command.NAME, epilog=bench_command.EXAMPLE)(bench_command.command)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_the_command_prints_tables_and_writes_json(run, tmp_path):
    target = tmp_path / "bench.json"
    small = ("--dims", "8,16", "--rows", "12", "--rounds", "1")
    result = run("laplace", "polar", *small, "--no-peers", "--json", str(target))
    assert result.exit_code == 0, result.output
    for words in ("8 dimensions", "16 dimensions", "x floor", "x Laplace", "2 threads", "polar, with radius"):
        assert words in result.output
    assert "PCG64" in result.output
    data = json.loads(target.read_text())
    assert set(data) == {"settings", "floors", "speeds", "imports", "peers", "references"}
    assert data["peers"] == []
    assert len(data["references"]) == len(REFERENCES)
    assert {row["mechanism"] for row in data["speeds"]} == {"laplace", "polar"}


def test_the_command_lists_peers(run):
    result = run("identity", "--dims", "8", "--rows", "4", "--rounds", "1")
    assert result.exit_code == 0, result.output
    assert "vonmises_fisher" in result.output
    assert "SPARSE" in result.output


def test_the_command_refuses_dimensions_it_cannot_read(run):
    assert run("--dims", "many").exit_code == 2
