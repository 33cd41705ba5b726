"""Vec2Text on tiny T5 models made on the spot."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
import transformers

from sfumato import artifacts
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import fresh_releases, held_back
from sfumato.attacks.huggingface.correct import Corrections, Guess, closest
from sfumato.attacks.huggingface.pieces import padded
from sfumato.attacks.huggingface.reader import T5Reader
from sfumato.attacks.huggingface.vec2text import T5Corrector
from sfumato.embedders.huggingface import models as hf_models
from sfumato.errors import ArtifactError, InputError, ParameterError, VectorError
from sfumato.mechanisms import Gaussian, Projection
from sfumato.metrics.reconstruction import exact_match
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.release import as_release
from sfumato.sensitivity import Background
from tests.attacks.test_huggingface import TEXTS, WORDS, embed, save_tokenizer
from tests.places import DEVICE

VOCABULARY = 3 + len(WORDS)
SIZES = {
    "vocab_size": VOCABULARY,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 64,
    "num_layers": 2,
    "num_decoder_layers": 2,
    "num_heads": 4,
    "dropout_rate": 0.0,
}


class Encoder:
    """The planted encoder of the other test, as an embedder that counts what it is asked."""

    name, model_id, dim = "planted", "planted-1", 24

    def __init__(self):
        self.asked = []

    def embed(self, texts, *, on_batch=None):
        self.asked += list(texts)
        known = [" ".join(word for word in text.split() if word in WORDS) or "the" for text in texts]
        return embed(known) if known else np.zeros((0, 24), np.float32)


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a small T5 that knows nothing yet."""
    place = tmp_path_factory.mktemp("t5")
    save_tokenizer(place)
    with torch.random.fork_rng(), hf_models.quiet():
        torch.manual_seed(3)
        config = transformers.T5Config(**SIZES, initializer_factor=0.3)
        transformers.T5ForConditionalGeneration(config).save_pretrained(place)
    return place


def settings(folder, **changes):
    base = {
        "model": str(folder),
        "embedder": Encoder(),
        "steps": 4,
        "positions": 2,
        "longest": 6,
        "epochs": 25,
        "batch": 25,
        "rate": 1e-2,
        "head_rate": 1e-2,
        "held_back": 0.2,
        "device": "cpu",
    }
    return T5Corrector(**{**base, **changes})


@pytest.fixture(scope="module")
def fitted(folder):
    return settings(folder).fit(TEXTS, embed(TEXTS))


HELD = [TEXTS[row] for row in held_back(len(TEXTS), 0.2, 0)[1]]


def at(reader, steps, beam=1):
    """The same models with another search."""
    return T5Reader(reader.first, reader.second, reader.pieces, Encoder(), longest=6, steps=steps, beam=beam)


def right(texts, rows):
    return np.mean([exact_match(text, row) for text, row in zip(texts, rows, strict=True)])


def test_registered():
    assert ATTACKS.get("corrector-t5") is T5Corrector


def test_correcting_reads_more_than_guessing(fitted):
    guess, corrected = (at(fitted, steps).recover(embed(HELD)) for steps in (0, 4))
    assert right(HELD, corrected.rows) >= right(HELD, guess.rows) + 0.1
    assert right(HELD, corrected.rows) >= 0.6  # one in 125 by chance
    assert fitted.control.rows == 25 and fitted.control.value >= 0.85
    assert (guess.scores <= 0).all() and (corrected.scores <= 1 + 1e-6).all()


def test_a_beam_never_comes_less_close_than_its_guesses(fitted):
    start = at(fitted, 0, beam=3).recover(embed(HELD)).details["cosine"]
    end = at(fitted, 3, beam=3).recover(embed(HELD)).details["cosine"]
    assert (end >= start - 1e-6).all() and end.mean() > start.mean()


def test_scores_are_the_cosine_of_the_text_itself(fitted):
    found = at(fitted, 2).recover(embed(HELD))
    own = Encoder().embed(found.rows)
    assert found.scores == pytest.approx((own * embed(HELD)).sum(1), abs=1e-5)


def test_no_steps_ask_the_encoder_nothing(fitted):
    reader = at(fitted, 0)
    reader.recover(embed(HELD))
    assert reader.embedder.asked == []


def test_greedy_writing_is_the_argmax_of_the_forward_pass(fitted):
    network = fitted.first
    inputs = network.inputs(torch.from_numpy(embed(TEXTS[:4])))
    for row, tokens in enumerate(network.write(inputs, 6)):
        one = tuple(part[row : row + 1] for part in inputs)
        before = torch.tensor([[0, *tokens[:-1]]])
        with torch.no_grad():
            logits = network.base(
                inputs_embeds=one[0], attention_mask=one[1], decoder_input_ids=before
            ).logits[0]
        assert logits.argmax(-1).tolist() == tokens
        sure = logits.log_softmax(-1).gather(1, torch.tensor(tokens)[:, None]).mean()
        assert network.sureness(one, [tokens])[0].item() == pytest.approx(sure.item(), abs=1e-5)


def test_padding_of_hypotheses_changes_nothing(fitted):
    vectors = torch.from_numpy(embed(TEXTS[:2]))
    tokens = [[4, 5, 1], [4, 5, 6, 7, 1]]
    text = padded([[5, 6, 1], [5, 6, 1]], -100)
    with torch.no_grad():
        both = fitted.second.losses(fitted.second.inputs(vectors, vectors.flip(0), tokens), text)
        alone = fitted.second.losses(fitted.second.inputs(vectors[:1], vectors[1:], tokens[:1]), text[:1])
    assert both[0].numpy() == pytest.approx(alone[0].numpy(), abs=1e-5)


def planted_search(written, beam, steps, texts=("a", "b", "c", "d")):
    """Tokens are places in `texts`, whose vectors turn away from the target one by one."""
    angles = {text: 0.1 * place for place, text in enumerate(texts)}
    search = Corrections(
        lambda found: np.array(
            [[math.cos(angles[text]), math.sin(angles[text])] for text in found], np.float32
        ),
        lambda targets, guesses: [tokens for guess in guesses for tokens in written(guess)],
        lambda rows: [texts[row[0]] for row in rows],
        beam,
    )
    target = np.array([[1.0, 0.0]], np.float32)
    return lambda first: search.run(target, [[[place] for place in first]], steps)[0].text


def test_a_beam_keeps_its_guesses_when_corrections_are_worse():
    asked = []

    def written(guess):
        asked.append(guess.text)
        return [[3], [2]]

    assert planted_search(written, 2, 5)([1, 2]) == "b"
    assert asked == ["b", "c"]  # never about a correction that is no closer


def test_a_beam_takes_what_is_closer():
    assert planted_search(lambda guess: [[guess.tokens[0] - 1], [3]], 2, 1)([2, 3]) == "b"
    assert planted_search(lambda guess: [[max(guess.tokens[0] - 1, 0)], [3]], 2, 5)([2, 3]) == "a"


def test_one_hypothesis_moves_on_and_the_closest_seen_is_kept():
    path = {2: 3, 3: 1, 1: 2}  # worse, then better than the start, then back
    search = planted_search(lambda guess: [[path[guess.tokens[0]]]], 1, 3)
    assert search([2]) == "b"


def test_nothing_is_asked_twice_once_it_stands_still():
    asked = []

    def written(guess):
        asked.append(guess.text)
        return [guess.tokens]

    assert planted_search(written, 1, 50)([1]) == "b"
    assert len(asked) == 1


def test_closest_keeps_different_texts():
    guesses = [
        Guess([place], text, np.zeros(2), value)
        for place, (text, value) in enumerate([("x", 0.5), ("y", 0.9), ("y", 0.9), ("z", 0.1)])
    ]
    assert [guess.tokens for guess in closest(guesses, 2)] == [[1], [0]]


def test_trains_on_fresh_noise_and_asks_only_about_guesses(folder, monkeypatch):
    seen = []
    noise = Gaussian(sigma=0.05)
    real = noise.privatize
    monkeypatch.setattr(noise, "privatize", lambda rows, rng: seen.append(real(rows, rng)) or seen[-1])
    encoder = Encoder()
    heard = []
    made = settings(folder, epochs=2, steps=1, embedder=encoder).fit(
        TEXTS, embed(TEXTS), noise, on_step=lambda *step: heard.append(step)
    )
    assert [heard[7], heard[-1]] == [("hypothesiser", 1.0), ("corrector", 1.0)]
    epochs = [rows for rows in seen if len(rows) == 100]
    assert len(epochs) == 5  # two of each model, and one to guess from
    assert not any(np.array_equal(one, other) for one in epochs for other in epochs if one is not other)
    assert made.release.mechanism is noise and encoder.asked


def test_bfloat16_as_on_a_gpu(folder, monkeypatch):
    for module in ("vec2text", "reader"):
        monkeypatch.setattr(
            f"sfumato.attacks.huggingface.{module}.autocast",
            lambda device: torch.autocast("cpu", torch.bfloat16),
        )
    made = settings(folder, epochs=15, steps=1).fit(TEXTS, embed(TEXTS))
    assert made.control.value >= 0.7
    assert all(weight.dtype == torch.float32 for weight in made.second.parameters())
    assert at(made, 0).recover(embed(HELD)).scores.dtype == np.float64


def test_same_seed_same_weights(folder):
    one, other = (settings(folder, epochs=1, steps=0).fit(TEXTS, embed(TEXTS)) for _ in range(2))
    for first, second in zip(one.first.parameters(), other.first.parameters(), strict=True):
        assert torch.equal(first, second)


def test_without_noise_is_the_mean_of_releases():
    rng = generator(1)
    background = Background.fit(embed(TEXTS) + 0.05 * rng.standard_normal((125, 24)).astype(np.float32))
    mechanism = Gaussian(sigma=0.02)
    for victim in (
        mechanism,
        Protector(mechanism, background=background, normalise=False, neutral=0),
        Projection(epsilon=500.0, components=7),
    ):
        release = fresh_releases(victim, 1)
        expected = np.mean([release(embed(TEXTS[:3])) for _ in range(200)], axis=0)
        assert as_release(victim).expected(embed(TEXTS[:3])) == pytest.approx(expected, abs=0.01)


def test_save_and_load(fitted, tmp_path):
    digest = fitted.save(tmp_path / "saved")
    with pytest.raises(ParameterError, match="planted"):
        T5Reader.load(tmp_path / "saved")
    again = T5Reader.load(tmp_path / "saved", embedder=Encoder(), device="cpu")
    first, second = fitted.recover(embed(HELD)), again.recover(embed(HELD))
    assert first.rows == second.rows and np.array_equal(first.scores, second.scores)
    assert again.control == fitted.control and (again.steps, again.beam) == (4, 1)
    assert again.save(tmp_path / "again") == digest


def test_load_checks_the_named_encoder(folder, tmp_path):
    from sfumato.embedders import Fake

    encoder = Fake(dim=16)
    made = settings(folder, epochs=1, steps=1, embedder="fake:16").fit(
        TEXTS, encoder.embed(TEXTS), Gaussian(sigma=0.1)
    )
    made.save(tmp_path / "saved")
    again = T5Reader.load(tmp_path / "saved", device="cpu")
    assert again.embedder.model_id == encoder.model_id and again.release.mechanism.sigma == 0.1
    config = artifacts.load(tmp_path / "saved", T5Reader.kind)
    artifacts.save(
        tmp_path / "other", T5Reader.kind, {**config.config, "model_id": "another"}, config.tensors
    )
    with pytest.raises(ArtifactError, match="fitted with, another"):
        T5Reader.load(tmp_path / "other")
    artifacts.save(tmp_path / "less", T5Reader.kind, {"embedder": None}, {})
    with pytest.raises(ArtifactError, match="lacks"):
        T5Reader.load(tmp_path / "less")


def test_refusals(folder, fitted):
    with pytest.raises(ParameterError, match="victim's encoder"):
        settings(folder, embedder=None).fit(TEXTS, embed(TEXTS))
    with pytest.raises(InputError, match="at least two"):
        settings(folder).fit(TEXTS[:1], embed(TEXTS[:1]))
    with pytest.raises(VectorError, match="dimension 24"):
        fitted.recover(np.ones((1, 3)))
    bare = T5Reader(fitted.first, fitted.second, fitted.pieces, None, steps=1)
    with pytest.raises(InputError, match="victim's encoder"):
        bare.recover(embed(HELD))
    for wrong in ({"steps": -1}, {"beam": 0}, {"positions": 0}, {"rate": 0.0}, {"held_back": 1.0}):
        with pytest.raises(ParameterError):
            T5Corrector(**wrong)


def test_noise_may_be_drawn_where_the_network_is(folder, drawn):
    made = settings(folder, epochs=2, device=DEVICE).fit(TEXTS, embed(TEXTS), Gaussian(sigma=0.05))
    assert made.control is not None
    assert {own.device.type for own in drawn} == {DEVICE}
    assert [len(own) for own in drawn].count(len(TEXTS) - len(held_back(len(TEXTS), 0.2, 0)[1])) >= 2
