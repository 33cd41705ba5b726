"""Labels from vectors: of two normal laws the best rule is reached, of none only the larger share."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm

from sfumato.attacks.terms import perceptron
from sfumato.attacks.terms.attributes import AttributeReader, Attributes
from sfumato.concepts.texts.labels import labels_of
from sfumato.embedders import Fake
from sfumato.errors import InputError, ParameterError
from sfumato.evaluation import Defence
from sfumato.mechanisms import Gaussian, Laplace
from sfumato.metrics.intervals import exact_share
from sfumato.randomness import generator
from sfumato.trials.running import run_attack
from sfumato.trials.threat import ThreatModel
from tests.test_protector import sentences

DIM = 8
QUICK = Attributes(hidden=(16,), epochs=12)


def planted(count, apart, seed=0):
    """Two normal laws, equally likely, `apart` standard deviations of their noise from each other."""
    rng = generator(seed)
    kinds = rng.integers(2, size=count)
    axis = np.eye(DIM)[0] * apart / 2
    rows = np.where(kinds[:, None] == 1, axis, -axis) + rng.standard_normal((count, DIM))
    texts = [f"text {seed} {row} of {rng.integers(10**9)}" for row in range(count)]
    return texts, (0.1 * rows).astype(np.float32), [("+", "-")[kind] for kind in kinds]


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(perceptron, "SMALLEST_STEPS", 20)


@pytest.mark.parametrize("apart", [1.0, 2.5])
def test_the_best_accuracy_is_reached(apart):
    """The best rule is right with probability P(d / 2); labels may be spelled in any way."""
    learned, attacked = planted(3000, apart, 0), planted(3000, apart, 1)
    labels = labels_of([*learned[0], *attacked[0]], [*learned[2], *attacked[2]])
    made = Attributes(hidden=(16,), epochs=12, labels=labels).fit(learned[0], learned[1])
    found = made.recover(attacked[1])
    right = sum(row[0] == own for row, own in zip(found.rows, attacked[2], strict=True))
    figure = exact_share("accuracy", right, 3000)
    assert figure.low <= norm.cdf(apart / 2) <= figure.high
    assert found.details["probabilities"].sum(axis=1) == pytest.approx(1.0)
    # Probabilities are calibrated: what is held for sure is right as often as it says.
    assert found.scores.mean() == pytest.approx(figure.value, abs=0.03)
    assert made.control is not None and made.control.metric == "accuracy"


def test_noise_on_top_is_told_and_the_best_accuracy_falls_as_it_must():
    learned, attacked = planted(3000, 2.5, 0), planted(3000, 2.5, 1)
    labels = labels_of([*learned[0], *attacked[0]], [*learned[2], *attacked[2]])
    noise = Gaussian(sigma=0.2)  # twice the laws' own
    made = Attributes(hidden=(16,), epochs=12, labels=labels).fit(learned[0], learned[1], noise)
    found = made.recover(noise.privatize(attacked[1]))
    right = sum(row[0] == own for row, own in zip(found.rows, attacked[2], strict=True))
    figure = exact_share("accuracy", right, 3000)
    assert figure.low - 0.01 <= norm.cdf(1.25 / np.sqrt(5)) <= figure.high + 0.01
    assert made.control.value > figure.value + 0.1


def test_labels_without_a_trace_are_a_guess():
    learned, attacked = planted(1500, 0.0, 0), planted(1500, 0.0, 1)
    labels = labels_of([*learned[0], *attacked[0]], [*learned[2], *attacked[2]])
    found = Attributes(hidden=(16,), epochs=12, labels=labels).fit(*learned[:2]).recover(attacked[1])
    right = sum(row[0] == own for row, own in zip(found.rows, attacked[2], strict=True))
    assert exact_share("accuracy", right, 1500).low < 0.52


def test_in_a_trial_with_its_control_and_again_the_same(tmp_path):
    fake = Fake(dim=64)
    texts = list(dict.fromkeys(sentences(500)))
    labels = labels_of(texts, ["nurse" if "nurse" in text else "other" for text in texts])
    attack = Attributes(hidden=(32,), epochs=8, labels=labels, seed=3)
    noise = Laplace.from_noise_ratio(1.0, dim=64)
    defence = Defence(name="laplace", mechanism=noise, embedder=fake)
    threat = ThreatModel(texts=texts, defence=defence, embedder=fake)
    one, two = (run_attack(attack, threat) for _ in range(2))
    assert one.figures == two.figures and one.recovered.rows == two.recovered.rows
    assert one.figures[0].metric == "accuracy" == one.control.metric and one.control.value > 0.95
    one.inverter.save(tmp_path / "kept")
    again = AttributeReader.load(tmp_path / "kept")
    assert again.recover(fake.embed(texts[:9])).rows == one.inverter.recover(fake.embed(texts[:9])).rows
    assert again.control.metric == "accuracy"
    # Texts without a label are neither learned from nor scored.
    half = Attributes(hidden=(32,), epochs=8, labels=dict(list(labels.items())[::2]))
    assert run_attack(half, threat, control=False).figures[0].count < one.figures[0].count


def test_what_cannot_be_learned_is_refused():
    texts, vectors, kinds = planted(40, 1.0)
    assert labels_of(["a", "a", "b", "c", "c"], ["x", "y", "x", "x", "x"]) == {"b": "x", "c": "x"}
    assert labels_of(["a", "b", "c"], [None, "", 3]) == {"c": "3"}
    with pytest.raises(ParameterError, match="labels"):
        QUICK.fit(texts, vectors)
    with pytest.raises(ParameterError, match="mapping"):
        Attributes(labels=kinds)
    with pytest.raises(InputError, match="1 kinds"):
        Attributes(labels=dict.fromkeys(texts, "one")).fit(texts, vectors)
    with pytest.raises(InputError, match="0 texts"):
        Attributes(labels={"other": "one"}).fit(texts, vectors)
