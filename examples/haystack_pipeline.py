"""Search with Haystack: one pipeline fills a store, another asks it; both are kept as YAML.

    pip install 'sfumato[wordllama,haystack]'
    python examples/haystack_pipeline.py

The store gets ids and protected vectors (`with_text=False`); texts are looked up at home. Pipelines name the
folder of the protector and never hold a secret. No request leaves this machine.
"""
# ruff: noqa: E402

from __future__ import annotations

import os
import tempfile
from pathlib import Path

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")  # read when Haystack is imported

from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore

import sfumato as sf
from sfumato.adapters.haystack import ProtectedDocumentEmbedder, ProtectedTextEmbedder
from sfumato.learning import LearnSettings
from sfumato.records import DISEASES, make_records
from sfumato.saving import save_protector


def filling(folder: str, store: InMemoryDocumentStore) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("embedder", ProtectedDocumentEmbedder(folder, with_text=False))
    pipeline.add_component("writer", DocumentWriter(store))
    pipeline.connect("embedder.documents", "writer.documents")
    return pipeline


def asking(folder: str, store: InMemoryDocumentStore) -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("embedder", ProtectedTextEmbedder(folder))
    pipeline.add_component("retriever", InMemoryEmbeddingRetriever(store, top_k=3))
    pipeline.connect("embedder.embedding", "retriever.query_embedding")
    return pipeline


def main() -> None:
    others = [record.text for record in make_records(300, seed=1)]
    concept = sf.Concept.from_terms("disease", DISEASES)
    protector = sf.learn(others, concept, embedder="wordllama", settings=LearnSettings(source="synthetic"))
    with tempfile.TemporaryDirectory() as place:
        folder = str(Path(place) / "diseases")
        save_protector(protector, folder)

        records = {f"note-{row}": record for row, record in enumerate(make_records(200, seed=2))}
        documents = [Document(id=name, content=record.text) for name, record in records.items()]
        store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        filling(folder, store).run({"embedder": {"documents": documents}})
        held = store.filter_documents()
        print(f"The store holds {len(held)} vectors and {sum(bool(each.content) for each in held)} texts.")

        pipeline = Pipeline.loads(asking(folder, store).dumps())  # through YAML and back
        found = 0
        for name, record in records.items():
            answer = pipeline.run({"embedder": {"text": record.query}})["retriever"]["documents"]
            found += name in [each.id for each in answer]
            if name == "note-0":
                print("Question:", record.query)
                print("Found:   ", records[answer[0].id].text)
        print(f"{found} of {len(records)} searches find their note among the first three.")


if __name__ == "__main__":
    main()
