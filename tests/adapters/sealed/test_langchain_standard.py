"""LangChain's own standard tests, sync and async, over a sealed collection."""

from __future__ import annotations

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from sfumato.adapters.sealed.langchain import SealedRetriever, SealedVectorStore
from tests.sealing.collections import ENCODER, notes, sealed


class TestOwnEncoder(VectorStoreIntegrationTests):
    """LangChain's embeddings, over a collection without an encoder."""

    @pytest.fixture
    def vectorstore(self, tmp_path):
        with sealed(tmp_path, embedder=None) as store:
            yield SealedVectorStore(store, self.get_embeddings(), strict=True)


class TestCollectionsEncoder(VectorStoreIntegrationTests):
    """The collection embeds."""

    @pytest.fixture
    def vectorstore(self, tmp_path):
        with sealed(tmp_path, embedder=ENCODER) as store:
            yield SealedVectorStore(store, strict=True)


class TestRetriever(RetrieversIntegrationTests):
    """The retriever, over some notes."""

    @pytest.fixture(autouse=True)
    def store(self, tmp_path):
        with sealed(tmp_path) as store:
            self._store = SealedVectorStore(store, strict=True)
            self._store.add_texts(notes(20))
            yield

    @property
    def retriever_constructor(self):
        return SealedRetriever

    @property
    def retriever_constructor_params(self):
        return {"store": self._store}

    @property
    def retriever_query_example(self):
        return "fever and cough"
