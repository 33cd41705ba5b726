"""LangChain over a protected collection: its own standard tests, then texts, metadata and searches."""

from __future__ import annotations

import json
import secrets
import warnings

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.load import dumps
from langchain_core.stores import InMemoryStore
from langchain_tests.integration_tests import VectorStoreIntegrationTests

from sfumato.accounting import Secret
from sfumato.adapters import FunctionEmbedder
from sfumato.adapters.langchain_store import ProtectedVectorStore
from sfumato.concepts import Concept
from sfumato.embedders import Fake
from sfumato.errors import InputError, ParameterError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.stores import ProtectedStore, open_store

DIM = 128
TEXTS = [f"Note {row}: {word} all week." for row, word in enumerate(("rain", "sun", "snow", "fog", "wind"))]
IDS = [f"n{row}" for row in range(len(TEXTS))]
FIELDS = [{"row": row, "kind": "odd" if row % 2 else "even"} for row in range(len(TEXTS))]


def protector(encoder=None, ratio=0.1):
    encoder = Fake(dim=DIM) if encoder is None else encoder
    noise = Laplace.from_noise_ratio(ratio, dim=encoder.dim)
    city = Concept.from_terms("city", ["Lisbon", "Porto"])
    return Protector(noise, encoder, (city,), secret=Secret.generate())


class Standard(VectorStoreIntegrationTests):
    """LangChain's suite with its own embeddings behind the protector."""

    def protector(self):
        embed = self.get_embeddings().embed_documents
        return protector(FunctionEmbedder(embed, model_id="langchain-tests"), ratio=0.01)


class TestTextsBesideVectors(Standard):
    """The caller said that the collection may have the texts."""

    @pytest.fixture
    def vectorstore(self):
        with ProtectedStore(open_store("memory:"), self.protector(), keep_text="document") as protected:
            yield ProtectedVectorStore(protected)


class TestTextsAtHome(Standard):
    """Chroma has ids, vectors and metadata; the texts are here."""

    @pytest.fixture
    def vectorstore(self, tmp_path):
        url = f"chroma:{tmp_path}/db#notes"
        with ProtectedStore(open_store(url), self.protector(), queries="clean") as protected:
            yield ProtectedVectorStore(protected, text_store=InMemoryStore())


@pytest.fixture
def store():
    with ProtectedStore(open_store("memory:"), protector()) as protected:
        made = ProtectedVectorStore(protected, text_store=InMemoryStore())
        made.add_texts(TEXTS, FIELDS, ids=IDS)
        yield made


def held(store):
    (rows,) = store._protected.store.batches()
    return rows


def test_the_collection_gets_protected_vectors_and_no_text_unless_told(store):
    rows = held(store)
    assert not any(text[:9] in json.dumps(rows.metadata) for text in TEXTS)
    order = [IDS.index(name) for name in rows.ids]
    cosines = np.vecdot(rows.vectors, Fake(dim=DIM).embed(TEXTS)[order])
    assert cosines.max() < 0.9999 and cosines.min() > 0.9
    beside = ProtectedVectorStore(ProtectedStore(open_store("memory:"), protector(), keep_text="note"))
    beside.add_texts(TEXTS[:1], FIELDS[:1], ids=["a"])
    assert held(beside).metadata[0]["note"] == TEXTS[0]
    (found,) = beside.similarity_search(TEXTS[0])
    assert found == Document(id="a", page_content=TEXTS[0], metadata=FIELDS[0])


def test_without_texts_documents_come_back_by_their_ids(store):
    alone = ProtectedVectorStore(store._protected)
    assert alone.similarity_search(TEXTS[2], k=1) == [Document(id="n2", page_content="", metadata=FIELDS[2])]
    with pytest.raises(InputError, match="in one place"):
        ProtectedVectorStore(
            ProtectedStore(open_store("memory:"), protector(), keep_text="document"),
            text_store=InMemoryStore(),
        )


def test_what_is_hidden_does_not_leave_with_metadata(store):
    for wrong, rule in (
        ({"place": "Lisbon"}, "concept `city`"),
        ({"note": "went to Porto by train"}, "concept `city`"),
        ({"copy": "Out all day and back late."}, "its text"),
        ({"tags": ["a"]}, "Convert it"),
    ):
        with pytest.raises(InputError, match=rule) as caught:
            store.add_texts(["Out all day and back late."], [wrong])
        assert "Lisbon" not in str(caught.value) and "Out all day" not in str(caught.value)
    assert len(held(store)) == len(TEXTS) and len(list(store._text_store.yield_keys())) == len(TEXTS)
    store.add_texts(["Back home."], [{"loc": None, "page": 2}], ids=["x"])
    assert store.get_by_ids(["x"])[0].metadata == {"page": 2}


def test_searches_filter_score_and_differ(store):
    found = store.similarity_search_with_score(TEXTS[3], k=5)
    assert found[0][0].page_content == TEXTS[3]
    scores = [score for _, score in found]
    assert scores == sorted(scores, reverse=True) and 0.9 < scores[0] <= 1.0001
    assert {each.id for each in store.similarity_search("x", k=9, filter={"kind": "odd"})} == {"n1", "n3"}
    chosen = store.as_retriever(search_kwargs={"k": 9, "filter": {"row": [0, 4]}})
    assert {each.id for each in chosen.invoke("x")} == {"n0", "n4"}
    assert store.similarity_search_by_vector(Fake(dim=DIM).embed([TEXTS[1]])[0].tolist(), 1)[0].id == "n1"
    with pytest.raises(InputError, match="`filter` must give"):
        store.similarity_search("x", filter=lambda each: True)
    with pytest.raises(ParameterError, match="`k` must be"):
        store.similarity_search("x", k=0)


@pytest.mark.parametrize("metric", ["cosine", "l2", "ip"])
def test_scores_are_cosines_whatever_the_collection_measures(metric):
    with ProtectedStore(open_store(f"memory:?metric={metric}"), protector(), queries="clean") as protected:
        store = ProtectedVectorStore(protected, text_store=InMemoryStore())
        store.add_texts(TEXTS, ids=IDS)
        rows = held(store)
        asked = Fake(dim=DIM).embed(["rain and fog"])[0]
        exact = dict(zip(rows.ids, rows.vectors @ asked, strict=True))
        found = store.similarity_search_with_score("rain and fog", k=5)
        assert np.allclose([score for _, score in found], [exact[each.id] for each, _ in found], atol=1e-4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            relevant = store.similarity_search_with_relevance_scores("rain and fog", k=5)
        assert all(0 <= score <= 1 for _, score in relevant)


def test_queries_are_protected_unless_the_collection_says_clean(store):
    seen = []
    inner = store._protected.store
    search = inner.search
    inner.search = lambda vectors, *rest: (seen.append(np.array(vectors)), search(vectors, *rest))[1]
    own = Fake(dim=DIM).embed(TEXTS[:1])
    clean = ProtectedVectorStore(ProtectedStore(inner, store._protected.protector, queries="clean"))
    for each in (store, store, clean):
        each.similarity_search(TEXTS[0])
        each.max_marginal_relevance_search(TEXTS[0])
    assert len({vector.tobytes() for vector in seen[:4]}) == 4
    assert not any(np.allclose(vector, own, atol=1e-3) for vector in seen[:4])
    assert all(np.array_equal(vector, own) for vector in seen[4:])
    assert np.array_equal(np.float32(clean.embeddings.embed_query(TEXTS[0])), own[0])


def test_diverse_documents(store):
    store.add_texts([TEXTS[0] + tail for tail in (" And on.", " Again.")], ids=["a", "b"])
    plain = {each.id for each in store.similarity_search(TEXTS[0], k=3)}
    assert plain == {"n0", "a", "b"}
    diverse = store.max_marginal_relevance_search(TEXTS[0], k=3, fetch_k=7, lambda_mult=0.1)
    assert diverse[0].id == "n0" and len({each.id for each in diverse} & plain) < 3
    vector = Fake(dim=DIM).embed(TEXTS[:1])[0].tolist()
    assert store.max_marginal_relevance_search_by_vector(vector, k=2)[0].id == "n0"
    store.delete()
    assert store.max_marginal_relevance_search("x") == [] and not list(store._text_store.yield_keys())


def test_made_from_texts_and_written_down_without_a_secret(store, monkeypatch):
    with ProtectedStore(open_store("memory:"), protector()) as protected:
        made = ProtectedVectorStore.from_texts(
            TEXTS, None, ids=IDS, protected=protected, text_store=InMemoryStore()
        )
        assert made.get_by_ids(["n1", "absent"])[0].page_content == TEXTS[1]
        with pytest.raises(InputError, match="The protector embeds"):
            ProtectedVectorStore.from_texts(TEXTS, made.embeddings, protected=protected)
    with pytest.raises(InputError, match="give it as `protected`"):
        ProtectedVectorStore.from_texts(TEXTS, None)
    with pytest.raises(ParameterError, match="must be a ProtectedStore"):
        ProtectedVectorStore(open_store("memory:"))
    key = secrets.token_hex(32)
    monkeypatch.setenv("SFUMATO_SECRET", key)
    store._protected.protector.secret = Secret.from_env()
    for text in (dumps(store), repr(store), repr(store.as_retriever())):
        assert "ProtectedStore(" in text and "Note 1" not in text and key not in text
    for wrong in ({"metadatas": [{}]}, {"ids": ["a"]}, {"ids": ["a", "a"]}):
        with pytest.raises(InputError):
            store.add_texts(["one", "two"], **wrong)
    assert store.add_texts([]) == []
