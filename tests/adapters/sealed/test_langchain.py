"""LangChain over a sealed collection: scores, diversity, filters, retrievers, and what is written down."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.load import dumpd, dumps

from sfumato.adapters.sealed.langchain import SealedRetriever, SealedVectorStore
from sfumato.errors import InputError, ParameterError
from tests.sealing.collections import metadata, names, notes, sealed

ROWS = 60
TEXTS, IDS, FIELDS = notes(ROWS), names(ROWS), metadata(ROWS)


@pytest.fixture
def store(tmp_path):
    with sealed(tmp_path) as collection:
        made = SealedVectorStore(collection, strict=True)
        made.add_texts(TEXTS, FIELDS, ids=IDS)
        yield made


class Signed(Embeddings):
    """Opposite vectors for `yes` and `no`, others between; queries and documents are told apart."""

    def __init__(self):
        self.queries = []

    def embed_documents(self, texts):
        return [{"yes": [1.0, 0.0], "no": [-1.0, 0.0]}.get(text, [0.6, 0.8]) for text in texts]

    def embed_query(self, text):
        self.queries.append(text)
        return self.embed_documents([text])[0]


def test_relevance_is_from_0_to_1_and_no_document_is_quoted(tmp_path):
    embedding = Signed()
    with sealed(tmp_path, embedder=None) as collection:
        store = SealedVectorStore(collection, embedding)
        store.add_texts(["yes", "no", "perhaps"])
        scores = {found.page_content: score for found, score in store.similarity_search_with_score("yes", 3)}
        assert scores == pytest.approx({"yes": 1, "no": -1, "perhaps": 0.6}, abs=0.01)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            found = dict(
                (each.page_content, score)
                for each, score in store.similarity_search_with_relevance_scores("yes", 3)
            )
        assert found == pytest.approx({"yes": 1, "no": 0, "perhaps": 0.6}, abs=0.01)
        assert all(0 <= score <= 1 for score in found.values())
        above = store.as_retriever(
            search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.5}
        )
        assert {each.page_content for each in above.invoke("yes")} == {"yes", "perhaps"}
        assert set(embedding.queries) == {"yes"} and store.embeddings is embedding


def test_diverse_documents_cost_the_store_no_further_request(store, monkeypatch):
    near = [f"{TEXTS[7]} {word}" for word in ("a", "b", "c")]
    store.add_texts(near)
    asked = []
    records = store._front._sealed.store
    get = type(records)._get
    records._get = lambda ids: (asked.append(len(ids)), get(records, ids))[1]
    plain = store.similarity_search(TEXTS[7], 20)
    alone = list(asked)
    asked.clear()
    diverse = store.max_marginal_relevance_search(TEXTS[7], 4, fetch_k=20, lambda_mult=0.2)
    assert asked == alone and asked
    assert diverse[0].id == plain[0].id == IDS[7]
    assert len({each.page_content for each in diverse} & {TEXTS[7], *near}) < 4
    assert len({each.page_content for each in plain[:4]} & {TEXTS[7], *near}) == 4
    retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 4, "lambda_mult": 0.2})
    assert [each.id for each in retriever.invoke(TEXTS[7])] == [each.id for each in diverse]


def test_diverse_documents_with_langchains_embeddings(tmp_path):
    with sealed(tmp_path, embedder=None) as collection:
        store = SealedVectorStore.from_texts(
            TEXTS, DeterministicFakeEmbedding(size=8), FIELDS, ids=IDS, sealed=collection
        )
        found = store.max_marginal_relevance_search(TEXTS[3], 5, fetch_k=30)
        assert found[0].id == IDS[3] and len({each.id for each in found}) == 5
        assert store.max_marginal_relevance_search(TEXTS[3], 2, filter={"row": 5})[0].id == IDS[5]
        store.delete()
        assert store.max_marginal_relevance_search(TEXTS[3], 5) == []


def test_filters_are_values_lists_or_functions(store):
    assert {each.metadata["row"] for each in store.similarity_search("x", 9, filter={"row": [1, 2]})} == {
        1,
        2,
    }
    both = store.similarity_search("x", 60, filter={"row": [0, 1, 2, 3], "ward": "ward 0"})
    assert {each.metadata["row"] for each in both} == {0, 3}
    found = store.similarity_search("x", 60, filter=lambda each: each.metadata["row"] > 50)
    assert {each.metadata["row"] for each in found} == set(range(51, 60))
    vector = store._front._sealed.embed(["x"])[0].tolist()
    assert store.similarity_search_by_vector(vector, 1, filter={"row": 7})[0].id == IDS[7]
    for wrong in ({"row": {"$gt": 3}}, {"$and": [{"row": 1}]}, {"row": []}, {"row": None}, {"_rest": "x"}):
        with pytest.raises(InputError, match="`filter` must give a value"):
            store.similarity_search("x", filter=wrong)


def test_ids_and_documents(store):
    made = store.add_documents([Document(page_content="one"), Document(id="own", page_content="two")])
    assert made[1] == "own" and len(made[0]) == 36
    assert [each.id for each in store.get_by_ids(["own", made[0], "own", "absent"])] == ["own", made[0]]
    assert store.add_texts([]) == []
    for wrong in ({"metadatas": [{}]}, {"ids": ["a"]}, {"ids": ["a", "a"]}):
        with pytest.raises(InputError):
            store.add_texts(["one", "two"], **wrong)
    with pytest.raises(ParameterError, match="`k` must be"):
        store.similarity_search("x", 0)


def test_one_encoder_and_one_collection(store, tmp_path):
    with pytest.raises(InputError, match="has an encoder of its own"):
        SealedVectorStore(store._front._sealed, Signed())
    with pytest.raises(InputError, match="give it as `sealed`"):
        SealedVectorStore.from_texts(["a"], Signed())


def test_retriever_takes_filters_and_batches(store):
    retriever = SealedRetriever(store=store, k=3, filter={"ward": "ward 1"})
    found = retriever.invoke(TEXTS[7])
    assert [each.id for each in found][0] == IDS[7] and {each.metadata["ward"] for each in found} == {
        "ward 1"
    }
    assert {each.metadata["row"] for each in retriever.invoke("x", filter={"row": [2, 4]})} == {2, 4}
    many = retriever.batch(TEXTS[1:60:3])
    assert [each[0].id for each in many] == IDS[1:60:3]


def test_what_langchain_writes_down_holds_no_key_and_no_text(store, tmp_path):
    key = (tmp_path / "key").read_text().split()[1]
    for each in (store, SealedRetriever(store=store), store.as_retriever()):
        for text in (dumps(each), json.dumps(dumpd(each)), repr(each), str(each)):
            assert key not in text and "Note 7" not in text and IDS[7] not in text
    assert "not_implemented" in dumps(store) and "SealedStore(memory" in dumps(store)


def test_scores_are_those_of_numpy(store):
    sealed_store = store._front._sealed
    vectors = sealed_store.embed(TEXTS)
    asked = sealed_store.embed(["fever and cough"])[0]
    exact = dict(zip(IDS, vectors @ asked, strict=True))
    found = store.similarity_search_with_score("fever and cough", 10)
    assert np.allclose([score for _, score in found], [exact[each.id] for each, _ in found], atol=0.01)


def test_langchains_index_keeps_it_up_to_date(store):
    """What did not change is left alone, what changed replaced, what is gone deleted."""
    records = InMemoryRecordManager("notes")
    records.create_schema()

    def run(*texts):
        documents = [Document(page_content=text, metadata={"source": "x"}) for text in texts]
        return index(documents, records, store, cleanup="full", source_id_key="source", key_encoder="sha256")

    store.delete()
    assert run("one", "two")["num_added"] == 2
    assert run("one", "three") == {"num_added": 1, "num_updated": 0, "num_skipped": 1, "num_deleted": 1}
    assert {each.page_content for each in store.similarity_search("x", 9)} == {"one", "three"}
