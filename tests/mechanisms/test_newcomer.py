"""Adding a mechanism takes one file and one line in the table: everything else asks the mechanism."""

from __future__ import annotations

import ast
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.contracts import test_mechanism as contract
from tests.contracts.mechanism_cases import unit_vectors

import sfumato
from sfumato.accounting import Guarantee, Secret
from sfumato.auditing import AuditSettings, audit, settings
from sfumato.benchmarks import bench
from sfumato.cli import main
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.evaluation.calibrate import calibrate, scaled
from sfumato.evaluation.noise import measure_noise
from sfumato.mechanisms import MECHANISMS, Mechanism
from sfumato.mechanisms.base import EPSILON_RANGE, SLACK, add_noise
from sfumato.mechanisms.ellipse import Ellipse
from sfumato.mechanisms.laplace import laplace_scale
from sfumato.mechanisms.moments import chi_mean, coloured_norm_mean, laplace_log_constant
from sfumato.numbers import finite_number
from sfumato.protector import Protector
from sfumato.randomness import Draws, InsecureSeedWarning
from sfumato.records import DISEASES, make_records
from sfumato.registry import Entry
from sfumato.release import as_release
from sfumato.sampling import normals
from sfumato.saving import load_protector, save_protector
from sfumato.sensitivity import Background
from sfumato.types import FloatArray, Floats
from sfumato.verification import verify

DIM = 64
SOURCE = Path(sfumato.__file__).parent


class Ripple(Mechanism):
    """Laplace noise whose width goes up and down from axis to axis: the one file."""

    name = "ripple"
    paper = "of our own"

    def __init__(self, *, epsilon: float, waves: Any = (1.0, 2.0, 3.0), max_norm: float = 1.0) -> None:
        super().__init__(max_norm=max_norm)
        self.epsilon = finite_number(epsilon, "epsilon", *EPSILON_RANGE)
        self.waves = np.asarray(waves, np.float64)

    def _widths(self, dim: int) -> Floats:
        return np.resize(self.waves, dim)

    @property
    def guarantee(self) -> Guarantee:
        worst = self.epsilon / float(self.waves.min())
        return Guarantee(self.name, worst, "l2", "proved", worst_case_l2=worst, slack=SLACK)

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "max_norm": self.max_norm}

    def tensors(self) -> dict[str, Floats]:
        return {"waves": self.waves}

    def noise_sd(self, dim: int) -> float:
        return math.sqrt((dim + 1) * float((self._widths(dim) ** 2).mean())) / self.epsilon

    def noise_covariance(self, dim: int) -> Floats:
        return np.diag(self._widths(dim) ** 2) * ((dim + 1) / self.epsilon**2)

    def noise_ratio(self, dim: int | None = None) -> float:
        n = self._dim(dim)
        spread = coloured_norm_mean(self._widths(n) ** 2) / chi_mean(n)
        return n / self.epsilon * spread / self.max_norm

    def _release(self, vectors: FloatArray, draws: Draws, step: float) -> Floats:
        dim = vectors.shape[1]
        noise = normals(draws, dim)
        noise *= self._widths(dim)
        return add_noise(vectors, noise, laplace_scale(draws, dim, self.epsilon), step, draws.space)

    def ellipse(self, dim: int) -> Ellipse:
        widths = self._widths(dim)
        constant = laplace_log_constant(dim, self.epsilon) - float(np.log(widths).sum())
        return Ellipse(lambda noise: noise / widths * self.epsilon, constant)


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    """The one line."""
    line = Entry("ripple", f"{__name__}:Ripple", "noise that comes in waves")
    monkeypatch.setitem(MECHANISMS._entries, "ripple", line)


@pytest.fixture
def protector():
    spread = Background.fit(unit_vectors(500, DIM, seed=4), source="public")
    made = Ripple.from_noise_ratio(0.5, dim=DIM, waves=[1.0, 4.0])
    return Protector(made, Fake(dim=DIM), background=spread, learned={"dim": DIM, "source": "public"})


def make(epsilon, dim):
    return Ripple(epsilon=epsilon)


CONTRACT = [
    getattr(contract, name)
    for name in dir(contract)
    if name.startswith("test_")
    and name != "test_guarantee_is_honest"  # reads in a table of the tests which ones promise something
    and [mark.args[0] for mark in getattr(getattr(contract, name), "pytestmark", [])] == ["make"]
]


@pytest.mark.parametrize("rule", CONTRACT, ids=lambda rule: rule.__name__)
def test_the_contract_holds(rule):
    rule(make)


def test_saved_loaded_and_sticky(protector, tmp_path):
    secret = Secret.generate()
    save_protector(protector, tmp_path / "p")
    loaded = load_protector(tmp_path / "p", secret=secret)
    assert isinstance(loaded.mechanism, Ripple) and loaded.mechanism.waves.tolist() == [1.0, 4.0]
    assert loaded.guarantee.epsilon == protector.guarantee.epsilon
    texts = ["one text", "and another"]
    assert np.array_equal(loaded.embed(texts), replace(protector, secret=secret).embed(texts))


def test_scaled_and_calibrated(protector):
    weaker = scaled(protector, noise_ratio=0.1).mechanism
    assert weaker.noise_ratio(DIM) == pytest.approx(0.1) and weaker.waves.tolist() == [1.0, 4.0]
    assert scaled(protector, epsilon=3.0).mechanism.epsilon == 3.0
    found = calibrate(protector, unit_vectors(300, DIM), "recall@5=0.6")
    assert found.kept >= 0.6 and found.protector.mechanism.waves.tolist() == [1.0, 4.0]


def test_its_noise_is_measured_and_its_law_known_to_an_attacker(protector):
    vectors = unit_vectors(400, DIM)
    mechanism = protector.mechanism
    found = measure_noise(mechanism, vectors, mechanism.privatize(vectors))
    assert found.ratio_measured == pytest.approx(found.ratio_predicted, rel=0.05)
    weak = scaled(protector, noise_ratio=0.05)
    for victim in (weak, replace(weak, normalise=False), weak.mechanism):
        with pytest.warns(InsecureSeedWarning):
            released = (
                victim.privatize(vectors[:20], 3)
                if isinstance(victim, Mechanism)
                else victim.protect(vectors[:20], rng=3)
            )
        table = as_release(victim).log_likelihood(released, vectors)
        assert table.argmax(axis=1).tolist() == list(range(20))


def test_verified_without_a_case_of_its_own():
    result = verify(["ripple"], quick=True)
    assert result.passed, result.failures
    assert {row.layer for row in result.rows if row.mechanism == "ripple"} == {"epsilon", "law", "bits"}


def test_a_sampler_that_is_not_what_it_declares_is_found(monkeypatch):
    honest = Ripple.ellipse
    monkeypatch.setattr(Ripple, "ellipse", lambda self, dim: honest(Ripple(epsilon=0.9 * self.epsilon), dim))
    assert not verify(["ripple"], quick=True).passed


def test_timed():
    report = bench(dims=(8,), rows=24, rounds=1, names=["ripple"], seed=3)
    assert {speed.mechanism for speed in report.speeds} == {"laplace", "ripple"}


def run(*arguments):
    with pytest.raises(SystemExit) as done:
        main.run([str(each) for each in arguments])
    return done.value.code


def test_listed_and_used_by_the_commands(protector, tmp_path, capsys):
    np.save(tmp_path / "vectors.npy", unit_vectors(200, DIM))
    save_protector(replace(protector, embedder=None, normalise=False), tmp_path / "p")
    assert run("mechanisms", "--json", tmp_path / "m.json") == 0
    assert "ripple" in {row["name"] for row in json.loads((tmp_path / "m.json").read_text())["mechanisms"]}
    ways = {
        "keep": ("--mechanism", "ripple", "--keep", "recall@5=0.6"),
        "ratio": ("--mechanism", "ripple", "--noise-ratio", "0.5"),
        "epsilon": ("--mechanism", "ripple", "--epsilon", "50"),
        "protector": ("--protector", tmp_path / "p", "--keep", "recall@5=0.6"),
    }
    for name, way in ways.items():
        out = tmp_path / f"{name}.npy"
        assert run("protect", tmp_path / "vectors.npy", *way, "-o", out) == 0, capsys.readouterr().err
        assert np.load(out).shape == (200, DIM)
    assert run("plan", "--vectors", "1e6", "--dim", "16", "--mechanism", "ripple") == 0


def test_nothing_outside_asks_which_mechanism_it_has():
    """No type test and no comparison of names: what differs is a method or an attribute of the mechanism."""
    names = set(MECHANISMS.names())
    kinds = {MECHANISMS.get(name).__name__ for name in names}
    asked = []
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE)
        if place.parts[0] == "mechanisms":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            words = ast.unparse(node) if isinstance(node, ast.Call | ast.Compare) else ""
            if isinstance(node, ast.Call) and words.startswith(("isinstance(", "issubclass(")):
                wrong = kinds & {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
            elif isinstance(node, ast.Compare) and "metric" not in words:
                wrong = names & {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            else:
                continue
            asked += [f"{place}:{node.lineno}: {words}"] if wrong else []
    assert asked == []


def test_audited(monkeypatch, protector):
    plan = replace(
        settings.SUITES["quick"], epochs=4, copies=1, informed=10, candidates=6, linked=10, averaged=2,
        draws=1, searches=40, baselines=(),
    )  # fmt: skip
    monkeypatch.setitem(settings.SUITES, "quick", plan)
    texts = [record.text for record in make_records(200, seed=7)]
    hides = replace(scaled(protector, noise_ratio=5.0), concepts=(Concept.from_terms("disease", DISEASES),))
    found = audit(texts, protector=hides, settings=AuditSettings(rows=100))
    assert found.outcome in {"pass", "measured", "refused"}
    assert {row.name for row in found.attacks} >= {"tokens", "informed", "linkage", "bits"}
    assert found.guarantee["mechanism"] == "ripple" and found.guarantee["proof"] == "proved"
