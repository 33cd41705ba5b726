"""The verification as a whole: what is checked, what is refused, and no false alarms."""

import json

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from sfumato.cli import verify as cli
from sfumato.errors import ParameterError
from sfumato.mechanisms import MECHANISMS, Identity, Laplace, Mahalanobis, Mechanism, Polar, Purkayastha
from sfumato.randomness import InsecureSeedWarning, RowKeys, Source, generator
from sfumato.registry import Entry, Registry
from sfumato.verification import CASES, CheckRow, Pivots, Verification, suite, verify
from sfumato.verification.bits import check_bits
from sfumato.verification.cases import Case, covariance
from sfumato.verification.epsilon import check_epsilon
from sfumato.verification.fit import check_law
from sfumato.verification.pivots import pivots

ROW = CheckRow("laplace", "", "law", "radius", 3, "p > 1e-09", "p = 0", 0.0, 1e-9, False)


@pytest.mark.parametrize(
    "mechanism",
    [
        Laplace(epsilon=1.0),
        Mahalanobis(epsilon=1.0, shape=covariance(3)),
        Polar(epsilon=2.0),
        Purkayastha(epsilon=2.0),
    ],
    ids=lambda mechanism: mechanism.name,
)
def test_a_hundred_runs_give_no_false_alarm(mechanism):
    source, rng = Source(), generator()
    for _ in range(100):
        rows = check_epsilon(Case(mechanism, 3, "epsilon"), 4_000, source)
        rows += check_law(Case(mechanism, 3, "law"), 4_000, source, rng)
        assert all(row.passed for row in rows), rows


def test_a_hundred_attacks_give_no_false_alarm():
    source, rng = Source(), generator()
    for _ in range(100):
        rows = check_bits(Case(Laplace(epsilon=10.0), 64, "bits"), 20, 200, source, rng)
        assert all(row.passed for row in rows), rows


def test_every_registered_mechanism_passes():
    seen = []
    result = verify(quick=True, on_step=lambda done, total, label: seen.append((done, total)))
    assert result.passed, result.failures
    assert {row.mechanism for row in result.rows} == {*MECHANISMS.names(), "float32 sum"}
    assert [done for done, _ in seen] == list(range(len(seen)))
    assert seen[-1] == (seen[-1][1],) * 2


def test_every_registered_mechanism_has_cases():
    assert set(CASES) == set(MECHANISMS.names())


class Newcomer(Laplace):
    """Not in the table of cases."""

    name = "newcomer"


class Nameless(Newcomer):
    """Nobody says which law it has, and nobody has written one."""

    name = "nameless"

    def ellipse(self, dim):
        return None


@pivots.register
def _(mechanism: Newcomer, vectors: np.ndarray, released: np.ndarray) -> Pivots:
    return pivots.dispatch(Mechanism)(mechanism, vectors, released)


def test_a_mechanism_without_a_case_is_held_to_what_it_declares_or_fails_the_whole(monkeypatch):
    new = [Entry(kind.name, f"{__name__}:{kind.__name__}", "") for kind in (Newcomer, Nameless)]
    monkeypatch.setattr(suite, "MECHANISMS", Registry("mechanism", [*MECHANISMS, *new]))
    monkeypatch.setattr(suite, "CASES", {name: lambda quick: CASES["identity"](quick) for name in CASES})
    result = verify(quick=True)
    assert not result.passed
    assert {row.layer for row in result.rows if row.mechanism == "newcomer"} == {"epsilon", "law", "bits"}
    assert {row.label for row in result.failures} == {"nameless"}
    assert {row.check for row in result.failures} == {"can be checked"}
    assert "nameless" in result.verdict


class Plain(Mechanism):
    """A mechanism of somebody's own: Laplace noise in one dimension."""

    name, paper = "plain", ""
    dim = 1

    def __init__(self):
        super().__init__()
        self.inner = Laplace(epsilon=1.0)
        self.epsilon = 1.0

    @property
    def guarantee(self):
        return self.inner.guarantee

    def parameters(self):
        return {}

    def noise_sd(self, dim):
        return self.inner.noise_sd(dim)

    def noise_ratio(self, dim=None):
        return 1.0

    def _release(self, vectors, draws, step):
        return self.inner._release(vectors, draws, step)

    def log_density(self, released, vectors):
        return self.inner.log_density(released, vectors)


class Known(Plain):
    name = "known"


def test_a_mechanism_of_one_s_own_needs_a_law_and_may_bring_it():
    failures = verify([Plain()], quick=True).failures
    assert [(row.layer, row.check) for row in failures] == [("law", "can be checked")]

    @pivots.register
    def _(mechanism: Known, vectors: np.ndarray, released: np.ndarray) -> Pivots:
        noise = released - vectors
        return Pivots({"distance is exponential": -np.expm1(-np.abs(noise[:, 0]))}, np.sign(noise))

    result = verify([Known()], quick=True)
    assert result.passed, result.failures
    assert {row.layer for row in result.rows if row.mechanism == "known"} == {"epsilon", "law", "bits"}


def test_mechanisms_and_names_can_be_mixed():
    result = verify([Identity(), "identity"], quick=True)
    assert result.passed
    assert {row.dim for row in result.rows} == {1, 2, 3, 384}
    assert result.promises == {"identity": "no promise"}


def test_a_seed_repeats_a_run_and_is_recorded():
    def run():
        with pytest.warns(InsecureSeedWarning):
            return verify([Laplace(epsilon=3.0)], rng=7, quick=True)

    first, second = run(), run()
    assert first.rows == second.rows
    assert first.seed == 7


def test_bad_requests_are_refused():
    with pytest.raises(ParameterError, match=r"\['laplace'\]"):
        verify("laplace")
    with pytest.raises(ParameterError, match="Did you mean `laplace`"):
        verify(["laplac"])
    with pytest.raises(ParameterError, match="repeats itself"):
        verify(["laplace"], rng=RowKeys(np.zeros((1, 32), np.uint8)))


def test_nothing_checked_is_nothing_passed():
    assert not Verification((), {}, 0.0, False, None).passed


@pytest.fixture
def run():
    app = typer.Typer()
    app.command(cli.NAME, epilog=cli.EXAMPLE)(cli.command)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_the_command_prints_and_writes_its_result(run, tmp_path):
    result = run("laplace", "identity", "--quick", "--json", str(tmp_path / "out.json"))
    assert result.exit_code == 0, result.output
    assert "cannot prove one" in result.output
    assert "no promise" in result.output
    written = json.loads((tmp_path / "out.json").read_text())
    assert written["verdict"] == "pass"
    assert {row["mechanism"] for row in written["rows"]} == {"laplace", "identity", "float32 sum"}


def test_the_command_fails_with_1_and_says_what_failed(run, monkeypatch, tmp_path):
    failed = Verification((ROW,), {"laplace": "l2"}, 1.0, True, None)
    monkeypatch.setattr("sfumato.verification.verify", lambda *_, **__: failed)
    result = run("--json", str(tmp_path / "out.json"))
    assert result.exit_code == 1
    assert "laplace, 3 dimensions: radius: claimed p > 1e-09, found p = 0" in result.output
    assert json.loads((tmp_path / "out.json").read_text())["failed"] == 1


def test_the_command_refuses_unknown_names(run):
    assert isinstance(run("laplac").exception, ParameterError)
