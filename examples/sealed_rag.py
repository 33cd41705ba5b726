"""Retrieval for a language model, with LangChain, over a store that finds notes and can read nothing.

    pip install 'sfumato[wordllama,langchain,qdrant]'
    python examples/sealed_rag.py

Texts, metadata and vectors are sealed before they reach the store: Qdrant in a folder, where a hosted one is
open_store("qdrant+https://HOST#notes"). The key and the client's state stay here. No request leaves this
machine.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnablePassthrough

import sfumato as sf
from sfumato.adapters.sealed.langchain import SealedRetriever, SealedVectorStore
from sfumato.records import make_records
from sfumato.sealing import SealingKey
from sfumato.stores import open_store


def language_model(prompt: Any) -> str:
    """Stand in for a model that runs on your own machine: it reads out the first note it was given."""
    return prompt.to_string().split("\n")[1]


def main(folder: Path) -> None:
    key = SealingKey.create(folder / "notes.key")  # keep a copy: without it no row opens again
    url = f"qdrant:{folder}/db#notes"
    records = {f"note-{row}": record for row, record in enumerate(make_records(200, seed=2))}
    texts = [record.text for record in records.values()]
    with sf.SealedStore(open_store(url), key=key, folder=folder / "state", embedder="wordllama") as sealed:
        store = SealedVectorStore(sealed)
        store.add_texts(texts, [{"ward": row % 5} for row in range(len(texts))], ids=list(records))

        retriever = SealedRetriever(store=store, k=3)
        prompt = ChatPromptTemplate.from_template("Answer from these notes:\n{notes}\n\nQuestion: {question}")
        notes = retriever | (lambda found: "\n".join(each.page_content for each in found))
        chain = {"notes": notes, "question": RunnablePassthrough()} | prompt | RunnableLambda(language_model)
        question = records["note-0"].query
        print("Question:", question)
        print("Answer:  ", chain.invoke(question))

        queries = [record.query for record in records.values()]
        answers = asyncio.run(retriever.abatch(queries))
        found = sum(name in [each.id for each in hits] for name, hits in zip(records, answers, strict=True))
        vectors, asked = sealed.embed(texts), sealed.embed(queries)
        plain = sum(row in (-vectors @ each).argsort()[:3] for row, each in enumerate(asked))
        print(
            f"{found} of {len(records)} searches find their note among the first three; {plain} in the clear."
        )
        print(store)

    with open_store(url, create=False) as raw:
        rows = [fields for batch in raw.batches() for fields in batch.metadata]
        readable = sum(text[:20] in str(fields) for fields in rows for text in texts)
        print(f"The store holds {len(rows)} records and {readable} readable texts.")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made:
        main(Path(made))
