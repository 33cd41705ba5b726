"""Retrieval for a language model, with LangChain, over a hosted store that never sees a text.

    pip install 'sfumato[wordllama,langchain,chroma]'
    python examples/langchain_rag.py

The texts stay in a store of LangChain's here. Chroma gets ids, the year of each note and protected vectors,
for documents and for searches alike: a folder here, where a hosted one is
open_store("chroma+https://HOST#notes"). No request leaves this machine.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough
from langchain_core.stores import InMemoryStore

import sfumato as sf
from sfumato.adapters.langchain_store import ProtectedVectorStore
from sfumato.certifying import release_words
from sfumato.learning import LearnSettings
from sfumato.records import DISEASES, make_records
from sfumato.stores import ProtectedStore, open_store


def language_model(prompt: Any) -> str:
    """Stand in for a model that runs on your own machine: it reads out the first note it was given."""
    return prompt.to_string().split("\n")[1]


def main(folder: Path) -> None:
    others = [record.text for record in make_records(300, seed=1)]
    concept = sf.Concept.from_terms("disease", DISEASES)
    settings = LearnSettings(source="synthetic")
    protector = sf.learn(others, concept, embedder="wordllama", settings=settings)
    protector.secret = sf.Secret.from_file(folder / "secret.key", create=True)
    # queries="clean" would find a little more, and show the store what is searched for.
    protected = ProtectedStore(open_store(f"chroma:{folder}/db#notes"), protector)
    store = ProtectedVectorStore(protected, text_store=InMemoryStore())

    records = {f"note-{row}": record for row, record in enumerate(make_records(200, seed=2))}
    texts = [record.text for record in records.values()]
    store.add_texts(texts, [{"year": 2020 + row % 5} for row in range(len(texts))], ids=list(records))

    retriever = store.as_retriever(search_kwargs={"k": 3})
    prompt = ChatPromptTemplate.from_template("Answer from these notes:\n{notes}\n\nQuestion: {question}")
    notes = retriever | (lambda found: "\n".join(each.page_content for each in found))
    chain = {"notes": notes, "question": RunnablePassthrough()} | prompt | RunnableLambda(language_model)

    question = records["note-0"].query
    print("Question:", question)
    print("Answer:  ", chain.invoke(question))

    found = sum(
        name in [each.id for each in retriever.invoke(record.query)] for name, record in records.items()
    )
    held = [fields for rows in protected.store.batches() for fields in rows.metadata]
    kept = sum(text[:20] in str(fields) for fields in held for text in texts)
    print(f"{found} of {len(records)} searches find their note among the first three.")
    print(f"The store holds {len(held)} vectors and {kept} texts.")
    # What is hidden is not found by its name any more: for that there is sealed search (sealed_rag.py).
    disease = records["note-0"].disease
    right = sum(disease in each.page_content for each in store.similarity_search(disease, k=10))
    print(f"A search for {disease} itself finds {right} such notes among its first ten.")
    print(release_words(protector))
    store.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
