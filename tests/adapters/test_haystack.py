"""Haystack: whole pipelines, written to YAML and read again."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from sfumato.embedders import Fake
from sfumato.errors import InputError
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.records import make_records
from sfumato.saving import save_protector

TEXTS = list(dict.fromkeys(record.text for record in make_records(40, seed=5)))


@pytest.fixture
def folder(tmp_path):
    noise = Laplace.from_noise_ratio(0.3, dim=128)
    save_protector(Protector(noise, embedder=Fake(dim=128)), tmp_path / "protector")
    return str(tmp_path / "protector")


def documents():
    from haystack import Document

    return [Document(id=f"row-{row}", content=text) for row, text in enumerate(TEXTS)]


def pipelines(folder, store):
    from haystack import Pipeline
    from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
    from haystack.components.writers import DocumentWriter

    from sfumato.adapters.haystack import ProtectedDocumentEmbedder, ProtectedTextEmbedder

    filling, asking = Pipeline(), Pipeline()
    filling.add_component("embedder", ProtectedDocumentEmbedder(folder, with_text=False))
    filling.add_component("writer", DocumentWriter(store))
    filling.connect("embedder.documents", "writer.documents")
    asking.add_component("embedder", ProtectedTextEmbedder(folder))
    asking.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=1))
    asking.connect("embedder.embedding", "retriever.query_embedding")
    return filling, asking


def test_a_store_gets_vectors_without_texts_and_finds_them(folder):
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    store = InMemoryDocumentStore(embedding_similarity_function="cosine")
    filling, asking = pipelines(folder, store)
    assert filling.run({"embedder": {"documents": documents()}})["writer"]["documents_written"] == len(TEXTS)
    held = store.filter_documents()
    assert all(each.content is None and each.meta == {} and len(each.embedding) == 128 for each in held)
    found = [
        asking.run({"embedder": {"text": text}})["retriever"]["documents"][0].id == f"row-{row}"
        for row, text in enumerate(TEXTS)
    ]
    assert np.mean(found) > 0.9


def test_a_pipeline_is_written_and_read_again(folder):
    from haystack import Pipeline
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    written = pipelines(folder, InMemoryDocumentStore())[0].dumps()
    again = Pipeline.loads(written)
    assert again.run({"embedder": {"documents": documents()}})["writer"]["documents_written"] == len(TEXTS)
    assert again.get_component("embedder").with_text is False
    # Whoever has not imported the module has not agreed to it.
    code = f"from haystack import Pipeline\nPipeline.loads({written!r})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode != 0 and "allowlist" in done.stderr


def test_ids_that_give_the_text_away_do_not_leave(folder):
    from haystack import Document

    from sfumato.adapters.haystack import ProtectedDocumentEmbedder

    made = ProtectedDocumentEmbedder(folder, with_text=False)
    for given in (Document(content="one"), Document(content="one", meta={"page": 3}, embedding=[0.1])):
        with pytest.raises(InputError, match="id of its own"):
            made.run(documents=[Document(id="fine", content="two"), given])
    kept = ProtectedDocumentEmbedder(folder).run(documents=[Document(content="one", meta={"page": 3})])
    assert (kept["documents"][0].content, kept["documents"][0].meta) == ("one", {"page": 3})


def test_metadata_may_be_embedded_with_the_text():
    from haystack import Document

    from sfumato.adapters.haystack import ProtectedDocumentEmbedder
    from sfumato.mechanisms import Identity

    made = ProtectedDocumentEmbedder(
        Protector(Identity(), embedder=Fake(dim=64)),
        meta_fields_to_embed=["title", "absent"],
        embedding_separator=": ",
    )
    given = Document(content="body", meta={"title": "Head"})
    (vector,) = (each.embedding for each in made.run(documents=[given])["documents"])
    np.testing.assert_allclose(vector, Fake(dim=64).embed(["Head: body"])[0], atol=1e-6)
    assert given.embedding is None  # copies go on, the original stays


def test_refused(folder):
    from haystack import Document

    from sfumato.adapters.haystack import ProtectedDocumentEmbedder

    made = ProtectedDocumentEmbedder(folder)
    for wrong in ("a text", ["a text"], [Document(content="fine"), None]):
        with pytest.raises(InputError, match="list of Haystack documents"):
            made.run(documents=wrong)
    with pytest.raises(InputError, match="Document 1 must have a text"):
        made.run(documents=[Document(content="fine"), Document(content=None)])
