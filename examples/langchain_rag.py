"""Retrieval for a language model, with LangChain, over a hosted store that never sees a text.

    pip install 'sfumato[wordllama,langchain,chroma]'
    python examples/langchain_rag.py

The texts stay in a dictionary here. The store gets ids and protected vectors, for documents and for searches
alike: Chroma in memory, where a hosted one is chromadb.HttpClient(host=...). No request leaves this machine.
"""

from __future__ import annotations

from typing import Any

import chromadb
from chromadb.config import Settings
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

import sfumato as sf
from sfumato.adapters.langchain import ProtectedEmbeddings
from sfumato.certifying import release_words
from sfumato.learning import LearnSettings
from sfumato.records import DISEASES, make_records


class HostedRetriever(BaseRetriever):
    """Searches a hosted collection by protected vectors and fetches the texts from here."""

    embeddings: Any
    collection: Any
    texts: dict[str, str]

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        asked = self.embeddings.embed_query(query)
        found = self.collection.query(query_embeddings=[asked], n_results=3)["ids"][0]
        return [Document(page_content=self.texts[name], id=name) for name in found]


def language_model(prompt: Any) -> str:
    """Stand in for a model that runs on your own machine: it reads out the first note it was given."""
    return prompt.to_string().split("\n")[1]


def main() -> None:
    others = [record.text for record in make_records(300, seed=1)]
    concept = sf.Concept.from_terms("disease", DISEASES)
    settings = LearnSettings(source="synthetic")
    protector = sf.learn(others, concept, embedder="wordllama", settings=settings)
    protector.secret = (
        sf.Secret.generate()
    )  # kept in a file in earnest: sf.Secret.from_file(path, create=True)
    embeddings = ProtectedEmbeddings(protector)

    records = {f"note-{row}": record for row, record in enumerate(make_records(200, seed=2))}
    texts = {name: record.text for name, record in records.items()}
    client = chromadb.EphemeralClient(Settings(anonymized_telemetry=False))
    collection = client.create_collection(
        "notes", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
    )
    collection.add(ids=list(texts), embeddings=embeddings.embed_documents(list(texts.values())))

    retriever = HostedRetriever(embeddings=embeddings, collection=collection, texts=texts)
    prompt = ChatPromptTemplate.from_template("Answer from these notes:\n{notes}\n\nQuestion: {question}")
    notes = retriever | (lambda found: "\n".join(each.page_content for each in found))
    chain = {"notes": notes, "question": RunnablePassthrough()} | prompt | RunnableLambda(language_model)

    question = records["note-0"].query
    print("Question:", question)
    print("Answer:  ", chain.invoke(question))

    found = sum(
        name in [each.id for each in retriever.invoke(record.query)] for name, record in records.items()
    )
    held = collection.get(include=["documents", "metadatas"])
    print(f"{found} of {len(records)} searches find their note among the first three.")
    print(f"The store holds {len(held['ids'])} vectors and {sum(map(bool, held['documents']))} texts.")
    print(release_words(protector))


if __name__ == "__main__":
    main()
