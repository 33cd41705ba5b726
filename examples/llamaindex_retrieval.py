"""Search with LlamaIndex: an ingestion pipeline embeds and protects, an index searches.

    pip install 'sfumato[wordllama,llama-index]'
    python examples/llamaindex_retrieval.py

Nodes take their text with them into a vector store. Here their id stands in its place before they go, and the
texts of what is found are looked up at home. No request leaves this machine.
"""

from __future__ import annotations

from llama_index.core import VectorStoreIndex
from llama_index.core.ingestion import IngestionPipeline
from llama_index.core.schema import TextNode

import sfumato as sf
from sfumato.adapters.llama_index import ProtectedEmbedding
from sfumato.certifying import release_words
from sfumato.learning import LearnSettings
from sfumato.records import DISEASES, make_records


def main() -> None:
    others = [record.text for record in make_records(300, seed=1)]
    concept = sf.Concept.from_terms("disease", DISEASES)
    settings = LearnSettings(source="synthetic")
    embedding = ProtectedEmbedding(sf.learn(others, concept, embedder="wordllama", settings=settings))

    records = {f"note-{row}": record for row, record in enumerate(make_records(200, seed=2))}
    nodes = [TextNode(id_=name, text=record.text) for name, record in records.items()]
    protected = IngestionPipeline(transformations=[embedding]).run(nodes=nodes)
    leaving = [TextNode(id_=node.id_, text=node.id_, embedding=node.embedding) for node in protected]

    index = VectorStoreIndex(leaving, embed_model=embedding)
    retriever = index.as_retriever(similarity_top_k=3)
    question = records["note-0"].query
    best = retriever.retrieve(question)[0]
    print("Question:", question)
    print("Found:   ", records[best.node_id].text)

    found = sum(
        name in [each.node_id for each in retriever.retrieve(record.query)]
        for name, record in records.items()
    )
    print(f"{found} of {len(records)} searches find their note among the first three.")
    print(release_words(embedding.protector))


if __name__ == "__main__":
    main()
