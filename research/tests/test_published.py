"""Published Vec2Text weights, read and held against a forward pass by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tests.attacks.test_huggingface import save_tokenizer
from tests.attacks.test_t5 import SIZES, one_thread  # noqa: F401  (for every test here)
from torch import nn

from sfumato.attacks.huggingface.reader import T5Reader
from sfumato.attacks.huggingface.t5 import describe_t5, make_t5
from sfumato.errors import ArtifactError, InputError
from sfumato.randomness import generator
from sfumato_research.published import MeanPooled, read_published, t5_from


def transform(dim, width, positions):
    """As the published models have it, a Dropout between."""
    return nn.Sequential(
        nn.Linear(dim, dim), nn.Dropout(0.1), nn.GELU(), nn.Linear(dim, width * positions)
    ).eval()


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """A hypothesiser and a corrector in the published layout, and the modules they were saved from."""
    root = tmp_path_factory.mktemp("published")
    parts = {}
    with torch.random.fork_rng():
        torch.manual_seed(9)
        for name, count in (("first", 1), ("second", 3)):
            base = transformers.T5ForConditionalGeneration(
                transformers.T5Config(**SIZES, decoder_start_token_id=0)
            ).eval()
            nn.init.normal_(base.shared.weight)
            readers = [transform(32, 32, 16) for _ in range(count)]
            norm = nn.LayerNorm(32)
            nn.init.normal_(norm.weight)
            nn.init.normal_(norm.bias)
            parts[name] = (base, readers, norm)
        encoder = transformers.T5EncoderModel(transformers.T5Config(**SIZES)).eval()
    for name, (base, readers, norm) in parts.items():
        place = root / name
        place.mkdir()
        state = {f"encoder_decoder.{key}": rows for key, rows in base.state_dict().items()}
        if name == "first":
            state |= {f"embedding_transform.{key}": rows for key, rows in readers[0].state_dict().items()}
            state |= {f"embedder.{key}": rows for key, rows in encoder.encoder.state_dict().items()}
            save_tokenizer(place)
        else:
            for number, reader in enumerate(readers, 1):
                state |= {
                    f"embedding_transform_{number}.{key}": rows for key, rows in reader.state_dict().items()
                }
            state |= {f"layernorm.{key}": rows for key, rows in norm.state_dict().items()}
        save_file(
            {key: rows.clone().contiguous() for key, rows in state.items()}, place / "model.safetensors"
        )
        config = {"num_repeat_tokens": 16, "max_seq_length": 8, "embedder_model_name": "gtr_base"}
        (place / "config.json").write_text(json.dumps(config))
    return root, parts, encoder


def by_hand(reader, rows):
    """Linear, GELU (the exact one), Linear, in numpy and float64."""
    weights = {key: rows.numpy().astype(np.float64) for key, rows in reader.state_dict().items()}
    hidden = rows @ weights["0.weight"].T + weights["0.bias"]
    hidden = hidden * 0.5 * (1 + np.vectorize(math.erf)(hidden / math.sqrt(2)))
    return (hidden @ weights["3.weight"].T + weights["3.bias"]).reshape(len(rows), 16, 32)


def test_published_hypothesiser_is_the_forward_pass_by_hand(published):
    root, parts, _ = published
    base, readers, _ = parts["first"]
    made = read_published(str(root / "first"), device="cpu")
    vectors = generator(1).standard_normal((3, 32)).astype(np.float32)
    inputs = made.first.inputs(torch.from_numpy(vectors))
    expected = by_hand(readers[0], vectors)
    assert inputs[0].detach().numpy() == pytest.approx(expected, abs=1e-4)
    assert inputs[1].shape == (3, 16) and bool((inputs[1] == 1).all())
    text = torch.tensor([[5, 6, 1]] * 3)
    with torch.no_grad():
        own = base(inputs_embeds=torch.from_numpy(expected.astype(np.float32)), labels=text)
        assert made.first.losses(inputs, text).mean().item() == pytest.approx(own.loss.item(), rel=1e-4)
    assert made.longest == 7 and made.steps == 0


def test_published_corrector_is_the_forward_pass_by_hand(published):
    root, parts, _ = published
    base, readers, norm = parts["second"]
    made = read_published(str(root / "first"), str(root / "second"), steps=2, device="cpu")
    rng = generator(2)
    e, e_hat = (rng.standard_normal((2, 32)).astype(np.float32) for _ in range(2))
    tokens = [[7, 8, 1], [9, 1]]
    words = base.shared.weight.detach().numpy().astype(np.float64)
    end, start = words[1], words[0]
    rows = []
    for row in range(2):
        # The second transform reads the difference and the third the hypothesis, which stands before it.
        parts_of_row = [
            by_hand(readers[0], e)[row],
            by_hand(readers[2], e_hat)[row],
            by_hand(readers[1], e - e_hat)[row],
        ]
        pieces = [*parts_of_row, np.stack([start, *(words[token] for token in tokens[row])])]
        rows.append(np.concatenate([np.concatenate([end[None], piece]) for piece in pieces]))
    scale, shift = norm.weight.detach().numpy(), norm.bias.detach().numpy()
    inputs, mask = made.second.inputs(torch.from_numpy(e), torch.from_numpy(e_hat), tokens)
    for row, whole in enumerate(rows):
        centred = whole - whole.mean(1, keepdims=True)
        expected = centred / np.sqrt(whole.var(1, keepdims=True) + 1e-5) * scale + shift
        assert inputs[row, : len(whole)].detach().numpy() == pytest.approx(expected, abs=1e-4)
        # Three vectors of 16 with an end before each, the end before the words; the start token is masked.
        assert mask[row].tolist() == [1] * 52 + [0] + [1] * len(tokens[row]) + [0] * (3 - len(tokens[row]))
        text = torch.tensor([[5, 6, 1]])
        seen = torch.tensor([[1] * 52 + [0] + [1] * len(tokens[row])])
        with torch.no_grad():
            own = base(
                inputs_embeds=torch.from_numpy(expected.astype(np.float32))[None],
                attention_mask=seen,
                labels=text,
            )
            found = made.second.losses((inputs[row : row + 1], mask[row : row + 1]), text)
        assert found.mean().item() == pytest.approx(own.loss.item(), rel=1e-4)


def test_published_models_read_and_correct(published, tmp_path):
    root, _, encoder = published
    made = read_published(str(root / "first"), str(root / "second"), steps=2, beam=2, device="cpu")
    tokens = made.pieces.rows(["the nurse left bread"], 7)
    with torch.no_grad():
        hidden = encoder(input_ids=torch.tensor(tokens)).last_hidden_state
    expected = hidden.mean(1)[0].numpy()
    assert isinstance(made.embedder, MeanPooled)
    vectors = made.embedder.embed(["the nurse left bread", "the baker"])
    assert vectors[0] == pytest.approx(expected, abs=1e-5)
    found = made.recover(vectors)
    assert len(found) == 2 and found.scores == pytest.approx(found.details["cosine"])
    made.save(tmp_path / "saved")
    again = T5Reader.load(tmp_path / "saved", embedder=made.embedder, device="cpu")
    assert again.recover(vectors).rows == found.rows


def changed(root, tmp_path, name, change):
    """A copy of a published folder with other weights."""

    state = change(load_file(root / name / "model.safetensors"))
    for file in (root / name).iterdir():
        if file.suffix != ".safetensors":
            (tmp_path / file.name).write_bytes(file.read_bytes())
    save_file(state, tmp_path / "model.safetensors")
    return str(tmp_path)


def test_one_transform_for_all_three_as_early_correctors_had(published, tmp_path):
    root, _, _ = published

    def early(state):
        shared = {
            key.replace("transform_1", "transform"): rows
            for key, rows in state.items()
            if key.startswith("embedding_transform_1.")
        }
        return {**{key: rows for key, rows in state.items() if "transform_" not in key}, **shared}

    made = read_published(str(root / "first"), changed(root, tmp_path, "second", early), device="cpu")
    first, second, third = (module[0].weight for module in made.second.readers)
    assert torch.equal(first, second) and torch.equal(second, third)


def test_words_saved_once_are_enough(published, tmp_path):
    """Safetensors keeps one of the tied weights, whichever it met first."""
    root, parts, _ = published

    def once(state):
        tied = ("shared", "encoder.embed_tokens", "lm_head")
        return {
            key: rows
            for key, rows in state.items()
            if not any(
                f"decoder.{name}.w" in key
                and key.startswith("encoder_decoder.")
                and key.count("decoder") == 1
                for name in tied
            )
        }

    made = read_published(changed(root, tmp_path, "first", once), device="cpu")
    assert torch.equal(made.first.base.shared.weight, parts["first"][0].shared.weight)
    assert made.first.base.config.scale_decoder_outputs


def test_a_head_of_its_own_is_kept_and_not_scaled(published):
    _, parts, _ = published
    state = parts["first"][0].state_dict()
    state["lm_head.weight"] = state["lm_head.weight"] + 1.0
    base = t5_from(state)
    assert torch.equal(base.lm_head.weight, state["lm_head.weight"])
    assert torch.equal(base.shared.weight, state["shared.weight"])
    assert not base.config.scale_decoder_outputs
    again = make_t5(describe_t5(base))
    assert again.lm_head.weight is not again.shared.weight


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda state: {key: rows for key, rows in state.items() if "transform" not in key}, "hypothesiser"),
        (lambda state: {**state, "other.weight": torch.ones(2)}, "other.weight"),
        (
            lambda state: {key: rows for key, rows in state.items() if "block.1.layer.0" not in key},
            "Found others",
        ),
        (lambda state: {"nothing": torch.ones(1)}, "Found others"),
    ],
)
def test_weights_that_do_not_fit_are_refused(published, tmp_path, change, words):
    root, _, _ = published
    with pytest.raises(ArtifactError, match=words):
        read_published(changed(root, tmp_path, "first", change), device="cpu")


def test_folders_that_are_no_published_model_are_refused(published, tmp_path):
    root, _, _ = published
    with pytest.raises(ArtifactError, match="corrector"):
        read_published(str(root / "first"), str(root / "first"), device="cpu")
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ArtifactError, match="pickled .* weights_only=True"):
        read_published(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"damaged")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ArtifactError, match="damaged"):
        read_published(str(tmp_path))
    save_file({"x": torch.ones(1)}, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text('{"use_lora": true}')
    with pytest.raises(ArtifactError, match="use_lora"):
        read_published(str(tmp_path))


def test_another_encoder_than_t5_has_to_be_given(published, tmp_path):
    root, _, _ = published
    folder = changed(
        root, tmp_path, "first", lambda state: {key: v for key, v in state.items() if "embedder" not in key}
    )
    made = read_published(folder, str(root / "second"), steps=1, device="cpu")
    assert made.embedder is None
    with pytest.raises(InputError, match="victim's encoder"):
        made.recover(np.ones((1, 32), np.float32))
