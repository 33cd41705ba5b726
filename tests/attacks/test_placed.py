"""Attacks on a device: the same laws, the same network, the same leakage; on a GPU where there is one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sfumato.attacks.base import fresh_releases  # noqa: E402
from sfumato.attacks.terms import perceptron  # noqa: E402
from sfumato.attacks.terms.classifier import TokenClassifier, best_of  # noqa: E402
from sfumato.attacks.terms.perceptron import Schedule, train  # noqa: E402
from sfumato.attacks.terms.reader import TokenReader  # noqa: E402
from sfumato.embedders import Fake  # noqa: E402
from sfumato.errors import InputError, ParameterError, VectorError  # noqa: E402
from sfumato.mechanisms import Gaussian, Identity, Laplace, Projection, Suppression  # noqa: E402
from sfumato.randomness import generator  # noqa: E402
from sfumato.release import Release  # noqa: E402
from tests.places import DEVICE, there  # noqa: E402
from tests.test_protector import PLACE, sentences  # noqa: E402

FAKE = Fake(dim=64)
TEXTS = sentences(1200)
QUICK = TokenClassifier(vocabulary=PLACE, hidden=(64,), epochs=15)
PLACED = replace(QUICK, device=DEVICE)
# A GPU draws other dropout than a CPU.
SCHEDULE = Schedule((32,), 1, 512, 0.3 if DEVICE == "cpu" else 0.0, 1e-2, "white")

pytestmark = pytest.mark.usefixtures("few_steps")


@pytest.fixture(scope="module")
def vectors():
    return FAKE.embed(TEXTS)


def planted(rows=400, dim=16, terms=5):
    """Vectors, and terms that stand in a text where some direction is above 0."""
    rng = generator(3)
    clean = rng.standard_normal((rows, dim)).astype(np.float32)
    clean /= np.linalg.norm(clean, axis=1, keepdims=True)
    return clean, clean @ rng.standard_normal((dim, terms)) > 0


def test_gradients_are_those_worked_out_by_hand():
    rng = generator(1)
    rows, held = rng.standard_normal((20, 6)), rng.random((20, 4)) < 0.3
    tensors = perceptron._start([6, 9, 4], held.mean(axis=0), rng, torch.device("cpu"))
    first, offset, second, last = (tensor.detach().double().numpy() for tensor in tensors)
    hidden = np.maximum(rows @ first + offset, 0)
    logits = hidden @ second + last
    wrong = (1 / (1 + np.exp(-logits)) - held) / len(rows)
    back = wrong @ second.T * (hidden > 0)
    wanted = [rows.T @ back, back.sum(axis=0), hidden.T @ wrong, wrong.sum(axis=0)]
    loss = perceptron._loss(
        torch.from_numpy(rows).float(), torch.from_numpy(held).float(), tensors, 0.0, torch.Generator()
    )
    loss.backward()
    assert float(loss.detach()) == pytest.approx(
        np.logaddexp(0, logits - 2 * logits * held).sum() / 20, abs=1e-5
    )
    for tensor, grad in zip(tensors, wanted, strict=True):
        assert tensor.grad.numpy() == pytest.approx(grad, abs=1e-5)


@pytest.mark.parametrize("inputs", ["scaled", "white"])
def test_an_epoch_without_noise_ends_at_the_same_weights(inputs):
    """Start, order, dropout and rates are the same, so only rounding tells the two apart."""
    clean, held = planted()
    schedule = replace(SCHEDULE, inputs=inputs)
    host, device = (
        train(rows, held, fresh_releases(None), schedule, 0, lambda epoch: None)
        for rows in (clean, there(clean))
    )
    for (weights, offsets), (other, more) in zip(host.layers, device.layers, strict=True):
        assert other == pytest.approx(weights, abs=1e-4) and more == pytest.approx(offsets, abs=1e-4)
        assert type(other) is np.ndarray and other.dtype == np.float32


def test_moments_are_those_of_numpy(monkeypatch):
    monkeypatch.setattr(perceptron, "_WIDENED", 100)
    clean, _ = planted(rows=77)
    for one, other in zip(perceptron._moments(clean), perceptron._moments(there(clean)), strict=True):
        assert other == pytest.approx(one, abs=1e-12)


def test_the_same_problem_gives_the_same_leakage(vectors):
    for victim in (None, Gaussian(sigma=0.12)):
        host, device = (attack.fit(TEXTS, vectors, victim) for attack in (QUICK, PLACED))
        assert 0.3 < host.leakage
        assert device.leakage == pytest.approx(host.leakage, abs=0.05)
        assert device.control.value == pytest.approx(host.control.value, abs=0.05)


def test_a_tensor_is_learned_from_where_it_is(vectors, tmp_path, monkeypatch):
    """No release of the training rows goes through numpy, and the reader is kept as ever."""
    given, drawn = there(vectors), []
    true = Release._on_device

    def watched(release, rows, source):
        drawn.append(rows)
        return true(release, rows, source)

    monkeypatch.setattr(Release, "_on_device", watched)
    few = replace(PLACED, epochs=3, control=False, inputs="white")
    made = few.fit(TEXTS, given, Gaussian(sigma=0.12))
    assert len(drawn) == 4 and all(rows is drawn[0] for rows in drawn)
    made.save(tmp_path / "reader")
    again = TokenReader.load(tmp_path / "reader")
    assert np.array_equal(again.logits(vectors[:9]), made.logits(vectors[:9]))
    same = few.fit(TEXTS, vectors, Gaussian(sigma=0.12))
    assert np.array_equal(same.logits(vectors[:9]), made.logits(vectors[:9]))


def test_every_part_of_the_attack_runs_on_a_device(vectors):
    """Substitutes, several members, fewer dimensions, mechanisms that no device draws."""
    few, rows = TEXTS[:150], vectors[:150]
    asked = replace(PLACED, epochs=2, embedder=FAKE, copies=2, members=2)
    made = best_of(asked, few, there(rows), Projection(epsilon=1e4, components=24))
    assert made.dim == 24 and made.control is not None
    for victim in (Identity(), Suppression(epsilon=50.0, mask=np.ones(64))):
        assert replace(PLACED, epochs=1).fit(few, rows, victim).dim == 64


def test_bad_devices_and_bad_vectors_are_refused(vectors):
    with pytest.raises(ParameterError, match="Found int"):
        replace(QUICK, device=0)
    for name in ("abacus", "meta"):
        with pytest.raises(ParameterError, match=name):
            replace(QUICK, device=name).fit(TEXTS, vectors)
    if not torch.cuda.is_available():
        with pytest.raises(ParameterError, match="no CUDA device"):
            replace(QUICK, device="cuda").fit(TEXTS, vectors)
    rows = there(vectors)
    with pytest.raises(InputError, match="one text a vector"):
        PLACED.fit(TEXTS, rows[:-1])
    with pytest.raises(VectorError, match="two-dimensional"):
        PLACED.fit(TEXTS, rows[0])
    broken = rows.clone()
    broken[5] = torch.nan
    with pytest.raises(VectorError, match="NaN"):
        PLACED.fit(TEXTS, broken, Laplace(epsilon=100.0))
