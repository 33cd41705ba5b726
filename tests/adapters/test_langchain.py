"""LangChain's own stores and retrievers on protected vectors."""

from __future__ import annotations

import asyncio
import threading

import numpy as np

from sfumato.embedders import Fake
from sfumato.mechanisms import Laplace
from sfumato.protector import Protector
from sfumato.records import make_records

RECORDS = make_records(60, seed=3)


def embeddings(ratio=0.3, **parts):
    from sfumato.adapters.langchain import ProtectedEmbeddings

    noise = Laplace.from_noise_ratio(ratio, dim=128)
    return ProtectedEmbeddings(Protector(noise, embedder=Fake(dim=128), **parts))


def test_a_store_finds_what_it_was_given():
    from langchain_core.vectorstores import InMemoryVectorStore

    store = InMemoryVectorStore(embeddings())
    texts = list(dict.fromkeys(record.text for record in RECORDS))
    store.add_texts(texts, ids=[str(row) for row in range(len(texts))])
    found = [store.as_retriever(search_kwargs={"k": 1}).invoke(text)[0].page_content for text in texts]
    assert np.mean([one == other for one, other in zip(found, texts, strict=True)]) > 0.9
    stored = np.array([store.store[str(row)]["vector"] for row in range(len(texts))])
    assert np.vecdot(stored, Fake(dim=128).embed(texts)).max() < 0.999  # none of them is the clean one


def test_async_runs_beside_the_loop():
    made = embeddings()
    threads = set()

    class Watched(Fake):
        def embed(self, texts, **options):
            threads.add(threading.current_thread() is threading.main_thread())
            return super().embed(texts, **options)

    made.protector.embedder = Watched(dim=128)

    async def both():
        return await asyncio.gather(made.aembed_documents(["one", "two"]), made.aembed_query("one"))

    documents, query = asyncio.run(both())
    assert len(documents) == 2 and len(query) == 128 and threads == {False}
