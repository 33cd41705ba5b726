"""Chroma keeps the embedding function with the collection, and opens it again after a restart."""

from __future__ import annotations

import secrets

import numpy as np
import pytest

from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.records import make_records
from sfumato.reference import ProtectorReference
from sfumato.saving import save_protector

TEXTS = list(dict.fromkeys(record.text for record in make_records(40, seed=6)))
IDS = [f"row-{row}" for row in range(len(TEXTS))]


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setenv("SFUMATO_SECRET", secrets.token_hex(32))
    return ProtectorReference(keep(tmp_path, 0.3), secret="env:SFUMATO_SECRET")


def keep(tmp_path, ratio):
    noise = Laplace.from_noise_ratio(ratio, dim=128)
    save_protector(Protector(noise, embedder=Fake(dim=128)), tmp_path / "protector")
    return str(tmp_path / "protector")


def client(tmp_path):
    import chromadb
    from chromadb.config import Settings

    return chromadb.PersistentClient(str(tmp_path / "chroma"), Settings(anonymized_telemetry=False))


def function(protected):
    from sfumato.adapters.chroma import ProtectedEmbeddingFunction

    return ProtectedEmbeddingFunction(protected)


def test_a_collection_is_protected_and_stays_so_when_reopened(kept, tmp_path):
    collection = client(tmp_path).create_collection("notes", embedding_function=function(kept))
    collection.add(ids=IDS, documents=TEXTS)
    expected = kept.open().embed(TEXTS)
    stored = collection.get(include=["embeddings"])
    order = [IDS.index(name) for name in stored["ids"]]
    # Chroma scales vectors to unit length once more.
    np.testing.assert_allclose(stored["embeddings"], expected[order], atol=1e-6)
    assert collection.configuration["hnsw"]["space"] == "cosine"
    again = client(tmp_path).get_collection("notes")  # nobody hands it the function
    again.add(ids=["new"], documents=[TEXTS[0]])
    new = again.get(ids=["new"], include=["embeddings"])["embeddings"][0]
    np.testing.assert_allclose(new, expected[0], atol=1e-6)
    found = again.query(query_texts=TEXTS, n_results=2)["ids"]
    assert np.mean([ids[0] in (own, "new") for ids, own in zip(found, IDS, strict=True)]) > 0.9


def test_who_does_not_know_the_function_gets_nothing_clean(kept, tmp_path, monkeypatch):
    from chromadb.utils import embedding_functions

    client(tmp_path).create_collection("notes", embedding_function=function(kept)).add(
        ids=IDS, documents=TEXTS
    )
    monkeypatch.delitem(embedding_functions.known_embedding_functions, "sfumato")
    stranger = client(tmp_path).get_collection("notes")
    with pytest.raises(ValueError, match="sfumato not found"):
        stranger.query(query_texts=["one"], n_results=1)
    with pytest.raises(ValueError, match="sfumato not found"):
        stranger.add(ids=["new"], documents=["one"])


def test_another_protector_is_refused(kept, tmp_path):
    client(tmp_path).create_collection("notes", embedding_function=function(kept)).add(
        ids=IDS, documents=TEXTS
    )
    other = function(ProtectorReference(keep(tmp_path, 3.0), secret="env:SFUMATO_SECRET"))
    with pytest.raises(ValueError, match="must be the one"):
        client(tmp_path).get_collection("notes").query(query_texts=["one"], n_results=1)
    config = other.get_config()
    with pytest.raises(InputError, match="keep the protector"):
        other.validate_config_update({"protector": {**config["protector"], "digest": "0"}}, config)


def test_vectors_alone_may_be_stored(kept, tmp_path):
    made = function(kept)
    collection = client(tmp_path).create_collection("notes", embedding_function=made)
    collection.add(ids=IDS, embeddings=made(TEXTS))
    held = collection.get(include=["documents", "metadatas", "embeddings"])
    assert held["documents"] == [None] * len(IDS) and held["metadatas"] == [None] * len(IDS)
    found = collection.query(query_texts=TEXTS[:5], n_results=1)["ids"]
    assert sum(ids[0] == own for ids, own in zip(found, IDS, strict=False)) >= 4


def test_a_protector_in_memory_makes_no_function():
    with pytest.raises(InputError, match="save_protector"):
        function(Protector(Laplace(epsilon=400.0), embedder=Fake(dim=128)))


def test_clean_queries_are_said_anew_on_opening(kept, tmp_path):
    from sfumato.adapters.chroma import ProtectedEmbeddingFunction

    clean = ProtectedEmbeddingFunction(kept, queries="clean")
    client(tmp_path).create_collection("notes", embedding_function=clean).add(
        ids=IDS, embeddings=clean(TEXTS)
    )
    assert "queries" not in clean.get_config()
    asked = Fake(dim=128).embed(TEXTS[:1])
    exact = 1 - kept.open().embed(TEXTS[:1]) @ asked[0]  # between the release and the clean vector
    for function_, same in ((clean, True), (None, False)):
        chosen = {} if function_ is None else {"embedding_function": function_}
        collection = client(tmp_path).get_collection("notes", **chosen)
        found = collection.query(query_texts=TEXTS[:1], n_results=len(IDS), include=["distances"])
        distance = found["distances"][0][found["ids"][0].index(IDS[0])]
        assert bool(abs(distance - exact[0]) < 1e-5) is same
