"""Zero-shot reading of a planted encoder with a tiny language model: the likeliest of all texts is found."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers

from sfumato import artifacts
from sfumato.attacks import ATTACKS
from sfumato.attacks.base import fresh_releases
from sfumato.attacks.huggingface.asking import Asked, Gains, explained_by
from sfumato.attacks.huggingface.guessing import exchanged, swapped, without
from sfumato.attacks.huggingface.zeroshot import ZeroShot, ZeroShotReader
from sfumato.concepts.concept import Concept
from sfumato.embedders.huggingface.models import quiet
from sfumato.errors import ArtifactError, InputError, ParameterError
from sfumato.likelihood import NATS
from sfumato.mechanisms import Laplace, Purkayastha, Suppression
from sfumato.metrics.similarity import unit_rows
from sfumato.preparing import Entrance
from sfumato.protector import Protector
from sfumato.randomness import generator
from sfumato.release import AS_IT_IS, Release
from sfumato.sensitivity import Mask
from tests.attacks.planted import SLOTS, Planted, sentences

EVERY = [" ".join(words) for words in itertools.product(*SLOTS)]
PLANTED = Planted()


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """A language model of one block that knows the words and nothing else."""
    folder = tmp_path_factory.mktemp("tiny")
    names = ["<pad>", "</s>", "<unk>", *(word for slot in SLOTS for word in slot)]
    backend = Tokenizer(models.WordLevel({name: at for at, name in enumerate(names)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=backend, pad_token="<pad>", eos_token="</s>", unk_token="<unk>"
    ).save_pretrained(folder)
    config = transformers.LlamaConfig(
        vocab_size=len(names),
        hidden_size=16,
        intermediate_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=128,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=1,
    )
    with torch.random.fork_rng(), quiet():
        torch.manual_seed(3)
        transformers.LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def attack(folder, **changes):
    base = {"model": str(folder), "embedder": PLANTED, "beam": 6, "branch": 26, "longest": 5, "device": "cpu"}
    return ZeroShot(**{**base, "queries": 900, **changes})


def likeliest(made, released):
    """The best score of all sentences there are: how likely it makes the release, and is itself."""
    table = made.release.log_likelihood(released, PLANTED.embed(EVERY))
    return (table + made.proposer.likelihoods(EVERY)).max(axis=1)


def test_registered():
    assert ATTACKS.get("zero-shot") is ZeroShot


def test_clean_vectors_are_read_without_a_pair(tiny):
    secret = sentences(12, 5)
    made = attack(tiny, controls=4).fit(secret, PLANTED.embed(secret))
    found = made.recover(PLANTED.embed(secret))
    assert np.mean([row == text for row, text in zip(found.rows, secret, strict=True)]) > 0.9
    assert (found.details["asked"] <= 900).all() and made.control.value > 0.9 and made.control.rows == 4
    # With few questions it reads less: they are what it reads by.
    few = attack(tiny, queries=12).fit().recover(PLANTED.embed(secret))
    assert (few.details["asked"] == 12).all()
    assert np.mean([row == text for row, text in zip(few.rows, secret, strict=True)]) < 0.5


@pytest.mark.parametrize(
    "release",
    [
        Release(Laplace.from_noise_ratio(0.6, dim=Planted.dim), normalise=False),
        Release(Laplace.from_noise_ratio(0.6, dim=Planted.dim)),
        Release(Purkayastha.from_noise_ratio(0.6, dim=Planted.dim)),
    ],
    ids=["plain", "unit length", "on the sphere"],
)
def test_the_likeliest_of_all_texts_is_found_under_noise(tiny, release):
    secret = sentences(10, 6)
    released = np.asarray(fresh_releases(release, 4)(PLANTED.embed(secret)))
    made = attack(tiny).fit(mechanism=release)
    assert (made.recover(released).scores >= likeliest(made, released) - 1e-6).mean() >= 0.7
    drowned = Release(Laplace.from_noise_ratio(30.0, dim=Planted.dim), normalise=False)
    lost = attack(tiny).fit(mechanism=drowned).recover(fresh_releases(drowned, 4)(PLANTED.embed(secret)))
    assert np.mean([row == text for row, text in zip(lost.rows, secret, strict=True)]) < 0.3


def test_a_release_without_a_law_is_weighed_by_its_cosine():
    rows = PLANTED.embed(EVERY[:50]).astype(np.float64)
    quiet_mask = Mask(np.ones(PLANTED.dim))
    lawless = Release(Suppression(epsilon=50.0, mask=quiet_mask), normalise=False)
    for release in (None, AS_IT_IS, lawless):
        fit = explained_by(release, PLANTED.dim)(rows[3], rows)
        assert fit.argmax() == 3 and fit.max() == pytest.approx(NATS, rel=0.2) and fit.shape == (50,)
    noisy = Release(Laplace(epsilon=80.0), normalise=False)
    table = explained_by(noisy, PLANTED.dim)(rows[3], rows)
    assert np.allclose(table, noisy.log_likelihood(rows[3:4], rows)[0])


def test_neutral_texts_are_asked_for_where_the_victim_embeds_those(tiny):
    """What the defence hides cannot be read: guesses go the same way as the victim's texts."""
    places = Concept.from_terms("place", SLOTS[2])
    victim = Protector(Laplace.from_noise_ratio(0.05, dim=PLANTED.dim), PLANTED, (places,), neutral=4)
    secret = sentences(10, 8)
    released = victim.release(victim.prepare(secret))
    made = attack(tiny, embedder=None).fit(mechanism=victim)
    assert isinstance(made.encoder, Entrance) and made.encoder.hides
    rows = [row.split() for row in made.recover(released).rows]
    first = np.mean([row[:1] == text.split()[:1] for row, text in zip(rows, secret, strict=True)])
    hidden = np.mean([row[2:3] == text.split()[2:3] for row, text in zip(rows, secret, strict=True)])
    assert first > 0.8 and hidden < 0.5


def test_asking_is_counted_and_never_goes_beyond_the_limit():
    target = PLANTED.embed(EVERY[:1])[0].astype(np.float64)
    asked = Asked(PLANTED, AS_IT_IS, target, explained_by(None, PLANTED.dim), 3)
    assert (
        asked.ask([EVERY[1], EVERY[1], " ", EVERY[2]]) == [EVERY[1], EVERY[1], EVERY[2]] and asked.left == 1
    )
    assert asked.ask([EVERY[0], EVERY[3]]) == [EVERY[0]] and asked.left == 0
    assert asked.best(1) == [EVERY[0]] and asked.cosine(EVERY[0]) == pytest.approx(1, abs=1e-6)


def test_gains_are_foretold_from_what_was_asked():
    rng = generator(0)
    near, said = rng.standard_normal((2, 400))
    gains = Gains()
    assert gains.foretold(gains.seen(np.array([1.0, 0.0]), np.array([0.0, 1.0])))[0] > 0
    seen = gains.seen(near, said)
    gains.learn(seen, 0.5 * near - 0.3 * said + 0.01)
    assert np.allclose(gains.foretold(seen), 0.5 * near - 0.3 * said + 0.01, atol=0.02)


def test_edits():
    assert without("a b c") == ["b c", "a c", "a b"] and without("a") == []
    assert swapped("a b c") == ["b a c", "a c b"]
    assert exchanged("a b", [1, 0], ["x"]) == ["a x", "x b", "a x b", "x a b"]
    assert exchanged("a b", [2], ["x"]) == ["a b x"]


def test_same_result_also_after_saving(tiny, tmp_path):
    noise = Laplace.from_noise_ratio(0.4, dim=PLANTED.dim)
    released = fresh_releases(noise, 1)(PLANTED.embed(EVERY[:3]))
    made = attack(tiny, queries=200).fit(mechanism=noise)
    first = made.recover(released)
    assert attack(tiny, queries=200).fit(mechanism=noise).recover(released).rows == first.rows
    made.save(tmp_path / "kept")
    again = ZeroShotReader.load(tmp_path / "kept", embedder=PLANTED, device="cpu")
    found = again.recover(released)
    assert found.rows == first.rows and np.array_equal(found.scores, first.scores)
    kept = artifacts.load(tmp_path / "kept", ZeroShotReader.kind)
    for config in ({**kept.config, "base_digest": "0" * 64}, {"settings": {}}):
        artifacts.save(tmp_path / "other", ZeroShotReader.kind, config, kept.tensors)
        with pytest.raises(ArtifactError):
            ZeroShotReader.load(tmp_path / "other", embedder=PLANTED)


def test_refusals(tiny):
    with pytest.raises(ParameterError, match="`embedder` must be"):
        attack(tiny, embedder=None).fit()
    for wrong in ({"queries": 0}, {"beam": 0}, {"fluency": -1.0}, {"seed": -1}):
        with pytest.raises(ParameterError):
            ZeroShot(**wrong)
    made = attack(tiny, queries=5).fit()
    with pytest.raises(InputError, match="dimension"):
        made.recover(np.ones((1, 3)))
    made.encoder = type("Nameless", (), {"embed": PLANTED.embed})()
    with pytest.raises(InputError, match="encoder's name"):
        made.save("nowhere")
    assert np.allclose(np.linalg.norm(made.words.vectors, axis=1), 1, atol=1e-5)
    assert np.allclose(unit_rows(made.words.vectors), made.words.vectors, atol=1e-5)
