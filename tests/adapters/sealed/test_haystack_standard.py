"""Haystack's own tests of document stores, sync and async, over a sealed collection."""

from __future__ import annotations

from dataclasses import replace

import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.testing import document_store as suites
from haystack.testing import document_store_async as async_suites

from sfumato.adapters.sealed.haystack import SealedDocumentStore
from sfumato.embedders import Fake
from tests.sealing.collections import sealed


class Sealed:
    """An empty store that embeds what comes without an embedding, in the dimension of the suites."""

    @pytest.fixture
    def document_store(self, tmp_path):
        with sealed(tmp_path, embedder=Fake(dim=768)) as store:
            yield SealedDocumentStore(store, strict=True)

    @staticmethod
    def assert_documents_are_equal(received, expected):
        """Embeddings do not come back; all else does, in the same order."""
        assert received == [replace(each, embedding=None) for each in expected]


class TestSealedDocumentStore(
    Sealed,
    suites.DocumentStoreBaseExtendedTests,
    suites.CountDocumentsByFilterTest,
    suites.CountUniqueMetadataByFilterTest,
    suites.GetMetadataFieldsInfoTest,
    suites.GetMetadataFieldMinMaxTest,
    suites.GetMetadataFieldUniqueValuesTest,
):
    def test_write_documents(self, document_store):
        """Without a policy a second document of the same id is refused, and nothing is written."""
        first, second = Document(id="1", content="one"), Document(id="2", content="two")
        assert document_store.write_documents([first]) == 1
        with pytest.raises(DuplicateDocumentError, match="Document 1 has the id of another"):
            document_store.write_documents([second, first])
        self.assert_documents_are_equal(document_store.filter_documents(), [first])


class TestSealedDocumentStoreAsync(
    Sealed,
    async_suites.CountDocumentsAsyncTest,
    async_suites.WriteDocumentsAsyncTest,
    async_suites.DeleteDocumentsAsyncTest,
    async_suites.DeleteAllAsyncTest,
    async_suites.DeleteByFilterAsyncTest,
    async_suites.UpdateByFilterAsyncTest,
    async_suites.FilterDocumentsAsyncTest,
    async_suites.CountDocumentsByFilterAsyncTest,
    async_suites.CountUniqueMetadataByFilterAsyncTest,
    async_suites.GetMetadataFieldsInfoAsyncTest,
    async_suites.GetMetadataFieldMinMaxAsyncTest,
    async_suites.GetMetadataFieldUniqueValuesAsyncTest,
):
    async def test_write_documents_async(self, document_store):
        document = Document(id="1", content="one")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document])


def test_every_suite_that_haystack_publishes_is_run():
    for module, chosen in ((suites, TestSealedDocumentStore), (async_suites, TestSealedDocumentStoreAsync)):
        published = [each for name, each in vars(module).items() if name.endswith(("Test", "Tests"))]
        assert len(published) > 10 and not [each for each in published if not issubclass(chosen, each)]
