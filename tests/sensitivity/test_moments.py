"""Learning from tensors: the numbers of numpy, and only sums leave the device."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sfumato.errors import ParameterError, VectorError  # noqa: E402
from sfumato.sensitivity import Background, EllipsoidLearner, moments  # noqa: E402
from sfumato.sensitivity.background import BackgroundFitter  # noqa: E402
from sfumato.sensitivity.ellipsoid import differences  # noqa: E402
from tests.places import there  # noqa: E402
from tests.sensitivity.test_ellipsoid import DIM, planted  # noqa: E402


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """So that a tensor is gone through in many blocks, the last of them a short one."""
    monkeypatch.setattr(moments, "_NUMBERS", 300 * DIM)


def test_a_background_of_a_tensor_is_that_of_the_array():
    rows = planted()[0].astype(np.float32)
    wanted, found = Background.fit(rows), Background.fit(there(rows).requires_grad_())
    assert found.mean == pytest.approx(wanted.mean, abs=1e-12)
    assert found.covariance == pytest.approx(wanted.covariance, abs=1e-12)
    assert found.rows == wanted.rows and type(found.covariance) is np.ndarray
    mixed = BackgroundFitter()
    for part in (there(rows[:1000]), rows[1000:1500], there(rows[1500:]).double()):
        mixed.update(part)
    assert mixed.finish().covariance == pytest.approx(wanted.covariance, abs=1e-12)


@pytest.mark.parametrize("kind", ["sharp", "water", "blend"])
def test_an_ellipsoid_of_tensors_is_that_of_the_arrays(kind):
    rows, moves, _ = planted()
    background, learner = Background.fit(rows), EllipsoidLearner(kind=kind)
    wanted = learner.fit(moves, background)
    found = learner.fit([there(moves)], Background.fit(there(rows)))
    assert found.covariance() == pytest.approx(wanted.covariance(), abs=1e-9)
    assert found.epsilon == pytest.approx(wanted.epsilon, rel=1e-9)


def test_differences_of_tensors_stay_a_tensor():
    plus, minus = (array.astype(np.float32) for array in planted(rows=50)[:2])
    wanted = differences(plus, minus)
    found = differences(there(plus), there(minus))
    assert isinstance(found, torch.Tensor) and np.array_equal(found.cpu().numpy(), wanted)
    mixed = differences(there(plus), minus)
    assert type(mixed) is np.ndarray and np.array_equal(mixed, wanted)
    with pytest.raises(ParameterError, match=r"\(50, 64\) and \(49, 64\)"):
        differences(there(plus), there(minus[1:]))


@pytest.mark.parametrize("make", [np.asarray, there], ids=["array", "tensor"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(make, value):
    rows, moves, _ = planted(rows=100)
    background = Background.fit(rows)
    rows[7, 3] = moves[99, 0] = value
    fitter = BackgroundFitter()
    with pytest.raises(ParameterError, match="finite"):
        fitter.update(make(rows))
    assert fitter.rows == 0
    with pytest.raises(ParameterError, match="finite"):
        EllipsoidLearner().fit(make(moves), background)
    with pytest.raises(ParameterError, match="not all zero"):
        EllipsoidLearner().fit(make(np.zeros((9, DIM))), background)


@pytest.mark.parametrize(
    "bad",
    [
        torch.ones(3),
        torch.ones(3, 0),
        torch.ones(()),
        torch.ones(3, 4, dtype=torch.complex64),
        torch.ones(3, 4, dtype=torch.bool),
        torch.ones(3, 4).to_sparse(),
    ],
    ids=["row", "empty", "number", "complex", "bool", "sparse"],
)
def test_tensors_that_are_no_vectors_are_refused(bad):
    with pytest.raises(VectorError):
        Background.fit(bad)


def test_the_dimension_is_that_of_the_first_batch():
    fitter = BackgroundFitter()
    fitter.update(torch.ones(3, 4, dtype=torch.bfloat16))
    with pytest.raises(VectorError, match="dimension 4"):
        fitter.update(torch.ones(3, 5))
