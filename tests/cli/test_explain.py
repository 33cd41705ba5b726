"""`sfumato explain`: the certificate of a protector, from the distances it keeps."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from sfumato.certificates import bayes_security, candidate_success, certify, success_from, trade_off
from sfumato.certificates.words import at_most
from sfumato.cli import main
from sfumato.errors import ParameterError
from sfumato.mechanisms import Identity, Laplace, Mahalanobis
from sfumato.protector import Protector
from sfumato.saving import load_protector, save_protector

KEPT = {"median": 0.05, "p95": 0.2, "max": 0.6}


@pytest.fixture
def explain(tmp_path, monkeypatch, capfd):
    """Run the command in this process; return its exit code, what it says, and its certificate."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main.run(["explain", *arguments, "--json", "c.json"])
        shown = capfd.readouterr()
        written = tmp_path / "c.json"
        found = json.loads(written.read_text())["certificate"] if written.exists() else None
        return stopped.value.code, shown.out + shown.err, found

    return call


def kept(**settings) -> Protector:
    mechanism = Mahalanobis(epsilon=100.0, shape=np.linspace(0.5, 1.5, 64))
    return Protector(mechanism, learned={"substitution_distances": KEPT, "dim": 64}, **settings)


def test_it_says_what_the_curves_of_the_kept_distances_say(explain):
    save_protector(kept(), "made")
    code, said, found = explain("made", "--candidates", "20")
    assert code == 0, said
    assert set(found) >= {"attacker", "prior", "success", "total_variation", "bits", "conditions"}
    curves = {
        name: trade_off(Laplace(epsilon=100.0), KEPT[key], 64)
        for name, key in (("median", "median"), ("p95", "p95"), ("worst", "max"))
    }
    assert found["prior"] == 1 / 20
    for name, curve in curves.items():
        assert found["success"][name] == pytest.approx(candidate_success(curve, 20), abs=1e-9)
        assert found["pairs"][name]["total_variation"] == pytest.approx(curve.total_variation, abs=1e-9)
        assert at_most(found["success"][name]) in said
    assert 0.05 < found["success"]["median"] < found["success"]["p95"] < found["success"]["worst"]
    assert found["total_variation"] == found["pairs"]["worst"]["total_variation"]
    assert found["bits"] == pytest.approx(math.log2(20 * found["success"]["worst"]))
    assert any("learning from private text" in condition for condition in found["conditions"])
    # Epsilon comes last.
    assert said.strip().splitlines()[-1].startswith("Epsilon 100")


def test_bayes_security_the_asymptotic_curve_and_any_guess_stand_beside_it(explain, tmp_path):
    save_protector(kept(), "made")
    code, said, found = explain("made", "--guess", "0.02", "--svg", "c.svg", "--trials", "0")
    assert code == 0, said
    for name, key in (("median", "median"), ("p95", "p95"), ("worst", "max")):
        curve, pair = trade_off(Laplace(epsilon=100.0), KEPT[key], 64), found["pairs"][name]
        assert pair["bayes_security"] == pytest.approx(bayes_security(curve), abs=1e-9)
        assert pair["mu"] == pytest.approx(100.0 * KEPT[key] / 8)
        assert pair["asymptotic"] == pytest.approx(math.erf(pair["mu"] / math.sqrt(8)))
        assert pair["any_guess"] == pytest.approx(success_from(curve, 0.02), abs=1e-9)
        assert found["any_guess"]["success"][name] == pair["any_guess"]
        assert at_most(pair["any_guess"]) in said and f"{pair['mu']:.3g}" in said
    assert found["any_guess"]["prior"] == 0.02 and 0.02 < found["any_guess"]["success"]["median"] < 0.2
    assert found["bayes_security"] == 1 - found["total_variation"]
    assert "a guess that is right in 2.0% of cases" in said and "Bayes security" in said
    assert (tmp_path / "c.svg").read_text().count('class="asymptotic"') == 3
    for bad in ("-0.1", "1.5", "nan"):
        code, said, _ = explain("made", "--guess", bad)
        assert code == 2 and len(said.strip().splitlines()) == 1


def test_what_has_no_law_has_no_asymptotic_curve_and_an_infinite_epsilon(explain, tmp_path):
    save_protector(Protector(Identity(), learned={"dim": 64}), "made")
    code, said, found = explain("made", "--distance", "0.1", "--svg", "c.svg")
    assert code == 0, said
    pair = found["pairs"]["worst"]
    assert pair["mu"] is None and pair["asymptotic"] is None and pair["bayes_security"] == 0
    assert (
        found["epsilon"].startswith("Epsilon infinite")
        and "asymptotic" not in (tmp_path / "c.svg").read_text()
    )
    assert "a guess that is right" not in said and "mu:" not in said


def test_a_learned_protector_is_explained(explain, tmp_path):
    texts = [f"visit {n} to {place}" for n in range(30) for place in ("Rome", "Paris")]
    (tmp_path / "in.txt").write_text("\n".join(texts))
    (tmp_path / "terms.txt").write_text("Rome\nParis\n")
    with pytest.raises(SystemExit):
        main.run(["learn", "in.txt", "--terms", "terms.txt", "--embedder", "fake:32", "-o", "made"])
    code, said, found = explain("made")
    assert code == 0, said
    made = load_protector("made")
    wanted = certify(made.mechanism, made.learned.substitution_distances)
    assert found["success"] == wanted.to_dict()["success"]
    assert "the vector is the same whatever the term was" in said and "Rome" not in said.split("\n- ")[0]


def test_one_term_alone_is_measured_by_its_removal_and_said_so(explain, tmp_path):
    texts = [f"visit {n} to {place}" for n in range(30) for place in ("Rome", "nowhere")]
    (tmp_path / "in.txt").write_text("\n".join(texts))
    (tmp_path / "terms.txt").write_text("Rome\n")
    with pytest.raises(SystemExit):
        main.run(["learn", "in.txt", "--terms", "terms.txt", "--embedder", "fake:32", "-o", "made"])
    made = load_protector("made")
    assert made.learned.distances_by_removal
    removed = made.encoder.embed([text.replace(" to Rome", " to") for text in texts if "Rome" in text])
    moves = made.encoder.embed([text for text in texts if "Rome" in text]) - removed
    largest = np.linalg.norm(made.mechanism.shape.whiten(moves.astype(float)), axis=1).max()
    assert made.learned.substitution_distances["max"] == pytest.approx(2 * largest, rel=0.3)
    _, said, found = explain("made")
    assert any("without its term" in each for each in found["conditions"])


def test_without_noise_nothing_is_certified(explain):
    save_protector(kept(only_matching=True), "made")
    code, said, found = explain("made")
    assert code == 0, said
    assert found["success"] == {"median": 1.0, "p95": 1.0, "worst": 1.0} and found["total_variation"] == 1.0


def test_a_distance_may_be_given_and_must_be_where_none_is_kept(explain):
    save_protector(Protector(Laplace(epsilon=274.0), learned={"dim": 384}), "made")
    code, said, found = explain("made")
    assert code == 2 and "--distance" in said and found is None and len(said.splitlines()) == 1
    code, said, found = explain("made", "--distance", "0.1", "--candidates", "2")
    assert code == 0, said
    assert found["total_variation"] == pytest.approx(0.5157, abs=1e-4)
    assert found["success"]["worst"] == pytest.approx(0.7578, abs=1e-4)


@pytest.mark.parametrize(
    "arguments", [("--candidates", "1"), ("--distance", "-1"), ("--distance", "nan"), ("--candidates", "-5")]
)
def test_what_is_no_number_of_terms_and_no_distance_is_refused_in_one_line(explain, arguments):
    save_protector(kept(), "made")
    code, said, found = explain("made", *arguments)
    assert code == 2 and found is None and len(said.strip().splitlines()) == 1


def test_a_record_that_keeps_other_figures_is_refused():
    with pytest.raises(ParameterError, match="median, p95 and max"):
        certify(Laplace(epsilon=1.0), {"median": 0.1}, dim=8)
    with pytest.raises(ParameterError, match="distance"):
        certify(Laplace(epsilon=1.0), KEPT | {"max": math.inf}, dim=8)
