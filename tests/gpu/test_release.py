"""Tensors in, tensors out: the rules and the laws of the mechanisms hold on the plain backend."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np
import pytest
import torch

from sfumato import grid
from sfumato.accounting import Secret
from sfumato.accounting.sticky import Sticky
from sfumato.errors import ParameterError, VectorError
from sfumato.gpu import on_device, plain, privatize
from sfumato.gpu.coefficients import NORMALS
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
from sfumato.protector import Protector
from sfumato.randomness import RowKeys, Source, generator
from sfumato.sensitivity import Dense, Factored, Mask
from sfumato.verification import verify
from sfumato.verification.bits import check_bits
from sfumato.verification.cases import CASES
from sfumato.verification.epsilon import check_epsilon
from sfumato.verification.fit import check_law
from tests.places import DEVICE

DIM = 24
seeded = pytest.mark.filterwarnings("ignore::sfumato.randomness.InsecureSeedWarning")


def vectors(rows: int, dim: int = DIM) -> torch.Tensor:
    drawn = generator(rows).standard_normal((rows, dim))
    return torch.tensor(
        drawn / np.linalg.norm(drawn, axis=1, keepdims=True), dtype=torch.float32, device=DEVICE
    )


MECHANISMS = {
    "laplace": Laplace(epsilon=20.0),
    "gaussian": Gaussian(sigma=0.2),
    "mask": Mahalanobis(epsilon=20.0, shape=Mask(np.linspace(0.0, 1.0, DIM))),
    "dense": Mahalanobis(epsilon=20.0, shape=Dense(np.eye(DIM) + 0.2)),
    "factored": Mahalanobis(epsilon=20.0, shape=Factored(np.ones(DIM), np.eye(DIM)[:, :3] * 2)),
    "projection": Projection(epsilon=20.0, components=7),
    "polar": Polar(epsilon=40.0),
    "polar with radius": Polar(epsilon=40.0, radius_epsilon=5.0),
    "purkayastha": Purkayastha(epsilon=40.0),
}
everyone = pytest.mark.parametrize("mechanism", MECHANISMS.values(), ids=MECHANISMS)


@everyone
def test_releases_are_float32_on_the_grid_and_leave_the_input_alone(mechanism):
    x = vectors(50)
    before = x.clone()
    released = privatize(mechanism, x)
    assert released.shape == (50, mechanism.output_dim(DIM))
    assert released.dtype == torch.float32
    assert released.device == x.device
    assert torch.equal(x, before)
    assert grid.is_on(released.cpu().numpy(), mechanism.step(DIM))
    assert not torch.signbit(released[released == 0]).any()
    assert not torch.equal(released, privatize(mechanism, x))


@everyone
@seeded
def test_what_is_drawn_does_not_depend_on_the_chunk_or_the_batch(mechanism, monkeypatch):
    x = vectors(9)
    whole = privatize(mechanism, x, 3)
    monkeypatch.setattr(plain, "chunk_rows", lambda dim, device: 2)
    # A matrix product may round another way for another number of rows, far below the grid.
    assert torch.equal(privatize(mechanism, x, 3), whole)
    placed = on_device(mechanism, DEVICE)
    keys = np.frombuffer(b"".join(hashlib.sha256(bytes([i])).digest() for i in range(9)), np.uint8).reshape(
        9, 32
    )
    sticky = privatize(placed, x, RowKeys(keys))
    assert torch.equal(privatize(placed, x[4:6], RowKeys(keys[4:6])), sticky[4:6])


@everyone
def test_noise_is_as_large_as_on_the_cpu(mechanism):
    x = vectors(1)[0].expand(2000, DIM)
    ours, theirs = privatize(mechanism, x).cpu().numpy(), mechanism.privatize(x.cpu())
    spread = [np.cov(values.T.astype(np.float64)) for values in (ours, theirs)]
    scale = np.sqrt(np.outer(np.diag(spread[1]), np.diag(spread[1])))
    # Differences of entries have a standard error of about 0.05: the bound is seven of them.
    assert np.abs((spread[0] - spread[1]) / scale).max() < 0.35
    error = np.sqrt(np.diag(spread[1]) * 2 / 2000)
    assert np.abs(ours.mean(0) - theirs.mean(0)).max() < 7 * error.max()


def cases() -> list[object]:
    found = []
    for name in ("laplace", "gaussian", "mahalanobis", "projection", "polar", "purkayastha"):
        found += [case for case in CASES[name](True) if case.layer != "tokens"]
    return found


@pytest.mark.parametrize("case", cases(), ids=lambda case: f"{case.label}-{case.layer}-{case.dim}")
def test_the_verification_of_the_mechanisms_holds(case):
    placed = replace(case, mechanism=on_device(case.mechanism, DEVICE))
    source, rng = Source(), generator()
    if case.layer == "epsilon":
        rows = check_epsilon(placed, 5_000, source)
    elif case.layer == "law":
        rows = check_law(placed, 2000 if case.dim <= 8 else 400, source, rng)
    else:
        rows = check_bits(placed, 10, 200, source, rng)
    assert rows
    assert not [row for row in rows if not row.passed]


def test_verify_takes_a_mechanism_on_a_device():
    found = verify([on_device(Laplace(epsilon=4.0), DEVICE)], quick=True)
    assert found.passed
    assert {row.layer for row in found.rows} == {"epsilon", "law", "bits"}


def test_a_broken_sampler_is_caught(monkeypatch):
    def biased(streams, count, purpose):
        return normals(streams, count, purpose) * 1.05

    normals = plain.normals
    monkeypatch.setattr(plain, "normals", biased)
    case = next(case for case in CASES["gaussian"](True) if case.layer == "law" and case.dim == 384)
    placed = on_device(case.mechanism, DEVICE, backend="plain")
    rows = check_law(replace(case, mechanism=placed), 700, Source(), generator())
    assert [row for row in rows if not row.passed]


REFUSED = {
    "not a number": (float("nan"), "Row 2 holds NaN or infinity"),
    "infinite": (float("inf"), "Row 2 holds NaN or infinity"),
    "too long": (9.0, "Row 2 has a norm above the bound 1"),
    "zero": (None, "Row 2 is zero"),
}


@pytest.mark.parametrize(("value", "message"), REFUSED.values(), ids=REFUSED)
def test_one_bad_row_refuses_the_whole_tensor(value, message):
    x = vectors(5)
    if value is None:
        x[2] = 0.0
    else:
        x[2, 7] = value
    with pytest.raises(VectorError, match=message) as error:
        privatize(Laplace(epsilon=20.0), x)
    assert error.value.row == 2


def test_norms_that_float32_cannot_square_are_judged_in_float64():
    tiny = Laplace(epsilon=1e6, max_norm=1e-6)
    x = vectors(4).double() * 1e-6
    x[1] *= 1e-14
    assert privatize(tiny, x.float()).shape == (4, DIM)
    x[1] *= 1e-3
    with pytest.raises(VectorError, match="Row 1 is zero or too small"):
        privatize(tiny, x.float())


def test_tensors_of_the_wrong_kind_are_refused():
    laplace = Laplace(epsilon=20.0)
    with pytest.raises(VectorError, match="must be a torch tensor"):
        privatize(laplace, np.ones((2, 3)))
    with pytest.raises(VectorError, match="pass X"):
        privatize(laplace, vectors(1)[0])
    with pytest.raises(VectorError, match="real numbers"):
        privatize(laplace, vectors(1).to(torch.complex64))
    with pytest.raises(VectorError, match="real numbers"):
        privatize(laplace, torch.ones(2, 3, dtype=torch.bool))
    with pytest.raises(VectorError, match="dimension 24"):
        privatize(MECHANISMS["mask"], vectors(2, 12))
    with pytest.raises(VectorError, match="2 to 8192"):
        privatize(Polar(epsilon=4.0), torch.ones(2, 1))
    with pytest.raises(VectorError, match="1 to 8192"):
        privatize(laplace, torch.ones(2, 0))
    with pytest.raises(ParameterError, match="CPU or a CUDA device"):
        privatize(laplace, vectors(1).to("meta"))
    with pytest.raises(ParameterError, match="`backend` must be one of"):
        privatize(laplace, vectors(1), backend="cuda")


@seeded
def test_other_number_types_and_layouts_release_the_same_law_of_the_same_numbers():
    laplace, x = Laplace(epsilon=20.0), vectors(6)
    expected = privatize(laplace, x, 1)
    assert torch.equal(privatize(laplace, x.double(), 1), expected)
    assert torch.equal(privatize(laplace, x.T.contiguous().T, 1), expected)
    assert torch.equal(privatize(laplace, x.clone().requires_grad_(), 1), expected)
    half = x.to(torch.bfloat16)
    assert torch.equal(privatize(laplace, half, 1), privatize(laplace, half.float(), 1))
    assert privatize(laplace, x[:0]).shape == (0, DIM)


@pytest.mark.parametrize("mechanism", [Identity(), Suppression(epsilon=1.0, mask=np.ones(DIM))])
def test_other_mechanisms_say_that_they_run_on_the_cpu(mechanism):
    with pytest.raises(ParameterError, match="does not run on a device"):
        privatize(mechanism, vectors(2))


def test_sticky_noise_of_a_device_never_meets_that_of_a_cpu():
    laplace = Laplace(epsilon=20.0)
    placed = on_device(laplace, DEVICE)
    assert placed.guarantee == laplace.guarantee
    assert isinstance(placed, Laplace)
    assert placed.fingerprint() != laplace.fingerprint()
    assert on_device(placed, DEVICE).fingerprint() == placed.fingerprint()
    sticky = Sticky(Secret.generate(), model="model@1")
    assert sticky.stream_id(placed, DIM) != sticky.stream_id(laplace, DIM)
    x, texts = vectors(3), ["one", "two", "three"]
    first = placed.privatize(x, sticky.keys(texts, placed, DIM))
    assert isinstance(first, np.ndarray)
    assert np.array_equal(first, placed.privatize(x.cpu().numpy(), sticky.keys(texts, placed, DIM)))
    with pytest.raises(ParameterError, match="another noise than on a CPU"):
        privatize(laplace, x, sticky.keys(texts, laplace, DIM))


def test_a_protector_draws_sticky_noise_on_the_device():
    protector = Protector(
        mechanism=on_device(Laplace(epsilon=20.0), DEVICE), embedder="fake", secret=Secret.generate()
    )
    texts = ["a cat", "a dog"]
    first, again = protector.embed(texts), protector.embed(texts[::-1])[::-1]
    assert np.array_equal(first, again)
    protector.mechanism = Laplace(epsilon=20.0)
    assert not np.isclose(first, protector.embed(texts)).all(axis=1).any()


def test_a_row_that_is_never_accepted_is_not_released(monkeypatch):
    monkeypatch.setattr("sfumato.gpu.coefficients.MOST_ROUNDS", 0)
    for mechanism in (Laplace(epsilon=20.0), Polar(epsilon=20.0)):
        assert privatize(mechanism, vectors(3), backend="plain").isnan().all()


def test_normals_of_one_purpose_are_not_those_of_another():
    from sfumato.gpu.streams import open_streams

    streams = open_streams(None, 4, "cpu")
    drawn = [plain.normals(streams, 16, purpose) for purpose in (NORMALS, NORMALS + 2)]
    assert not np.isin(drawn[0].numpy(), drawn[1].numpy()).any()
