"""The cost model: sums that add up, and a bound that is the largest of them."""

from __future__ import annotations

import pytest

from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import MECHANISMS
from sfumato.scale import rates
from sfumato.scale.cost import Workload, plan


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(rates, "SECONDS", 0.01)


def fixed(monkeypatch, **found):
    monkeypatch.setattr(rates, "vectors", lambda *_, **__: dict(found))


def test_stages_of_a_core_add_up(monkeypatch):
    fixed(monkeypatch, read=1000.0, noise=500.0, write=1000.0)
    found = plan(Workload(vectors=1_000_000, dim=64, cores=4))
    assert found.seconds == pytest.approx(1_000_000 * (1 / 1000 + 1 / 500 + 1 / 1000) / 4)
    assert found.bound == "noise" and found.cores == 4
    assert found.core_hours == pytest.approx(4000 / 3600)
    assert found.noise_core_hours == pytest.approx(2000 / 3600)
    assert found.output_bytes == 1_000_000 * 64 * 4
    assert plan(Workload(vectors=2_000_000, dim=64, cores=8)).seconds == pytest.approx(found.seconds)


def test_a_slow_store_or_few_gpus_bound_the_job(monkeypatch):
    fixed(monkeypatch, read=1e6, noise=1e6, write=1e6)
    store = plan(Workload(vectors=10**9, dim=100, cores=100, store="s3", bandwidth=0.1))
    assert store.bound in ("store read", "store write") and store.seconds == pytest.approx(4e11 / 1e8)
    encoder = plan(Workload(vectors=10**6, dim=100, cores=10, encode="fake:100", gpus=2, encode_rate=50.0))
    assert encoder.bound == "encode" and encoder.seconds == pytest.approx(1e4)
    assert encoder.gpu_hours == pytest.approx(2e4 / 3600)


def test_encoding_is_measured():
    found = plan(Workload(vectors=1000, dim=64, encode="fake:64", cores=1))
    assert {stage.name for stage in found.stages} == {"noise", "write", "encode"}
    with pytest.raises(InputError, match="64 dimensions"):
        plan(Workload(vectors=1000, dim=32, encode="fake:64"))


@pytest.mark.parametrize("name", MECHANISMS.names())
def test_every_mechanism_can_be_planned(name):
    found = plan(Workload(vectors=1000, dim=48, mechanism=name, sticky=True, cores=1))
    assert found.seconds > 0 and {stage.name for stage in found.stages} == {"read", "noise", "write"}
    # A vector of d random numbers takes at least d/2 words of 64 bits, and a few for its length.
    assert found.random_bytes >= (0 if name in ("identity", "suppression", "projection") else 1000 * 48 * 4)


@pytest.mark.parametrize(
    "wrong",
    [
        {"vectors": 0},
        {"dim": 0},
        {"cores": -1},
        {"store": "tape"},
        {"bandwidth": 0.0},
        {"mechanism": "noize"},
    ],
)
def test_bad_questions(wrong):
    with pytest.raises((InputError, ParameterError)):
        plan(Workload(**{"vectors": 10, "dim": 8, **wrong}))
